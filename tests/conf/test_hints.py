"""What a mistyped word is taken to mean."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest

from adnominal.conf import UserError, load, setting
from adnominal.conf.hints import hint_for_command, hint_for_condition


@dataclass(frozen=True)
class Grid:
    rate: float = 0.1


@dataclass(frozen=True)
class Settings:
    RENAMED: ClassVar[Mapping[str, str]] = {"amount": "count (a whole number)"}

    source: str = setting("text", help="layout", choices=("text", "conllu"))
    count: int = setting(1, help="least count")
    grid: Grid = setting(Grid(), help="nested")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["source", "conllu"], "did you mean 'source=conllu'"),
        (["source"], "did you mean 'source=…'"),
        (["source", "count=3"], "did you mean 'source=…'"),
        (["conllu"], "did you mean 'source=conllu'"),
        (["sorce"], "did you mean 'source'"),
        (["cuont=1"], "did you mean 'count'"),
        (["amuont=1"], "did you mean 'count'"),
        (["rate=1"], r"did you mean 'grid\.rate'"),
        (["zebra=1"], "known: source, count, grid"),
    ],
)
def test_a_word_that_is_no_setting_is_explained(words, message):
    with pytest.raises(UserError, match=message):
        load(Settings, words)


MODULES = {
    "extract": "etl.extract_amod",
    "import knowledge": "etl.import_knowledge",
    "build adept": "etl.build_adept",
    "train": "training.finetune",
}


@pytest.mark.parametrize(
    ("word", "command"),
    [
        ("finetune", "train"),
        ("finetuen", "train"),
        ("knowledge", "import knowledge"),
        ("build_adept", "build adept"),
        ("extrat", "extract"),
        ("compleiton", "completion"),
    ],
)
def test_the_second_word_of_a_command_and_its_script_stand_for_it(word, command):
    assert hint_for_command(word, MODULES) == f"; did you mean {command!r}?"


def test_a_word_that_is_like_no_command_has_no_hint():
    assert hint_for_command("zebra", MODULES) == ""


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("noun=key", "noun = 'key'"),
        ('noun = "key"', "noun = 'key'"),
        ("count > 3 AND adjective != old", "adjective != 'old'"),
        ("noun = 'key' AND count = 3", ""),
        ("noun = adjective AND chosen = true", ""),
        ("count >", ""),
    ],
)
def test_a_text_in_a_condition_needs_single_quotes(condition, hint):
    text = hint_for_condition(condition, ["noun", "adjective", "count", "chosen"])
    assert text == (f'; a text stands in single quotes: where="{hint}"' if hint else "")
