"""Entry point: ``python -m adnominal COMMAND key=value …``, the same as ``adnominal COMMAND``."""

import sys

from adnominal.conf.commandline.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
