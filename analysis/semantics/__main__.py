"""Entry point: ``python -m analysis.semantics gold=… predicted=… form=…`` (``--help``)."""

import sys
from functools import partial

from adnominal import conf
from adnominal.analysis.semantics.job import Settings, score

main = partial(conf.run, Settings, score)

if __name__ == "__main__":
    sys.exit(main())
