"""Entry point: ``python -m analysis.report lake=… tracking=… out=…`` (``--help``)."""

import sys

import conf
from analysis.reporting.job import Settings, report

if __name__ == "__main__":
    sys.exit(conf.run(Settings, report))
