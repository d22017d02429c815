"""Entry point: ``python etl/build_colours.py preset=clean`` (``--help`` lists all settings)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.colours.job import build
from adnominal.etl.colours.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, build, argv)


if __name__ == "__main__":
    sys.exit(main())
