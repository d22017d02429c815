"""People's votes on labels: their forms in files, and the table label_votes."""

import pytest

from adnominal.etl.label_votes import (
    OTHER_FORM,
    NoVotes,
    is_simulated,
    read_votes,
    replace_votes,
    votes_table,
)
from adnominal.etl.lake import arrow

NAMES = {"e": "entailment", "n": "neutral", "neutral": "neutral"}


@pytest.mark.parametrize(
    "field",
    [
        ["e", "n", "e", "neutral"],
        {"e": 2, "n": 1, "neutral": 1.0},
        {"e": 2, "n": 2, "neutral": None},
        '["e", "n", "e", "n"]',
        "['e', 'n', 'e', 'n']",
        "{'e': 2, 'n': 2, 'neutral': None}",
        '{"e": 2, "n": 2}',
        "e:2, n:2",
    ],
)
def test_votes_are_read_in_every_form(field):
    assert read_votes(field, NAMES) == {"entailment": 2, "neutral": 2}


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("", "no votes"),
        ([], "no votes"),
        ({"e": 0}, "no votes"),
        ({"e": 3, "n": -1}, "negative votes"),
        ({"e": 0.5}, "votes that are no whole number"),
        ("e:many", "votes that are no whole number"),
        ("e:1_0", "votes that are no whole number"),
        ("e:99999999999999999999", "votes that are no whole number"),
        ({"e": float("inf")}, "votes that are no whole number"),
        ({"e": 10**400}, "votes that are no whole number"),
        ("e:1,e:2", "votes for one label twice"),
        ("[" * 100_000, OTHER_FORM),
        ("['e' 2]", OTHER_FORM),
        ("e=2", OTHER_FORM),
        ("nan", OTHER_FORM),
        (["x"], "votes for the label 'x'"),
        (None, OTHER_FORM),
        ("3", OTHER_FORM),
    ],
)
def test_other_votes_have_a_reason(field, reason):
    with pytest.raises(NoVotes) as fault:
        read_votes(field, NAMES)
    assert str(fault.value) == reason


def test_votes_replace_those_of_their_source_and_edition_alone(tmp_path):
    lake = str(tmp_path / "lake")

    def store(edition, source, count, also=()):
        rows = votes_table("adept", edition, source, {"i1": {"impossible": count}})
        replace_votes(lake, rows, "test", also)

    def stored_votes():
        rows = arrow.read(lake, "label_votes").to_pylist()
        return sorted((row["edition"], row["source"], row["votes"]) for row in rows)

    store("clean", "ann", 1)
    store("clean", "ben", 2)
    store("paper", "ann", 3)
    store("clean", "ann", 4)
    assert stored_votes() == [("clean", "ann", 4), ("clean", "ben", 2), ("paper", "ann", 3)]
    store("clean", "cleo", 5, also=("ann", "ben"))
    assert stored_votes() == [("clean", "cleo", 5), ("paper", "ann", 3)]


def test_simulated_votes_are_recognised_by_their_source():
    assert is_simulated(["annotators", "simulated-annotators"])
    assert not is_simulated(["annotators"])
