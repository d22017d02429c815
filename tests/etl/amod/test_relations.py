"""Further relations: counts on UD EWT equal a naive reading; sums over waves."""

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from adnominal.conf import UserError, load
from adnominal.etl.amod.relations import RelationCounter
from adnominal.etl.amod.rules import CLEAN, PENN_TAGS
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora.dialects import CONLLU, DEPCC
from adnominal.etl.lake import arrow
from tests.etl.amod.corpus import contents, run_job

FURTHER = ("advmod", "compound", "obj", "predicative")
SENTENCE = """# text = The old key is really false and opens car doors quickly
1\tThe\tthe\tDET\tDT\t_\t3\tdet\t_\t_
2\told\told\tADJ\tJJ\t_\t3\tamod\t_\t_
3\tKeys\tkey\tNOUN\tNNS\t_\t6\tnsubj\t_\t_
4\tare\tbe\tAUX\tVBP\t_\t6\tcop\t_\t_
5\treally\treally\tADV\tRB\t_\t6\tadvmod\t_\t_
6\tFalse\tfalse\tADJ\tJJ\t_\t0\troot\t_\t_
7\tand\tand\tCCONJ\tCC\t_\t8\tcc\t_\t_
8\topened\topen\tVERB\tVBD\t_\t6\tconj\t_\t_
9\tcar\tcar\tNOUN\tNN\t_\t10\tcompound\t_\t_
10\tdoors\tdoor\tNOUN\tNNS\t_\t8\tobj\t_\t_
11\tquickly\tquickly\tADV\tRB\t_\t8\tadvmod\t_\t_

"""
TRIPLES = {
    ("predicative", "false", "key"): 1,
    ("compound", "car", "door"): 1,
    ("obj", "door", "open"): 1,
    ("advmod", "really", "false"): 1,
    ("advmod", "quickly", "open"): 1,
}


def counts(text, dialect=CONLLU, relations=FURTHER, rules=CLEAN):
    counter = RelationCounter(rules, relations)
    blocks = [memoryview(text.encode())]
    assert list(counter.watch(blocks, dialect)) == blocks
    return dict(counter.counts)


def test_all_relations_of_a_sentence_are_counted():
    assert counts(SENTENCE) == TRIPLES


@pytest.mark.parametrize("relation", FURTHER)
def test_one_relation_can_be_counted_alone(relation):
    assert counts(SENTENCE, relations=[relation]) == {
        triple: count for triple, count in TRIPLES.items() if triple[0] == relation
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\tcop\t", "\taux\t"),
        ("6\tnsubj\t", "6\tnsubj:pass\t"),
        ("Keys\tkey\tNOUN\tNNS", "They\tthey\tPRON\tPRP"),
        ("False\tfalse\tADJ\tJJ", "Lost\tlose\tVERB\tVBN"),
    ],
)
def test_other_constructions_are_not_predicative(old, new):
    assert old in SENTENCE
    assert not [t for t in counts(SENTENCE.replace(old, new)) if t[0] == "predicative"]


def test_any_dependent_of_amod_does_not_let_other_words_pass_as_adjectives():
    text = SENTENCE.replace("False\tfalse\tADJ\tJJ", "Tools\ttool\tNOUN\tNNS")
    any_dependent = counts(text, rules=replace(CLEAN, dependent="any"))
    assert any_dependent == counts(text)
    assert {relation for relation, _, _ in any_dependent} == {"compound", "obj", "advmod"}


def test_depcc_has_the_relation_names_of_stanford_dependencies():
    rows = [
        (0, "Keys", "key", "NNS", 2, "nsubj"),
        (1, "are", "be", "VBP", 2, "cop"),
        (2, "false", "false", "JJ", 2, "ROOT"),
        (5, "open", "open", "VBP", 2, "dep"),
        (6, "car", "car", "NN", 7, "nn"),
        (7, "doors", "door", "NNS", 5, "dobj"),
    ]
    text = "".join(
        f"{i}\t{form}\t{lemma}\t{tag}\t{tag}\t\t{head}\t{relation}\t{head}:{relation}\tO\n"
        for i, form, lemma, tag, head, relation in rows
    )
    assert counts(text + "\n", DEPCC) == {
        ("predicative", "false", "key"): 1,
        ("compound", "car", "door"): 1,
        ("obj", "door", "open"): 1,
    }


def naive_counts(text):
    """The counts of a CoNLL-U file by a naive reading."""
    counts: Counter[tuple[str, str, str]] = Counter()
    noun, adverb = ("NN", "NNS"), ("RB", "RBR", "RBS")
    for block in text.split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if line[:1].isdigit()]
        rows = [row for row in rows if row[0].isdigit()]
        tags = {row[0]: row[4] if row[4] in PENN_TAGS else row[3] for row in rows}
        is_noun = {i for i, tag in tags.items() if tag in noun or tag == "NOUN"}
        is_adjective = {i for i, tag in tags.items() if tag in ("JJ", "JJR", "JJS", "ADJ")}
        is_verb = {i for i, tag in tags.items() if tag[:2] == "VB" or tag in ("MD", "VERB", "AUX")}
        is_adverb = {i for i, tag in tags.items() if tag in adverb or tag == "ADV"}
        form = {row[0]: row[1].lower() for row in rows}
        lemma = {row[0]: (row[1] if row[2] == "_" else row[2]).lower() for row in rows}
        has_copula = {row[6] for row in rows if row[7] == "cop"}
        for i, head, relation in ((row[0], row[6], row[7]) for row in rows):
            if relation == "compound" and i in is_noun and head in is_noun:
                counts["compound", lemma[i], lemma[head]] += 1
            if relation == "obj" and i in is_noun and head in is_verb:
                counts["obj", lemma[i], lemma[head]] += 1
            if relation == "advmod" and i in is_adverb and any(map(str.isalnum, form[i])):
                if head in is_verb:
                    counts["advmod", form[i], lemma[head]] += 1
                elif head in is_adjective | is_adverb and any(map(str.isalnum, form[head])):
                    counts["advmod", form[i], form[head]] += 1
            if relation == "nsubj" and head in has_copula & is_adjective and i in is_noun:
                counts["predicative", form[head], lemma[i]] += 1
    return dict(counts)


def test_counts_on_ud_ewt_are_those_of_a_naive_reading(shared_data):
    text = (shared_data / "ud_ewt" / "en_ewt-ud-dev.conllu").read_text(encoding="utf-8")
    expected = naive_counts(text)
    assert counts(text) == expected
    assert {relation for relation, _, _ in expected} == set(FURTHER)
    assert sum(expected.values()) > 1000


def extract(lake: Path, source: Path, *words: str) -> None:
    run_job(lake, "source=conllu", f"input={source}", *words)


def test_waves_add_up_and_amod_does_not_change(spark, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for name in "abc":
        (folder / f"{name}.conllu").write_text(SENTENCE, encoding="utf-8")
    all_relations = f"relations=amod,{','.join(FURTHER)}"
    extract(tmp_path / "lake", folder, all_relations, "wave_bytes=1")
    extract(tmp_path / "once", folder, all_relations)
    extract(tmp_path / "alone", folder)
    rows = arrow.read(str(tmp_path / "lake"), "relation_pairs").to_pylist()
    assert {(r["relation"], r["dependent"], r["head"]): r["count"] for r in rows} == {
        triple: 3 * count for triple, count in TRIPLES.items()
    }
    assert contents(tmp_path / "lake", ("relation_pairs",)) == contents(
        tmp_path / "once", ("relation_pairs",)
    )
    for table in ("amod_pairs", "amod_association"):
        assert contents(tmp_path / "once", (table,)) == contents(tmp_path / "alone", (table,))
    assert "relation_pairs" not in arrow.tables(str(tmp_path / "alone"))
    with pytest.raises(UserError, match="was read with other settings"):
        extract(tmp_path / "lake", folder)


def test_association_within_each_relation_on_request(spark, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    first, second = parts / "a.conllu", parts / "b.conllu"
    first.write_text(SENTENCE, encoding="utf-8")
    second.write_text(SENTENCE.replace("car\tcar", "cat\tcat"), encoding="utf-8")
    lake = tmp_path / "lake"
    all_relations = f"relations=amod,{','.join(FURTHER)}"
    extract(lake, first, all_relations)
    assert "relation_association" not in arrow.tables(str(lake))
    extract(lake, first, all_relations, "relation_association=true")
    # Later runs update the table.
    extract(lake, parts, all_relations)
    association = {
        (row["relation"], row["dependent"], row["head"]): row
        for row in arrow.read(str(lake), "relation_association").to_pylist()
    }
    pairs = arrow.read(str(lake), "relation_pairs").to_pylist()
    assert {key: row["count"] for key, row in association.items()} == {
        (row["relation"], row["dependent"], row["head"]): row["count"] for row in pairs
    }
    car = association["compound", "car", "door"]
    assert (car["count"], car["dependent_count"], car["head_count"]) == (1, 1, 2)
    # Half of the relation's two pairs: log2(1 * 2 / (1 * 2)), 14 + log2(2 / 3).
    assert (car["pmi"], car["npmi"]) == (0.0, 0.0)
    assert car["log_dice"] == pytest.approx(14 + math.log2(2 / 3))
    assert association["advmod", "really", "false"]["pmi"] == 1.0
    assert association["predicative", "false", "key"]["npmi"] == 1.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["source=text", "relations=amod,obj"], "expected a parsed corpus"),
        (["source=depcc", "relations=obj"], "amod is always counted"),
        (
            ["source=depcc", "relations=amod,obj", "deduplicate=sentence"],
            "combined with deduplicate=",
        ),
        (["source=depcc", "relation_association=true"], "no relation other than amod"),
    ],
)
def test_incompatible_settings_are_refused(words, message):
    with pytest.raises(UserError, match=message):
        load(Settings, ["input=x", *words])
