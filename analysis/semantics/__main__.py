"""Entry point: ``python -m analysis.semantics gold=… predicted=… form=…`` (``--help``)."""

import sys
from collections.abc import Sequence

import conf
from analysis.semantics.job import Settings, score


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, score, argv)


if __name__ == "__main__":
    sys.exit(main())
