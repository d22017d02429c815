"""Entry point: ``python -m etl.lake list|show|…`` (``--help`` lists all)."""

import sys

from adnominal.etl.looking.commands import main

if __name__ == "__main__":
    sys.exit(main())
