"""Entry point: ``python etl/build_adept.py preset=clean`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.adept.job import build
from adnominal.etl.adept.settings import Settings


def next_step(settings: Settings) -> str:
    """Return the command that exports the new items for annotation."""
    command = "adnominal annotate export batch=pilot.csv round=pilot"
    return f"{command} edition={settings.name} lake={{lake}}"


main = partial(conf.run, Settings, build, next_step=next_step)


if __name__ == "__main__":
    sys.exit(main())
