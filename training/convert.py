"""Entry point: ``python training/convert.py model=FOLDER out=FOLDER``."""

import sys
from collections.abc import Sequence
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import conf
from training.conversion import Settings, convert


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    return conf.run(Settings, convert, argv)


if __name__ == "__main__":
    sys.exit(main())
