"""Entry point: ``python etl/extract_amod.py source=… input=…`` (``--help`` lists all)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings


def next_step(settings: Settings) -> str:
    """Return the command that shows what was written; counts of a list cannot be explored."""
    if settings.pairs is not None:
        return "adnominal lake show listed_counts lake={lake}"
    return "adnominal explore lake={lake}"


main = partial(conf.run, Settings, extract, next_step=next_step)


if __name__ == "__main__":
    sys.exit(main())
