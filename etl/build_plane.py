"""Entry point: ``python etl/build_plane.py preset=clean`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.plane.job import build
from adnominal.etl.plane.settings import Settings


def next_step(settings: Settings) -> str:
    """The command that trains on what was built, or prompts with it, or else shows it."""
    edition = f"edition={settings.name} lake={{lake}}"
    schemes = [scheme for scheme in settings.schemes if scheme != "two_shot"]
    if schemes:
        command = "adnominal train conf/training/plane.yaml"
        scheme = "published" if "published" in schemes else schemes[0]
        return f"{command} task.scheme={scheme} task.{edition}"
    if settings.schemes:
        return "adnominal prompt conf/training/plane_prompt.yaml " + edition
    return "adnominal report pages=[plane] " + edition


main = partial(conf.run, Settings, build, next_step=next_step)


if __name__ == "__main__":
    sys.exit(main())
