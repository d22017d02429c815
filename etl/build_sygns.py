"""Entry point: ``python etl/build_sygns.py preset=paper`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.sygns.job import build
from adnominal.etl.sygns.settings import Settings
from adnominal.etl.sygns.splits import SCHEMES


def next_step(settings: Settings) -> str:
    """The command that trains on what was built; without splits the one that shows it."""
    edition = f"edition={settings.name} lake={{lake}}"
    if not settings.schemes:
        return "adnominal report pages=[sygns] " + edition
    scheme = min(settings.schemes, key=SCHEMES.index)
    primitive = "one" if scheme in SCHEMES[:2] else ""
    command = "adnominal train conf/training/sygns.yaml"
    return f"{command} task.scheme={scheme} task.primitive={primitive} task.{edition}"


main = partial(conf.run, Settings, build, next_step=next_step)


if __name__ == "__main__":
    sys.exit(main())
