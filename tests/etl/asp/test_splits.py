from adnominal.etl.asp.lexicon import load_lexicon
from adnominal.etl.asp.splits import assign_degree, assign_entailment, held_out_adjectives


def test_about_half_of_the_adjectives_are_held_out_by_whole_scales():
    lexicon = load_lexicon()
    for out in held_out_adjectives(lexicon, 0):
        assert 0.4 <= len(out) / len(lexicon.words) <= 0.51
        for weak, strong in (p for p in lexicon.weaker if set(p) <= lexicon.words):
            if any(
                {weak, strong} <= {a.word for a in lexicon.adjectives if a.scale == s}
                for s in {a.scale for a in lexicon.adjectives if a.word == weak}
            ):
                assert (weak in out) == (strong in out)
    assert held_out_adjectives(lexicon, 0) != held_out_adjectives(lexicon, 1)


def test_adjectives_decide_the_part_of_a_row():
    held_out_words = [frozenset({"big", "huge"})] * 4

    def places(test, word, other=None):
        row = {"test": test, "adjective": word, "other_adjective": other}
        row |= {"noun": "dog", "other_noun": None, "modifier": None}
        return assign_entailment(held_out_words, 0, row)

    assert places("ordering", "big", "huge") == [("adjectives", str(n), "test") for n in range(4)]
    assert places("dimension", "big", "old") == []
    assert {part for _, _, part in places("ordering", "old")} <= {"train", "val"}
    # The other tests give test rows or none.
    assert places("booster", "old") == []


def test_a_round_holds_out_a_dimension_and_skips_numbers_near_100():
    def rounds(test, z, label="entailment"):
        row = {"test": test, "dimension": "mass", "z": z, "label": label, "item_id": "x"}
        return {round_: part for _, round_, part in assign_degree(0, row)}

    assert rounds("ordering", 100) == {"mass": "test"}
    assert set(rounds("ordering", 80)) == {"length", "mass", "temperature", "price"}
    assert rounds("booster", 60) == {"mass": "test"}
    assert rounds("argument", 120, "discard") == {}
