"""Entry point: ``python -m analysis.export dataset=… edition=… out=… format=…`` (``--help``)."""

import sys
from collections.abc import Sequence

import conf
from analysis.export.job import Settings, export


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, export, argv)


if __name__ == "__main__":
    sys.exit(main())
