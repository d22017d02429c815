"""Entry point: ``python etl/check_splits.py train=FILE test=FILE`` (``--help`` lists settings)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.checks.splits_job import Settings, run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, run, argv)


if __name__ == "__main__":
    sys.exit(main())
