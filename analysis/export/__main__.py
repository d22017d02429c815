"""Entry point: ``python -m analysis.export dataset=… edition=… out=… format=…`` (``--help``)."""

import sys
from functools import partial

from adnominal import conf
from adnominal.analysis.export.job import Settings, export

main = partial(conf.run, Settings, export)

if __name__ == "__main__":
    sys.exit(main())
