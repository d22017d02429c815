"""Entry point: ``python -m analysis.export dataset=… edition=… out=… format=…`` (``--help``)."""

import sys
from functools import partial

import conf
from analysis.export.job import Settings, export

main = partial(conf.run, Settings, export)

if __name__ == "__main__":
    sys.exit(main())
