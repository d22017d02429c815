"""The functions of the package `adnominal`, and the examples of docs/python.md."""

import doctest
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import adnominal
from adnominal.analysis.exploring.queries import Query
from adnominal.analysis.exploring.sketches import Sketches
from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from adnominal.etl.looking.why import explain_pair
from tests.commands import run_python
from tests.lake_of_pairs import write_lake, write_pairs
from tests.rows import adept_row, write

pytest.importorskip(
    "adnominal.etl.parsing.fast._fast", reason="the compiled extractor was not built"
)

PAGE = ROOT / "docs" / "python.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write_page_lake(folder: Path) -> Path:
    """Write the lake that the page's examples read: that of the explorer's tests, and a split."""
    write_lake(folder)
    opens = {"verb": "opens a door", "edition": "demo"}
    rows = [
        adept_row("b1", "false", "key", 1, split_random="train", **opens),
        adept_row("b2", "old", "key", 2, split_random="train", **opens),
        adept_row("b3", "small", "key", 2, split_random="val", **opens),
    ]
    write(folder, "adept", rows)
    return folder


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page_lake(tmp_path_factory.mktemp("python") / "lake")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder for the stored lists of words."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def failures_of(text: str) -> str:
    """The differences between the printed and the real outputs of a page's Python blocks."""
    blocks = _BLOCK.findall(text)
    assert all(block.startswith(">>> ") for block in blocks)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "page", None, None)
    assert len(example.examples) >= 3
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(example, out=report.append)
    return "".join(report)


def test_the_examples_of_the_page_print_what_it_shows(lake, monkeypatch):
    monkeypatch.chdir(lake.parent)
    assert failures_of(PAGE.read_text(encoding="utf-8")) == ""


def test_the_check_of_the_page_finds_another_output(lake, monkeypatch):
    monkeypatch.chdir(lake.parent)
    text = PAGE.read_text(encoding="utf-8")
    changed = text.replace("'validation': 1}", "'validation': 7}")
    assert changed != text
    assert "'validation': 7}" in failures_of(changed)


def test_importing_the_package_takes_no_time_and_no_libraries():
    code = (
        "import sys, time; start = time.process_time(); import adnominal; "
        "print(time.process_time() - start); "
        "large = {'torch', 'pyspark', 'pyarrow', 'pandas', 'numpy', 'omegaconf'}; "
        "assert not large & set(sys.modules), large & set(sys.modules)"
    )
    # CPU time, which other processes on the machine do not lengthen.
    assert float(run_python("-c", code).stdout) < 0.3


def test_the_functions_import_neither_torch_nor_spark(lake):
    code = (
        "import sys, adnominal; "
        f"adnominal.read('amod_pairs', lake={str(lake)!r}); "
        f"adnominal.sketch('key', lake={str(lake)!r}); "
        f"adnominal.pair('false', 'key', lake={str(lake)!r}); "
        "adnominal.UserError; adnominal.Pair; "
        "print({'torch', 'pyspark', 'pysail'} & set(sys.modules))"
    )
    assert run_python("-c", code).stdout == "set()\n"


def test_every_public_name_exists():
    for name in adnominal.__all__:
        assert getattr(adnominal, name) is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+", adnominal.__version__)
    with pytest.raises(AttributeError, match="no attribute 'reed'"):
        getattr(adnominal, "reed")  # noqa: B009 – a type checker knows that it is not there


def test_rows_are_selected_by_sql_and_by_triples(lake):
    by_sql = adnominal.read("amod_pairs", lake=lake, where="noun = 'key' AND count < 5")
    triples = [("noun", "=", "key"), ("count", "<", 5)]
    by_triples = adnominal.read("amod_pairs", lake=lake, where=triples)
    order = [(name, "ascending") for name in by_sql.column_names]
    assert by_sql.num_rows == 3
    assert by_sql.sort_by(order).equals(by_triples.sort_by(order))
    columns = ["count", "adjective"]
    few = adnominal.read("amod_pairs", lake=lake, where="noun = 'name'", columns=columns)
    assert few.to_pylist() == [{"count": 3, "adjective": "false"}]
    none = adnominal.read("amod_pairs", lake=lake, where="noun = 'x'", columns=columns)
    assert none.schema.names == columns and none.num_rows == 0


@pytest.mark.parametrize("role", ["noun", "adjective"])
def test_a_sketch_has_the_rows_of_the_explorer(lake, tmp_path, role):
    word = {"noun": "key", "adjective": "false"}[role]
    partner = {"noun": "adjective", "adjective": "noun"}[role]
    explorer = Sketches(str(lake), tmp_path / "cache")
    rows = explorer.sketch(Query(role, word, measure="pmi", limit=3))["rows"]
    sketch = adnominal.sketch(word, role=role, lake=lake, measure="pmi", limit=3).to_pylist()
    names = ("corpus", "count", "log_dice", "pmi")
    assert sketch == [{"collocate": row[partner], **{n: row[n] for n in names}} for row in rows]
    assert len(sketch) == 3


def test_a_sketch_follows_the_lake(tmp_path):
    lake = tmp_path / "lake"
    write_pairs(str(lake), {"news": [("old", "key", 2)]})
    assert adnominal.sketch("key", lake=lake).column("collocate").to_pylist() == ["old"]
    write_pairs(str(lake), {"web": [("new", "key", 3)]})
    assert adnominal.sketch("key", lake=lake, measure="count").to_pandas()[
        "collocate"
    ].tolist() == ["new", "old"]
    shutil.rmtree(lake)
    with pytest.raises(adnominal.UserError, match="no table amod_association"):
        adnominal.sketch("key", lake=lake)


def test_a_pair_has_the_numbers_that_why_prints(lake):
    pair = adnominal.pair("false", "key", lake=lake, examples=1)
    text = explain_pair(str(lake), "false", "key", 1)
    for row in pair.counts.to_pylist():
        (line,) = [line for line in text.splitlines() if line.startswith(row["corpus"])]
        numbers = line.split()[1:]
        assert numbers[0] == str(row["count"])
        assert " ".join(numbers[1:4]) == f"{row['rank']} of {row['adjectives']}"
        assert float(numbers[6]) == pytest.approx(row["pmi"], rel=1e-3)
    stored = arrow.read(str(lake), "amod_association", where=[("noun", "=", "key")]).to_pylist()
    pmi = {r["corpus"]: r["pmi"] for r in stored if r["adjective"] == "false"}
    assert {row["corpus"]: row["pmi"] for row in pair.counts.to_pylist()} == pmi
    (example,) = pair.examples.to_pylist()
    assert example["document"] == "http://example.org/1"
    assert adnominal.pair("public", "key", lake=lake).examples.num_rows == 0
    assert adnominal.pair("Public", "KEY", lake=lake).noun == "key"


def test_a_pair_without_association_has_counts(tmp_path):
    rows = [{"corpus": "news", "adjective": "old", "noun": "key", "count": 2}]
    write(tmp_path / "lake", "amod_pairs", rows)
    pair = adnominal.pair("old", "key", lake=tmp_path / "lake")
    (row,) = pair.counts.to_pylist()
    assert (row["count"], row["rank"], row["adjectives"], row["pmi"]) == (2, 1, 1, None)


def test_a_negative_number_of_examples_is_refused(lake):
    with pytest.raises(adnominal.UserError, match="examples=-1: expected 0 or more"):
        adnominal.pair("false", "key", lake=lake, examples=-1)


@pytest.mark.parametrize("column", [pa.array, pd.Series, lambda texts: pa.chunked_array([texts])])
def test_texts_may_be_a_column(column):
    counts = adnominal.count_pairs(column(["A red ball.", "Red balls."])).to_pylist()
    assert counts == [{"adjective": "red", "noun": "ball", "count": 2}]


def call(function: str, *arguments: Any, **options: Any) -> Any:
    return getattr(adnominal, function)(*arguments, **options)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("read", ("amod_pair",), "no table 'amod_pair'; did you mean 'amod_pairs'"),
        ("read", ("sygns",), "no table sygns in lake=.*, which has amod_pairs, .*build_sygns"),
        ("sketch", ("dor",), "no pair has the noun 'dor'; spelt alike: door"),
        ("pair", ("false", "kee"), "no pair 'false' 'kee'.*nouns seen with 'false', near: key"),
        ("count_pairs", ("A red ball.",), "got one string"),
        ("count_pairs", ({"red ball": "A door."},), r"got a dict; expected one column .*dict\["),
        ("count_pairs", (pd.DataFrame({"red ball": ["A door."]}),), "got a DataFrame"),
        ("count_pairs", (["A red ball.", None],), "text 1: got NoneType; expected a string"),
        ("count_pairs", (["A red\0ball."],), r"text 0 cannot be read \(nul\)"),
        ("load_dataset", ("adpt",), "dataset=adpt: expected one of .*sygns; did you mean 'adept'"),
        ("load_dataset", ("adept",), "edition=published: .* there is demo"),
        ("load_dataset", ("sygns",), "no table sygns in lake=.*, which has amod_pairs"),
    ],
)
def test_what_is_missing_is_reported_with_what_is_there(lake, function, arguments, message):
    options = {} if function == "count_pairs" else {"lake": lake}
    with pytest.raises(adnominal.UserError, match=message):
        call(function, *arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corpus": "wbe"}, "corpus=wbe: expected one of news, web"),
        ({"role": "verb"}, "role=verb: expected one of noun, adjective"),
        ({"measure": "mi"}, "measure=mi: expected one of log_dice"),
    ],
)
def test_wrong_options_of_a_sketch_are_reported(lake, options, message):
    with pytest.raises(adnominal.UserError, match=message):
        adnominal.sketch("key", lake=lake, **options)


@pytest.mark.parametrize("function", ["read", "sketch", "pair", "load_dataset"])
def test_a_missing_lake_is_reported(tmp_path, function):
    words = {"read": ["amod_pairs"], "sketch": ["key"], "pair": ["old", "key"]}
    message = r"no table \w+ in lake=.*nowhere, which has no tables; build it with: python etl"
    with pytest.raises(adnominal.UserError, match=message):
        call(function, *words.get(function, ["adept"]), lake=tmp_path / "nowhere")


def test_an_unknown_column_or_condition_is_reported(lake):
    with pytest.raises(adnominal.UserError, match="no column verb; it has corpus, adjective"):
        adnominal.read("amod_pairs", lake=lake, columns=["verb"])
    with pytest.raises(adnominal.UserError, match="No field named verb"):
        adnominal.read("amod_pairs", lake=lake, where="verb = 1")


def test_a_dataset_without_the_library_names_the_extra(lake, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(adnominal.UserError, match=r"pip install 'adnominal\[exports\]'"):
        adnominal.load_dataset("adept", edition="demo", lake=lake)


def test_a_configuration_that_is_not_there_is_reported(lake):
    with pytest.raises(adnominal.UserError, match="config=randon: adept, edition demo, has random"):
        adnominal.load_dataset("adept", edition="demo", config="randon", lake=os.fspath(lake))
