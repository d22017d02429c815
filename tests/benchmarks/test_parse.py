import bz2
import re
from dataclasses import replace

import pytest

from adnominal.conf import UserError, load
from benchmarks.inputs import documents_of, make_dumps, texts_of
from benchmarks.parse import NAMES, Settings, residue_of, summary
from benchmarks.parse_sides import full, read
from benchmarks.sides import Reading, check_identical

DEMO = Settings().input


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    return make_dumps(DEMO, tmp_path_factory.mktemp("dumps"), 300)


def test_larger_inputs_contain_the_smaller_ones(dumps):
    documents = {times: documents_of(str(dump.path)) for times, dump in dumps.items()}
    assert [len(documents[t]) for t in (1, 4, 16)] == [dumps[t].articles for t in (1, 4, 16)]
    for smaller, larger in ((1, 4), (4, 16)):
        assert documents[larger][: len(documents[smaller])] == documents[smaller]
    for times, dump in dumps.items():
        assert dump.words == sum(len(document.text.split()) for document in documents[times])
        assert times * 300 <= dump.words < times * 300 + 1000
        streams = re.findall(rb"BZh9", dump.path.read_bytes())
        assert len(streams) == 2 + -(-dump.articles // 5)


def test_repeated_articles_get_other_titles(tmp_path):
    page = "<page><title>A &amp; B</title><ns>0</ns><revision><text>Old cars.</text></revision>"
    source = tmp_path / "one.xml"
    source.write_text(f"<mediawiki>{page}</page></mediawiki>")
    dump = make_dumps(str(source), tmp_path, 1)[4]
    assert (dump.articles, dump.repeated) == (2, 1)
    assert [d.id for d in documents_of(str(dump.path))] == ["A & B", "A & B (1)"]
    assert bz2.decompress(dump.path.read_bytes()).endswith(b"</mediawiki>\n")


def test_a_dump_without_articles_is_refused(tmp_path):
    source = tmp_path / "none.xml"
    source.write_text("<page><title>T</title><ns>1</ns></page>")
    with pytest.raises(UserError, match="no article"):
        make_dumps(str(source), tmp_path, 1)
    with pytest.raises(UserError, match="rounds=0"):
        load(Settings, ["rounds=0"])


def test_all_sides_find_the_same_pairs(dumps):
    dump = str(dumps[1].path)
    sides = ("pipe", "lean", "full_without_ner", "full", "task")
    readings = {side: read(side, dump) for side in sides}
    check_identical(readings)
    assert (readings["task"].pairs or 0) > 10
    stages = readings["task"].stages
    assert stages["pipe"] > stages["columns"] > 0
    assert stages["pairs"] > 0 and stages["wikitext"] > 0
    assert sum(stages.values()) == pytest.approx(readings["task"].seconds)


def test_parts_of_hyphenated_words_make_no_pair():
    assert full(["The anti-war movement."]).pairs == 0
    assert full(["The old movement."]).pairs == 1


def test_sides_that_differ_are_reported():
    reading = Reading(1.0, tokens=100, pairs=5, digest="aa")
    check_identical({"a": reading, "pipe": Reading(1.0, tokens=100)})
    for other in (replace(reading, digest="bb"), replace(reading, tokens=99)):
        with pytest.raises(AssertionError, match="the sides differ"):
            check_identical({"a": reading, "b": other})


def test_rates_and_stages_are_relative_to_the_pipe(dumps):
    stages = {"pipe": 9.0, "pairs": 1.0}
    task = Reading(10.0, tokens=1600, pairs=5, digest="aa", stages=stages)
    pipe = Reading(8.0, tokens=1600)
    figures = summary(dumps[16], {side: [pipe] for side in NAMES}, pipe, task)
    assert figures["job_over_pipe"] == pytest.approx(0.9)
    assert figures["job_tokens_per_second"] == pytest.approx(160)
    assert figures["stages"] == pytest.approx({"pipe": 0.9, "pairs": 0.1})


def test_residual_markup_is_counted_in_all_articles(tmp_path):
    source = tmp_path / "one.xml"
    page = "<page><title>A</title><ns>0</ns><revision><text>The pipe | here is left.</text>"
    source.write_text(f"{page}</revision></page>")
    residue, words = residue_of(str(source))
    assert (residue.total(), words) == (1, 6)
    assert texts_of(str(source)) == ["The pipe | here is left."]
