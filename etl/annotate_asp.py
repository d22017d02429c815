"""Entry point: ``python etl/annotate_asp.py export batch=main1.csv`` (``--help``)."""

import sys
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal.etl.annotation.degrees import main

if __name__ == "__main__":
    sys.exit(main())
