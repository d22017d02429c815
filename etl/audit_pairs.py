"""Entry point: ``python etl/audit_pairs.py file=PAIRS.tsv`` (``--help`` lists all settings)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.checks.artefacts_job import Settings, run


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, run, argv)


if __name__ == "__main__":
    sys.exit(main())
