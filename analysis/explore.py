"""Entry point: ``python -m analysis.explore lake=…`` (``--help`` lists all)."""

import sys
from collections.abc import Sequence

import conf
from analysis.exploring.job import Settings, explore


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, explore, argv)


if __name__ == "__main__":
    sys.exit(main())
