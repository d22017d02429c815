import ast
import csv
import gzip
import re

import pytest

from adnominal.conf.texts import json_lines
from adnominal.etl.sygns import drs, fol, polarity, vf
from adnominal.etl.sygns.fol import ParseError
from adnominal.etl.sygns.generate import Sampler, record, surface
from adnominal.etl.sygns.grammar import Grammar, grammar
from adnominal.etl.sygns.translate import fol_to_drs

# The published clauses number boxes by nesting. In these rows two boxes share a number, because a
# box has two operators, or both boxes of an implication have one.
SHARED_NUMBERS = {11, 13, 15, 17, 23, 25, 27, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49}


@pytest.fixture(scope="module")
def paper() -> Grammar:
    return grammar("paper", 5, 5)


@pytest.fixture(scope="module")
def clean_grammar() -> Grammar:
    return grammar("clean", 5, 5)


@pytest.fixture(scope="module")
def published_grammar(shared_data):
    with open(shared_data / "sygns" / "sample.tsv", encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


@pytest.mark.parametrize(("depth", "size"), [(0, 48), (1, 440)])
def test_templates_equal_the_published_ones(shared_data, paper, depth, size):
    path = shared_data / "sygns" / f"templates_depth{depth}.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        published_templates = {line.strip() for line in lines}
    assert len(published_templates) == size
    assert set(paper.templates(depth)) == published_templates


def test_the_number_of_templates_of_each_depth(paper, clean_grammar):
    assert [paper.pattern_count(d) for d in range(5)] == [48, 440, 3640, 29240, 234040]
    assert [clean_grammar.pattern_count(d) for d in range(5)] == [48, 440, 3520, 28160, 225280]


def test_clean_templates_lack_the_published_oddities(paper, clean_grammar):
    oddity = "pn did not tvFin pn"
    assert oddity in set(paper.templates(0)) - set(clean_grammar.templates(0))
    assert not any("ivFin conn ivInf" in t for t in clean_grammar.templates(1))


def test_published_rows_are_reproduced(published_grammar, paper):
    assert len(published_grammar) == 25
    for row in published_grammar:
        depth, tree = paper.parse(row["sentence"])
        meanings = paper.meanings(tree)
        box = fol_to_drs(meanings.fol)
        tags = {t.split(":")[0] for t in row["tags"].split(";") if t.endswith(":yes")}
        fol_polarity = [(w, "up" if up else "down") for w, up in ast.literal_eval(row["folpol"])]
        vf_polarity = [
            (w, "up" if sign == "pos" else "down")
            for w, sign in re.findall(r"(\w+),(pos|neg)", row["vfpol"])
        ]
        assert depth == int(row["depth"])
        assert fol.text(meanings.fol) == row["fol"]
        assert vf.text(meanings.vf) == row["vf"]
        assert set(meanings.tags) == tags
        assert polarity.from_fol(meanings.fol) == fol_polarity
        assert polarity.from_vf(meanings.vf) == vf_polarity
        assert drs.text(box, "nesting") == row["drs"]
        if int(row["id"]) in SHARED_NUMBERS:
            with pytest.raises(ParseError, match="opened more than once"):
                drs.parse(row["drs"])
        else:
            clauses = drs.rename(drs.clauses(box))
            assert clauses == drs.rename(drs.parse_clauses(row["drs"]))
        if depth == 0:
            assert drs.text(box) == row["drs"]


@pytest.mark.parametrize("edition", ["clean", "paper"])
@pytest.mark.parametrize("depth", range(5))
def test_generated_sentences_are_parsed_with_their_meanings(edition, depth):
    rules = grammar(edition, 5, 5)
    sampler = Sampler(rules, depth, seed=1)
    for number in range(60):
        tree = sampler.tree(number)
        parsed_depth, parsed = rules.parse(surface(tree))
        assert parsed_depth == depth or edition == "paper"
        assert rules.meanings(parsed) == rules.meanings(tree)


def test_subject_relatives_have_their_arguments_in_order_in_the_clean_edition(clean_grammar, paper):
    sentence = "a dog that chased one cat ran"
    in_order = "exists x1.(dog(x1) & exists x2.(cat(x2) & chase(x1,x2)) & run(x1))"
    assert fol.text(clean_grammar.meanings(clean_grammar.parse(sentence)[1]).fol) == in_order
    reversed_arguments = in_order.replace("chase(x1,x2)", "chase(x2,x1)")
    assert fol.text(paper.meanings(paper.parse(sentence)[1]).fol) == reversed_arguments


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("every dog runs", "stuck at 'runs'"),
        ("two dog ran", "stuck at 'dog'"),
        ("every dog chased a cat", "stuck at 'a'"),
        ("every dog that ran", "not a sentence"),
        ("", "stuck at no word"),
    ],
)
def test_strings_outside_the_grammar_are_refused(clean_grammar, sentence, message):
    with pytest.raises(ParseError, match=message):
        clean_grammar.parse(sentence)


def test_depths_and_patterns_outside_the_grammar_are_refused(clean_grammar):
    with pytest.raises(ValueError, match="from 0 to 4"):
        clean_grammar.pattern_count(5)
    with pytest.raises(IndexError, match="expected 0 to 47"):
        clean_grammar.pattern(0, 48)


@pytest.fixture(scope="module")
def scripts() -> Grammar:
    return grammar("paper", 5, 5, arguments="right")


def test_the_rows_of_the_releases_own_scripts_are_reproduced(shared_data, scripts):
    file = shared_data.parent / "cases" / "sygns_scripts.jsonl"
    if not file.exists():
        pytest.skip("no rows of the scripts")
    rows = [row for _, row in json_lines(file, file.name)]
    assert len(rows) == 200
    for row in rows:
        depth, tree = scripts.parse(row["sentence"])
        made = record(scripts, int(row["depth"]), tree, "counter")
        assert depth <= int(row["depth"])
        assert (made.fol, made.vf, made.drs) == (row["fol"], row["vf"], row["drs"])
        signs = [(word, int(direction == "up")) for word, direction in made.polarity_fol]
        assert signs == ast.literal_eval(row["folpol"])
        sign_of = {"up": "pos", "down": "neg"}
        signs_of_vf = [f"[{word},{sign_of[direction]}]" for word, direction in made.polarity_vf]
        assert f"[{','.join(signs_of_vf)}]" == row["vfpol"]
        assert set(made.phenomena) == set(re.findall(r"(\w+):yes", row["tags"]))


@pytest.mark.parametrize(
    ("arguments", "formula"),
    [("right", "chase(x1,x2)"), ("swapped", "chase(x2,x1)"), (None, "chase(x2,x1)")],
)
def test_the_arguments_of_subject_relatives_are_a_setting(arguments, formula):
    words = grammar("paper", 5, 5, arguments=arguments)
    _, tree = words.parse("a dog that chased two cats ran")
    assert formula in fol.text(words.meanings(tree).fol)


def test_clean_has_the_right_arguments(clean_grammar):
    _, tree = clean_grammar.parse("a dog that chased two cats ran")
    assert "chase(x1,x2)" in fol.text(clean_grammar.meanings(tree).fol)
