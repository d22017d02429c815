"""Entry point: ``python etl/build_asp.py preset=paper`` (``--help`` lists all settings)."""

import sys
from functools import partial
from pathlib import Path

if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from adnominal import conf
from adnominal.etl.asp.job import build
from adnominal.etl.asp.settings import Settings


def next_step(settings: Settings) -> str:
    """The command that trains on what was built; without rounds the one that shows it."""
    if not settings.splits:
        return f"adnominal report pages=[asp] edition={settings.name} lake={{lake}}"
    command = "adnominal train conf/training/asp.yaml"
    edition = settings.tuning if settings.rounds == "drawn" else settings.name
    scheme = "both" if settings.entailment and settings.degree else "adjectives"
    scheme = scheme if settings.entailment else "dimension"
    return f"{command} task.scheme={scheme} task.edition={edition} lake={{lake}}"


main = partial(conf.run, Settings, build, next_step=next_step)


if __name__ == "__main__":
    sys.exit(main())
