from __future__ import annotations

from etl.asp.lexicon import lexicon
from etl.asp.splits import assign_degree, assign_entailment, held_out


def test_half_of_the_adjectives_are_held_out_whole_scales():
    words = lexicon()
    for out in held_out(words, 0):
        assert 0.4 <= len(out) / len(words.words) <= 0.51
        for weak, strong in (p for p in words.weaker if set(p) <= words.words):
            if any(
                {weak, strong} <= {a.word for a in words.adjectives if a.scale == s}
                for s in {a.scale for a in words.adjectives if a.word == weak}
            ):
                assert (weak in out) == (strong in out)
    assert held_out(words, 0) != held_out(words, 1)


def test_rows_go_where_their_adjectives_are():
    outs = [frozenset({"big", "huge"})] * 4
    places = assign_entailment(outs, 0, "ordering", {"big", "huge"}, "x")
    assert places == [("adjectives", str(n), "test") for n in range(4)]
    assert assign_entailment(outs, 0, "dimension", {"big", "old"}, "x") == []
    parts = {part for _, _, part in assign_entailment(outs, 0, "ordering", {"old"}, "x")}
    assert parts <= {"train", "val"}
    # What is not trained on is tested or not used.
    assert assign_entailment(outs, 0, "booster", {"old"}, "x") == []


def test_one_dimension_is_held_out_and_the_middle_withheld():
    def rounds(test, z, label="entailment"):
        found = assign_degree(0, test, "mass", z, label, "x")
        return {number: part for _, number, part in found}

    assert rounds("ordering", 100) == {"mass": "test"}
    assert set(rounds("ordering", 80)) == {"length", "mass", "temperature", "price"}
    assert rounds("booster", 60) == {"mass": "test"}
    assert rounds("argument", 120, "discard") == {}
