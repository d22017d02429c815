"""``python -m analysis.audit dataset=asp edition=clean``: what the inputs give away, as a text."""

import sys
from dataclasses import dataclass
from functools import partial

from adnominal import conf
from adnominal.analysis.across.audits import EXHIBITS
from adnominal.analysis.across.fine_tuned import Across
from adnominal.analysis.across.overlap import of_forms
from adnominal.analysis.editions import open_lake
from adnominal.analysis.page.terminal import terminal_text
from adnominal.conf import setting
from adnominal.training.finished_runs import Runs

_SECTIONS = {**EXHIBITS, "sygns": of_forms}


@dataclass(frozen=True)
class Settings:
    dataset: str = setting(help="the dataset", choices=tuple(_SECTIONS), example="dataset=asp")
    edition: str | None = setting(
        None,
        help="edition of its tables; default: published, else paper, clean, demo",
        example="edition=clean",
    )
    seed: int = setting(0, help="seed that draws the rows to train and to score on")
    lake: str = setting("lake", help="folder or URI of the lake", example="lake=/data/lake")


def print_audit(settings: Settings) -> None:
    """Print how well a part of the input alone predicts the label, as the report's section does.

    The section is that of the page across datasets: accuracies beside the majority for each split,
    and the words that give a label away; for SyGNS, how far test forms occur in training.
    """
    lake = open_lake(settings.lake, settings.edition, settings.seed)
    section = _SECTIONS[settings.dataset]
    findings = list(section.build(Across(lake, Runs())))
    print(terminal_text(section.assemble("across", lake, findings)))


main = partial(conf.run, Settings, print_audit)

if __name__ == "__main__":
    sys.exit(main())
