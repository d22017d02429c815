"""Entry point: ``python etl/extract_amod.py source=… input=…`` (``--help`` lists all)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.amod.job import extract
from etl.amod.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, extract, argv, "adnominal explore lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
