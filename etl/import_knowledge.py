"""Entry point: ``python etl/import_knowledge.py conceptnet=FILE`` (see ``--help``)."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from etl.knowledge.job import Settings, import_knowledge


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, import_knowledge, argv, "adnominal build plane lake={lake}")


if __name__ == "__main__":
    sys.exit(main())
