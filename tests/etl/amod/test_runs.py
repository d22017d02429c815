"""Several runs on one corpus: concurrent, interleaved at a given step, with restart=true."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from adnominal.conf import JobFailed
from adnominal.etl.amod import corpus, job, plan, staging
from adnominal.etl.lake import arrow
from tests.etl.amod.corpus import contents, run_job, write_part
from tests.etl.amod.test_job import Killed, ledger_of

PARTS = {
    "b.gz": [("false", "key"), ("small", "key")],
    "n.gz": [("old", "coin"), ("false", "key")],
    "a.gz": [("red", "key"), ("false", "key"), ("old", "coin")],
}
WORDS = ("source=depcc", "examples=1", "deduplicate=sentence", "keep_text=true")
TABLES = tuple(name for name in corpus.EMPTIED_BY_RESTART if name != "amod_counts")

Run = Callable[..., None]


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A folder with b.gz, to which tests add parts."""
    folder = tmp_path / "parts"
    folder.mkdir()
    add(folder, "b.gz")
    return folder


def add(parts: Path, *names: str) -> None:
    for name in names:
        write_part(parts / name, PARTS[name])


@pytest.fixture
def run(spark: SparkSession, parts: Path, tmp_path: Path) -> Run:
    """Run the job on the parts (those of `names`, if any) into `lake`."""

    def run(*words: str, names: str = "*", lake: str = "lake") -> None:
        run_job(tmp_path / lake, *WORDS, f"input={parts}/{names}.gz", *words)

    return run


def run_after(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, other: Callable[[], None]
) -> None:
    """Run `other` at the end of the next call of a function."""
    function = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        monkeypatch.setattr(owner, name, function)
        other()
        return result

    monkeypatch.setattr(owner, name, wrapped)


def tables(lake: Path) -> dict[str, list[Any]]:
    """The tables without the numbers of waves, and the number of distinct sentences."""
    by_table = contents(lake, TABLES)
    digests = [row.rpartition("'wave'")[0] for row in by_table["amod_seen"]]
    return by_table | {"amod_seen": digests, "sentences": [len(by_table["sentences"])]}


def test_a_folder_that_grows_while_a_run_reads_it_loses_no_file(run, parts, tmp_path, monkeypatch):
    def grow() -> None:
        add(parts, "n.gz")
        run()

    run_after(monkeypatch, staging.Staging, "write", grow)
    run()
    assert {name: row["wave"] for name, row in ledger_of(tmp_path / "lake").items()} == {
        "b.gz": 0,
        "n.gz": 1,
    }
    add(parts, "a.gz")
    run()
    run(lake="at_once")
    assert tables(tmp_path / "lake") == tables(tmp_path / "at_once")
    assert {row["status"] for row in ledger_of(tmp_path / "lake").values()} == {"done"}


@pytest.mark.parametrize("step", ["plan", "updated_ledger"])
def test_a_ledger_changed_by_another_run_is_not_overwritten(
    run, parts, tmp_path, monkeypatch, step
):
    def grow() -> None:
        add(parts, "n.gz")
        run(names="*" if step == "updated_ledger" else "n")

    run_after(monkeypatch, plan, step, grow)
    run(names="b")
    assert {row["status"] for row in ledger_of(tmp_path / "lake").values()} == {"done"}
    assert {row["wave"] for row in ledger_of(tmp_path / "lake").values()} == {0, 1}
    run(lake="at_once")
    assert tables(tmp_path / "lake") == tables(tmp_path / "at_once")


def test_a_run_beside_one_that_reads_other_files_is_refused(run, parts, tmp_path, monkeypatch):
    add(parts, "n.gz")

    def other() -> None:
        with pytest.raises(JobFailed, match=r"b\.gz was planned by another run, which is running"):
            run(names="n")

    run_after(monkeypatch, staging.Staging, "write", other)
    run(names="b")
    run(names="n")
    run(lake="at_once")
    assert tables(tmp_path / "lake") == tables(tmp_path / "at_once")


def test_a_ledger_without_a_counted_wave_is_refused(run, parts, tmp_path):
    run()
    lake = str(tmp_path / "lake")
    old_ledger = arrow.read(lake, "amod_files")
    add(parts, "n.gz")
    run()
    arrow.replace(lake, "amod_files", old_ledger, {"corpus": "depcc"}, job="an older program")
    with pytest.raises(JobFailed, match=r"amod_counts has wave 2 of corpus 'depcc'.*restart=true"):
        run()
    run("restart=true")
    run(lake="at_once")
    assert tables(tmp_path / "lake") == tables(tmp_path / "at_once")


@pytest.mark.parametrize("step", ["write", "forget"])
def test_a_restart_takes_nothing_from_the_run_before_it(run, tmp_path, monkeypatch, step):
    run_after(monkeypatch, staging.Staging, step, lambda: run("restart=true"))
    with pytest.raises(JobFailed, match="another extraction has restarted corpus 'depcc'"):
        run()
    run(lake="once")
    assert contents(tmp_path / "lake") == contents(tmp_path / "once")


@pytest.mark.parametrize("table", ["amod_counts", "dropped", "amod_by_adjective"])
def test_an_interrupted_restart_must_be_repeated(run, tmp_path, monkeypatch, table):
    run()
    replace = arrow.replace

    def replace_and_stop(root: str, name: str, *args: Any, **kwargs: Any) -> Any:
        commit = replace(root, name, *args, **kwargs)
        if name == table:
            raise Killed
        return commit

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(arrow, "replace", replace_and_stop)
        run("restart=true")
    with pytest.raises(JobFailed, match=r"same command again .* with restart=true"):
        run()
    run("restart=true")
    run(lake="once")
    assert contents(tmp_path / "lake") == contents(tmp_path / "once")
    run()


def test_a_restart_may_change_settings_before_anything_was_counted(run, tmp_path, monkeypatch):
    with monkeypatch.context() as patch, pytest.raises(Killed):

        def raise_kill(*_: Any) -> Any:
            raise Killed

        patch.setattr(staging.Staging, "write", raise_kill)
        run()
    run("restart=true", "lowercase=false")
    run("lowercase=false")
    run("lowercase=false", lake="once")
    assert contents(tmp_path / "lake") == contents(tmp_path / "once")


def test_a_restart_with_other_settings_deletes_the_staged_rows_of_a_killed_run(
    run, tmp_path, monkeypatch
):
    def raise_kill(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(job, "grouped_by_file", raise_kill)
        run()
    (other,) = (tmp_path / "lake/_staging").iterdir()
    of_another_job = other.with_name(other.name.replace("depcc", "depcc.2Fwords.2Famod"))
    shutil.copytree(other, of_another_job)
    run("restart=true", "lowercase=false")
    staged = {path.parents[1] for path in (tmp_path / "lake/_staging").rglob("*.parquet")}
    assert staged == {of_another_job}


def test_a_table_that_is_no_longer_declared_stays_as_it_is(run, parts, tmp_path):
    run()
    folder = tmp_path / "lake" / "listed_counts"
    rows = pa.table({"corpus": ["depcc"], "adjective": ["old"], "noun": ["coin"], "amod": [0]})
    write_deltalake(str(folder), rows, partition_by=["corpus"])
    add(parts, "n.gz")
    run()
    run("restart=true")
    run(lake="once")
    assert tables(tmp_path / "lake") == tables(tmp_path / "once")
    table = DeltaTable(str(folder))
    assert (table.version(), table.to_pyarrow_table().to_pylist()) == (0, rows.to_pylist())


def test_a_restart_that_finds_no_pairs_empties_the_tables(run, parts, tmp_path):
    run()
    write_part(parts / "b.gz", [("quickly", "coin", "RB")])
    with pytest.raises(JobFailed, match="no adjective–noun pair"):
        run("restart=true")
    for table in ("amod_pairs", "amod_association", "amod_by_adjective", "amod_examples"):
        assert arrow.read(str(tmp_path / "lake"), table).num_rows == 0, table
