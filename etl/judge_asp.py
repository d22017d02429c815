"""Entry point: ``python etl/judge_asp.py sheet=FILE`` (``--help`` lists all settings)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.asp.judge import Settings, judge


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, judge, argv)


if __name__ == "__main__":
    sys.exit(main())
