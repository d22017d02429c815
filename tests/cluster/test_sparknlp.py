"""Spark NLP with its jars, on Spark 3.5: a pipeline is trained on a treebank and parses texts."""

import gzip
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from tests.cluster.submitting import spark_3_5, submit_variables
from tests.commands import run_python
from tests.jars import jars

SECONDS = 1500.0
SENTENCES = 200
TRAIN = ROOT / "etl" / "train_sparknlp.py"
EXTRACT = ROOT / "etl" / "extract_amod.py"
TEXT = "The old dog likes the small red ball. A new house has a nice garden.\n" * 20


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    """Variables with which a job's Spark has the jars."""
    properties = {"spark.driver.memory": "7g"}
    jar_files = jars("sparknlp", "delta-3.5")
    return submit_variables(jar_files, spark_3_5(), properties) | {"SPARK_DRIVER_MEMORY": "7g"}


@pytest.fixture(scope="module")
def treebank(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first sentences of UD English EWT."""
    path = tmp_path_factory.mktemp("treebank") / "train.conllu"
    with gzip.open(shared_data / "ud_ewt" / "rebuilt-train.conllu.gz", "rt") as lines:
        path.write_text("\n\n".join(lines.read().split("\n\n")[:SENTENCES]) + "\n\n")
    return path


def run(script: Path, *words: str, variables: dict[str, str], code: int = 0) -> str:
    process = run_python(
        script, *words, python=spark_3_5(), code=code, timeout=SECONDS, variables=variables
    )
    return process.stderr


def universal_tags(treebank: Path) -> str:
    """The treebank with the universal tags in the place of Penn's."""
    lines = [line.split("\t") for line in treebank.read_text().splitlines()]
    changed = [[*w[:4], w[3], *w[5:]] if len(w) == 10 else w for w in lines]
    return "\n".join("\t".join(words) for words in changed) + "\n\n"


@pytest.fixture(scope="module")
def pipeline(treebank: Path, variables: dict[str, str]) -> Path:
    """A pipeline trained on the treebank."""
    out = treebank.with_name("pipeline")
    limits = ("label_sentences=20", "head_iterations=2")
    text = run(TRAIN, f"treebank={treebank}", f"out={out}", *limits, variables=variables)
    assert "training needs a heap of about 10 GB" in text
    return out


def extract(lake: Path, model: Path, variables: dict[str, str], code: int = 0) -> str:
    source = lake.with_name("text.txt")
    source.write_text(TEXT, encoding="utf-8")
    words = ("source=text", f"input={source}", f"lake={lake}", "parser=sparknlp", "corpus=nlp")
    return run(EXTRACT, *words, f"parser_model={model}", variables=variables, code=code)


def test_a_trained_pipeline_extracts_pairs(pipeline, variables, tmp_path):
    extract(tmp_path / "lake", pipeline, variables)
    rows = arrow.read(str(tmp_path / "lake"), "amod_pairs").to_pylist()
    counts = {(row["adjective"], row["noun"]): row["count"] for row in rows}
    assert counts[("old", "dog")] == 20


def test_a_missing_pipeline_and_a_broken_one_are_refused(variables, tmp_path):
    assert "is not a folder" in extract(tmp_path / "a", tmp_path / "none", variables, code=2)
    (tmp_path / "empty").mkdir()
    text = extract(tmp_path / "b", tmp_path / "empty", variables, code=2)
    assert "not a pipeline that this Spark NLP can load" in text
    assert len([line for line in text.splitlines() if line.startswith("error:")]) == 1


def test_a_treebank_of_other_tags_is_refused(treebank, variables, tmp_path):
    other = tmp_path / "universal.conllu"
    other.write_text(universal_tags(treebank))
    text = run(TRAIN, f"treebank={other}", f"out={tmp_path / 'o'}", variables=variables, code=2)
    assert "expected Penn tags" in text
    exists = run(TRAIN, f"treebank={treebank}", f"out={tmp_path}", variables=variables, code=2)
    assert "it exists; give overwrite=true" in exists


def test_without_the_jars_the_command_is_named(tmp_path):
    text = extract(tmp_path / "lake", tmp_path, {"SPARK_DRIVER_MEMORY": "1g"}, code=2)
    assert "--packages com.johnsnowlabs.nlp:spark-nlp_2.12:5.5.3 --exclude-packages" in text
