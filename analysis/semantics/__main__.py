"""Entry point: ``python -m analysis.semantics gold=… predicted=… form=…`` (``--help``)."""

import sys

import conf
from analysis.semantics.job import Settings, score

if __name__ == "__main__":
    sys.exit(conf.run(Settings, score))
