"""Entry point: ``spark-submit etl/train_sparknlp.py treebank=FILE out=FOLDER`` (see ``--help``)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.parsing.sparknlp_training import Settings, train

main = partial(conf.run, Settings, train)


if __name__ == "__main__":
    sys.exit(main())
