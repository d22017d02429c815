"""Entry point: ``python -m analysis.report lake=… tracking=… out=…`` (``--help``)."""

import sys
from collections.abc import Sequence

import conf
from analysis.reporting.job import Settings, report


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, report, argv)


if __name__ == "__main__":
    sys.exit(main())
