"""No guide, help text or completion speaks of what this version does not have."""

import re

import pytest

from adnominal.conf import ROOT
from adnominal.conf.commandline.commands import COMMANDS, settings_of
from adnominal.conf.commandline.completion import candidates
from adnominal.conf.help import help_text

REMOVED = re.compile(
    r"\b(?:"
    r"adjacent=|novel=|novel_least|list_name|listed_counts|pairs=TABLE|_adjacent"
    r"|pretrain(?:_mlm)?\.py|adnominal pretrain|mlm_demo|pretraining\.md"
    r"|select=(?:uncertain|disputed|random)"
    r"|etl\.datasheet|adnominal datasheet|audit_pairs"
    r"|lacking=|gold_of=|samples="
    r"|judge_asp|adnominal judge\b|gold_answers|answered_twice"
    r"|fast\.silver|ids=FILE"
    r"|`report\.md`|cross_task\]"
    r")"
)
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    ROOT / "etl" / "parsing" / "fast" / "MODEL_CARD.md",
    ROOT / "Makefile",
    ROOT / "conf" / "demo" / "run.sh",
]


def naming_lines(text: str) -> list[str]:
    """The lines that name something removed."""
    return [line for line in text.splitlines() if REMOVED.search(line)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_do_not_name_what_has_gone(page):
    assert naming_lines(page.read_text(encoding="utf-8")) == []


def test_help_and_completion_do_not_name_what_has_gone():
    texts = [command.help for command in COMMANDS.values()]
    for name, command in COMMANDS.items():
        texts += [help_text(settings) for settings in settings_of(command).values()]
        texts += candidates(f"{name} ")
    assert naming_lines("\n".join(texts)) == []
    assert {"pretrain", "datasheet"}.isdisjoint(COMMANDS)


def test_the_check_finds_a_removed_name():
    assert naming_lines("write adjacent=true\nand more") == ["write adjacent=true"]
