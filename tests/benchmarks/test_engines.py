"""The table of both engines, and the parts of the case."""

import pytest

from adnominal.conf import UserError, load
from adnominal.etl.knowledge import wordnet
from adnominal.etl.lake import arrow
from benchmarks.engines import CASE, CASES, Settings, measurements
from benchmarks.plane_generator import adjectives_per_noun, write_classes, write_lake, write_pairs
from tests.benchmarks.page import page
from tests.etl.knowledge import wordnet_files

RUN = {"wall": 2.0, "cpu": 3.0, "memory": 400.0, "load": 0.1}
MANY = {"gigabytes": 6.0, "start": 20.0, "kernel_a_gb": 1.0, "cpu_a_gb": 1.4}


def test_the_page_has_a_row_per_job_and_marks_missed_targets():
    figures = {
        "treebank-sail": RUN,
        "counting-sail": RUN | {"kernel": 0.5, "polars": RUN | {"wall": 1.0}},
        "many-spark": RUN | MANY,
        "adept-1-sail": RUN | {"cpu": 0.2, "rows": 1234},
        "adept-10-sail": RUN | {"rows": 12345},
        "adept-10-spark": RUN | {"rows": 12345, "wall": 8.0},
    }
    lines = page(CASE, figures).splitlines()
    assert "| treebank | 2.0 | - | - | 3.0 | - | 400 | - | - |" in lines
    assert "| many | - | 2.0 | - | - | 3.0 | - | 400 | - |" in lines
    assert "| adept, 10 M | 2.0 | 8.0 | 0.25 | 3.0 | 3.0 | 400 | 400 | 12,345 |" in lines
    sizes = [line.split(" | ")[0] for line in lines if line.startswith("| adept")]
    assert sizes == ["| adept, 1 M", "| adept, 10 M"]
    text = "\n".join(lines)
    assert "- Treebank on Sail: met, at most 5 s." in text
    assert "2.0 s beside 1.0 s of the polars script (missed: at most as long)" in text
    assert "on spark: 1.40 CPU s a GB, 1.40 times the kernel's 1.00 (met: at most 1.5)" in text


def test_parts_and_engines_are_chosen_by_name():
    with pytest.raises(UserError, match=r"parts=\['trees'\]: expected some of treebank"):
        measurements(load(Settings, ["parts=[trees]"]))
    with pytest.raises(UserError, match=r"engines=\['flink'\]: expected some of sail, spark"):
        load(Settings, ["engines=[flink]"])
    names = list(measurements(Settings()))
    assert {name.split("-")[0] for name in names} == set(CASES)
    assert "treebank-spark" in names and "sygns-50-sail" in names


def test_generated_phrases_follow_zipfs_law(tmp_path):
    lake = str(tmp_path / "lake")
    nouns = [f"noun{number}" for number in range(1000)]
    write_pairs(lake, nouns, adjectives_per_noun(len(nouns), 5000))
    counts = arrow.read(lake, "amod_pairs").group_by("noun").aggregate([("adjective", "count")])
    sizes = sorted(counts["adjective_count"].to_pylist(), reverse=True)
    assert sizes[0] > 50 * sizes[-1] and sizes[-1] == 1
    assert sum(sizes) == pytest.approx(5000, rel=0.05)
    pairs = arrow.read(lake, "amod_pairs").select(["adjective", "noun"]).to_pylist()
    assert len({tuple(pair.values()) for pair in pairs}) == len(pairs)
    write_classes(tmp_path / "classes.tsv")
    classes = dict(
        line.split("\t") for line in (tmp_path / "classes.tsv").read_text().splitlines()[3:]
    )
    assert set(classes.values()) == {"I", "S", "O"}
    assert {pair["adjective"] for pair in pairs} <= classes.keys()


def test_the_generated_nouns_are_of_wordnet_and_have_a_direct_hypernym(tmp_path, monkeypatch):
    files = wordnet.find(str(wordnet_files.write(tmp_path / "wordnet")))
    monkeypatch.setattr(wordnet, "find", lambda: files)
    lake = str(tmp_path / "lake")
    write_lake(lake, 200)
    assert arrow.read(lake, "wordnet_hypernyms").num_rows == wordnet.hypernyms(files).num_rows
    nouns = set(arrow.read(lake, "amod_pairs")["noun"].to_pylist())
    # The root has no hypernym, and the first one of dog is of one word.
    assert {"cad", "dog", "poodle"} <= nouns
    assert not nouns & {"entity", "canis familiaris"}
