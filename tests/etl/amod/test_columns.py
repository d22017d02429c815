from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adnominal.etl.amod import columns
from adnominal.etl.amod.columns import HYPHEN_FRAGMENT, HYPHENS, OCCURRENCES, occurrences
from adnominal.etl.amod.rules import (
    CLEAN,
    DEPENDENT_NOT_ADJECTIVE,
    HEAD_NOT_NOUN,
    NO_LETTER_OR_DIGIT,
    PAPER,
    ReadingRules,
    Token,
)
from adnominal.etl.parsing.tokens import TOKENS


def drops_by_reason(batch: pa.RecordBatch) -> dict[str, int]:
    return dict(Counter(batch.column("left_out").drop_null().to_pylist()))


def tokens(*rows: tuple[Any, ...]) -> pa.RecordBatch:
    """Rows of document, sentence, id, form, lemma, xpos, head, deprel, space_after."""
    named = [dict(zip(TOKENS.names, row, strict=True)) for row in rows]
    return pa.RecordBatch.from_pylist(named, schema=TOKENS)


def pairs_in(batch: pa.RecordBatch, rules: ReadingRules = CLEAN) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in occurrences(batch, rules).to_pylist()]


DOGS = tokens(
    (0, 0, 1, "Old", "old", "JJ", 3, "amod", True),
    (0, 0, 2, "big", None, "JJR", 3, "amod", True),
    (0, 0, 3, "Dogs", "dog", "NNS", 4, "nsubj", True),
    (0, 0, 4, "bark", None, "VBP", 0, "ROOT", True),
    (2, 0, 1, "Old", "old", "JJ", 9, "amod", True),  # a gap in the ids
    (2, 0, 9, "Dogs", "dog", "NNS", 0, "ROOT", False),
    (2, 1, 1, "running", "run", "VBG", 2, "amod", True),
    (2, 1, 2, "water", "water", "NN", 0, "ROOT", True),
    (2, 2, 1, "French", "french", "JJ", 2, "amod", True),
    (2, 2, 2, "Guiana", "Guiana", "NNP", 0, "ROOT", True),
)


def test_an_occurrence_is_a_pair_or_has_a_reason():
    assert pairs_in(DOGS) == [
        (0, 0, "old", "dog", None),
        (0, 0, "big", "dog", None),
        (2, 0, "old", "dog", None),
        (2, 1, "running", "water", DEPENDENT_NOT_ADJECTIVE),
        (2, 2, "french", "Guiana", HEAD_NOT_NOUN),
    ]
    result = occurrences(DOGS, CLEAN)
    assert result.schema == OCCURRENCES
    assert drops_by_reason(result) == {DEPENDENT_NOT_ADJECTIVE: 1, HEAD_NOT_NOUN: 1}
    words = [(row["adjective"], row["noun"]) for row in columns.pairs(result).to_pylist()]
    assert words == [("old", "dog"), ("big", "dog"), ("old", "dog")]


def test_rules_select_words_and_heads():
    paper = [row[2:] for row in pairs_in(DOGS, PAPER)]
    assert paper[0] == ("old", "Dogs", HEAD_NOT_NOUN)
    assert paper[3] == ("running", "water", None)
    proper = ReadingRules(proper_nouns=True, noun_by="form", lowercase=False)
    assert pairs_in(DOGS, proper)[-1] == (2, 2, "French", "Guiana", None)
    assert pairs_in(DOGS, proper)[0] == (0, 0, "Old", "Dogs", None)
    assert pairs_in(DOGS, ReadingRules(adjective_by="lemma"))[1] == (0, 0, "big", "dog", None)


def test_a_head_is_searched_only_in_its_own_sentence():
    batch = tokens(
        (0, 0, 1, "dogs", "dog", "NNS", 0, "ROOT", True),
        (0, 1, 2, "old", "old", "JJ", 1, "amod", True),
        (1, 1, 1, "cats", "cat", "NNS", 0, "ROOT", True),
        (1, 1, 2, "new", "new", "JJ", 0, "amod", True),
        (1, 1, 3, "red", "red", "JJ", 4, "amod", True),
    )
    assert pairs_in(batch) == [
        (0, 1, "old", None, HEAD_NOT_NOUN),
        (1, 1, "new", None, HEAD_NOT_NOUN),
        (1, 1, "red", None, HEAD_NOT_NOUN),
    ]


def test_an_adjective_has_a_letter_or_digit():
    batch = tokens(
        (0, 0, 1, "%", None, "JJ", 3, "amod", True),
        (0, 0, 2, "3rd", None, "JJ", 3, "amod", True),
        (0, 0, 3, "try", "try", "NN", 0, "ROOT", True),
    )
    assert [row[4] for row in pairs_in(batch)] == [NO_LETTER_OR_DIGIT, None]


@pytest.mark.parametrize("hyphen", HYPHENS)
def test_fragments_of_hyphenated_words_give_no_pair(hyphen):
    batch = tokens(
        (0, 0, 1, "anti", "anti", "JJ", 4, "amod", False),
        (0, 0, 2, hyphen, hyphen, "HYPH", 4, "punct", False),
        (0, 0, 3, "war", "war", "JJ", 4, "amod", True),
        (0, 0, 4, "e-mail", "e-mail", "NN", 0, "ROOT", True),
        (0, 0, 5, "real-time", "real-time", "JJ", 4, "amod", True),
        (0, 0, 6, "long", "long", "JJ", 4, "amod", True),
        (0, 0, 7, hyphen, hyphen, ":", 4, "punct", True),
        (0, 0, 8, "big", "big", "JJ", 9, "amod", True),
        (0, 0, 9, "house", "house", "NN", 0, "ROOT", False),
        (0, 0, 10, hyphen, hyphen, "HYPH", 4, "punct", False),
        (0, 0, 11, "boat", "boat", "NN", 0, "ROOT", True),
    )
    reasons = [row[4] for row in pairs_in(batch)]
    assert reasons == [HYPHEN_FRAGMENT, HYPHEN_FRAGMENT, None, None, HYPHEN_FRAGMENT]


def test_a_dash_separates_words():
    batch = tokens(
        (0, 0, 1, "old", "old", "JJ", 2, "amod", True),
        (0, 0, 2, "dogs", "dog", "NNS", 0, "ROOT", False),
        (0, 0, 3, "—", "—", ":", 2, "punct", False),
        (0, 0, 4, "young", "young", "JJ", 5, "amod", True),
        (0, 0, 5, "cats", "cat", "NNS", 2, "appos", True),
    )
    assert [row[4] for row in pairs_in(batch)] == [None, None]


def test_hyphens_of_another_document_do_not_matter():
    batch = tokens(
        (0, 0, 1, "-", "-", "HYPH", 0, "ROOT", False),
        (1, 0, 1, "old", "old", "JJ", 2, "amod", True),
        (1, 0, 2, "dogs", "dog", "NNS", 0, "ROOT", False),
        (2, 0, 1, "-", "-", "HYPH", 0, "ROOT", False),
    )
    assert [row[4] for row in pairs_in(batch)] == [None]


@pytest.mark.parametrize("batch", [tokens(), DOGS.slice(3, 1)])
def test_batches_without_relations_give_no_occurrences(batch):
    result = occurrences(batch, CLEAN)
    assert result.schema == OCCURRENCES and result.num_rows == 0
    assert columns.pairs(result).num_rows == 0
    assert drops_by_reason(result) == {}


def naive_rows(batch: pa.RecordBatch, rules: ReadingRules) -> list[tuple[Any, ...]]:
    """Document, sentence, words and reason of each occurrence, token by token."""
    rows = batch.to_pylist()
    by_id = {(r["document"], r["sentence"], r["id"]): i for i, r in enumerate(rows)}

    def token(row: dict[str, Any]) -> Token:
        return Token(row["form"], row["lemma"] or "", "", row["xpos"])

    def fragment(i: Any) -> bool:
        for left, right, hyphen in ((i - 1, i, i - 1), (i, i + 1, i + 1)):
            if left < 0 or right >= len(rows):
                continue
            same_document = rows[left]["document"] == rows[right]["document"]
            touching = same_document and not rows[left]["space_after"]
            if touching and rows[hyphen]["form"] in HYPHENS:
                return True
        return False

    result = []
    for i, row in enumerate(rows):
        if row["deprel"] != "amod":
            continue
        head = by_id.get((row["document"], row["sentence"], row["head"]))
        no_token = Token("", "", "", "")
        pair = rules.read(token(row), no_token if head is None else token(rows[head]))
        if isinstance(pair, tuple) and (fragment(i) or fragment(head)):
            pair = HYPHEN_FRAGMENT
        words, reason = (pair, None) if isinstance(pair, tuple) else ((), pair)
        result.append((row["document"], row["sentence"], *words, reason))
    return result


WORD = st.tuples(
    st.sampled_from(["old", "Old", "-", "%", "dogs", "e-mail", "3", "–", "ÉTÉ"]),
    st.sampled_from([None, "_", "", "dog", "Old"]),
    st.sampled_from(["JJ", "JJS", "NN", "NNS", "NNP", "VBG", "HYPH", ""]),
    st.integers(0, 6),
    st.sampled_from(["amod", "amod", "nsubj"]),
    st.booleans(),
)
RULES = st.builds(
    ReadingRules,
    dependent=st.sampled_from(["adjective", "any"]),
    heads=st.sampled_from(["common", "singular"]),
    proper_nouns=st.booleans(),
    adjective_by=st.sampled_from(["form", "lemma"]),
    noun_by=st.sampled_from(["lemma", "form"]),
    lowercase=st.booleans(),
)


@given(
    st.lists(st.tuples(st.booleans(), st.dictionaries(st.integers(1, 6), WORD)), max_size=6), RULES
)
def test_occurrences_are_those_of_a_naive_loop(sentences, rules):
    rows = []
    document = sentence = 0
    for new_document, words in sentences:
        document, sentence = (document + 1, 0) if new_document else (document, sentence + 1)
        rows += [(document, sentence, i, *words[i]) for i in sorted(words)]
    batch = tokens(*rows)
    result = pairs_in(batch, rules)
    expected = naive_rows(batch, rules)
    assert [(d, s, *((a, n) if r is None else ()), r) for d, s, a, n, r in result] == expected
    pairs = columns.pairs(occurrences(batch, rules)).to_pylist()
    words = [(row["adjective"], row["noun"]) for row in pairs]
    assert words == [row[2:4] for row in expected if row[-1] is None]
