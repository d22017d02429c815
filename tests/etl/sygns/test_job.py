from collections import Counter
from dataclasses import replace

import pytest

from adnominal import conf
from adnominal.conf import UserError
from adnominal.etl.lake.scratch import scratch
from adnominal.etl.lake.spark import Lake
from adnominal.etl.sygns.generate import sample
from adnominal.etl.sygns.job import build, sampler_of, selected_draws, streams_of
from adnominal.etl.sygns.settings import Settings
from adnominal.etl.sygns.splits import part, quantifiers

SMALL = Settings(
    edition="small", sentences=60, per_depth=20, embedded=8, max_depth=1, task_size=100, seed=4
)


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> Lake:
    root = str(tmp_path_factory.mktemp("lake"))
    build(replace(SMALL, lake=root))
    return Lake(spark, root)


def test_a_build_writes_the_sentences_of_the_samplers(lake):
    rows = {row["sentence_id"]: row.asDict(recursive=True) for row in lake.read("sygns").collect()}
    sampled = {
        record.sentence_id: record
        for stream in streams_of(SMALL)
        for record in sample(sampler_of(SMALL, stream), stream.size)
    }
    assert set(rows) == set(sampled)
    for sentence_id, record in sampled.items():
        row = rows[sentence_id]
        names = ("sentence", "depth", "fol", "drs", "vf")
        assert [row[name] for name in names] == [getattr(record, name) for name in names]
        assert row["edition"] == "small"
        assert [(p["word"], p["direction"]) for p in row["polarity_fol"]] == record.polarity_fol
        assert tuple(row["phenomena"]) == record.phenomena


def test_the_splits_follow_the_rules_and_have_their_sizes(lake):
    sentences = {row["sentence_id"]: row for row in lake.read("sygns").collect()}
    sizes: Counter[tuple[str, str]] = Counter()
    for row in lake.read("sygns_splits").collect():
        sentence = sentences[row["sentence_id"]]
        scheme = row["scheme"], row["primitive"]
        expected = part(*scheme, sentence["depth"], sentence["sentence"], sentence["phenomena"])
        assert expected == ("train" if row["part"] == "val" else row["part"])
        sizes[scheme] += 1
        if row["scheme"] == "embedded_quantifiers" and sentence["depth"]:
            trained = set(quantifiers(sentence["sentence"])) <= {"one", "two", "every"}
            assert trained == (row["part"] != "test")
    assert sizes["systematicity", "one"] == sizes["quantifier_negation", "every"] == 60
    assert sizes["productivity", ""] == 2 * 20
    assert sizes["embedded_quantifiers", ""] == 8 + 2 * 8


def test_systematicity_has_the_requested_number_of_sentences(spark, tmp_path):
    root = str(tmp_path / "lake")
    build(replace(SMALL, sentences=20, per_depth=60, embedded=0, max_depth=0, lake=root))
    ids: dict[str, set[str]] = {}
    for row in Lake(spark, root).read("sygns_splits").collect():
        ids.setdefault(row["scheme"], set()).add(row["sentence_id"])
    assert len(ids["systematicity"]) == 20 and ids["quantifier_negation"] <= ids["systematicity"]
    assert ids["productivity"] > ids["systematicity"] and len(ids["productivity"]) == 60


def test_draws_do_not_depend_on_the_partitioning(spark, tmp_path):
    settings = replace(SMALL, max_depth=0, embedded=0)
    with scratch(str(tmp_path)) as folder:
        by_one_task, by_many_tasks = (
            set(selected_draws(spark, replace(settings, task_size=size), folder).collect())
            for size in (1000, 15)
        )
    assert len(by_one_task) == 60
    assert by_one_task == by_many_tasks


def test_more_sentences_than_the_grammar_has_are_refused(spark, tmp_path):
    too_large = replace(SMALL, adjectives=5, adverbs=5, sentences=400_000, max_depth=0)
    message = r"400000 sentences of depth 0 requested, .* 323400"
    with scratch(str(tmp_path)) as folder, pytest.raises(UserError, match=message):
        selected_draws(spark, too_large, folder)


def test_the_preset_paper_sets_edition_rules_and_boxes():
    paper = conf.load(Settings, ["preset=paper"])
    assert (paper.name, paper.rules) == ("paper", "paper")
    assert (paper.adjectives, paper.boxes) == (5, "nesting")
    assert conf.load(Settings, ["edition=mine"]).name == "mine"


def test_the_preset_scripts_sets_a_counter_and_the_right_arguments():
    scripts = conf.load(Settings, ["preset=scripts"])
    assert (scripts.name, scripts.rules) == ("scripts", "paper")
    assert (scripts.boxes, scripts.arguments) == ("counter", "right")
    with pytest.raises(UserError, match="arguments=swapped is an oddity of rules=paper"):
        conf.load(Settings, ["arguments=swapped"])


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("adjectives=11", "expected 1 to 10"),
        ("schemes=[productivity,productivity]", "the same value twice"),
        ("max_depth=5", "expected 0 to 4"),
        ("sentences=0", "expected 1 or more"),
        ("embedded=-1", "expected 0 or more"),
        ("schemes=comp", "expected one of systematicity"),
    ],
)
def test_bad_settings_are_refused(argument, message):
    with pytest.raises(UserError, match=message):
        conf.load(Settings, [argument])
