from __future__ import annotations

from etl.asp.lexicon import load_lexicon
from etl.asp.splits import assign_degree, assign_entailment, held_out


def test_half_of_the_adjectives_are_held_out_whole_scales():
    lexicon = load_lexicon()
    for out in held_out(lexicon, 0):
        assert 0.4 <= len(out) / len(lexicon.words) <= 0.51
        for weak, strong in (p for p in lexicon.weaker if set(p) <= lexicon.words):
            if any(
                {weak, strong} <= {a.word for a in lexicon.adjectives if a.scale == s}
                for s in {a.scale for a in lexicon.adjectives if a.word == weak}
            ):
                assert (weak in out) == (strong in out)
    assert held_out(lexicon, 0) != held_out(lexicon, 1)


def test_adjectives_decide_the_part_of_a_row():
    held_out_words = [frozenset({"big", "huge"})] * 4
    places = assign_entailment(held_out_words, 0, "ordering", {"big", "huge"}, "x")
    assert places == [("adjectives", str(n), "test") for n in range(4)]
    assert assign_entailment(held_out_words, 0, "dimension", {"big", "old"}, "x") == []
    parts = {part for _, _, part in assign_entailment(held_out_words, 0, "ordering", {"old"}, "x")}
    assert parts <= {"train", "val"}
    # Rows of the other tests are test rows or not used.
    assert assign_entailment(held_out_words, 0, "booster", {"old"}, "x") == []


def test_one_dimension_is_held_out_and_the_middle_left_out():
    def rounds(test, z, label="entailment"):
        places = assign_degree(0, test, "mass", z, label, "x")
        return {round_: part for _, round_, part in places}

    assert rounds("ordering", 100) == {"mass": "test"}
    assert set(rounds("ordering", 80)) == {"length", "mass", "temperature", "price"}
    assert rounds("booster", 60) == {"mass": "test"}
    assert rounds("argument", 120, "discard") == {}
