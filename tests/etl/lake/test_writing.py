"""Faults between staging and commit, races and stale writers, in the code of both writers."""

import errno
import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import PyFileSystem

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow, log, staging, writing
from adnominal.etl.lake.errors import LakeConflict, LakeError, LakeFailed
from adnominal.etl.lake.log import Change
from adnominal.etl.lake.staging import Staged
from adnominal.etl.lake.storage import Store, filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import pairs

DECLARED = TABLES["amod_pairs"]
OLD = [("uk", "false", "key", 3), ("de", "new", "key", 2)]
NEW = [("uk", "red", "moon", 1)]


@pytest.fixture
def full_lake(root):
    """A lake whose table amod_pairs has the rows OLD."""
    arrow.append(root, "amod_pairs", pairs(*OLD), job="test")
    return root


def stage(records, spoil=lambda folder: None):
    """A stage function that writes each record to a file and then calls `spoil` on the folder."""

    def write_files(files, write):
        folder = Path(files.base_path, "data", write)
        for place, record in enumerate(records):
            part = folder / f"corpus={record[0]}"
            part.mkdir(parents=True, exist_ok=True)
            pq.write_table(pairs(record).drop_columns(["corpus"]), part / f"{place}.parquet")
        spoil(folder)
        return Staged(write, len(records))

    return write_files


def publish(root, stage, mode="append", partition=None, transaction=None, base=None):
    change = Change(mode, "test", partition or {}, transaction=transaction, base=base)
    return writing.publish(table_uri(root, "amod_pairs"), DECLARED, stage, change)


def leftovers(root):
    folder = Path(root, "amod_pairs", "data")
    return len(list(folder.iterdir())), len(list(Path(root, "amod_pairs", "_staging").iterdir()))


def test_a_failure_after_staging_changes_nothing_and_a_retry_works(full_lake):
    def spoil(folder):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        publish(full_lake, stage(NEW, spoil), "replace", {"corpus": "uk"})
    assert_same_rows(arrow.read(full_lake, "amod_pairs"), pairs(*OLD))
    assert leftovers(full_lake) == (1, 0)
    publish(full_lake, stage(NEW), "replace", {"corpus": "uk"})
    assert_same_rows(arrow.read(full_lake, "amod_pairs"), pairs(*NEW, OLD[1]))


def test_files_of_a_write_killed_before_its_commit_are_deleted_a_day_later(full_lake):
    """Until then, no reader sees them."""
    code = (
        "import os, signal\n"
        "from tests.etl.lake.test_writing import NEW, publish, stage\n"
        "kill = lambda folder: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"publish({full_lake!r}, stage(NEW, kill))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == -9
    assert leftovers(full_lake) == (2, 1)
    assert_same_rows(arrow.read(full_lake, "amod_pairs"), pairs(*OLD))
    publish(full_lake, stage(NEW))
    assert leftovers(full_lake) == (3, 1), "a write that may still run was deleted"
    age_everything(full_lake)
    publish(full_lake, stage(NEW))
    assert leftovers(full_lake) == (3, 0)
    assert arrow.read(full_lake, "amod_pairs").num_rows == 4


def age_everything(root, hours=25):
    moment = time.time() - hours * 3600
    for path in Path(root, "amod_pairs").rglob("*"):
        os.utime(path, (moment, moment))


def test_a_write_killed_after_its_commit_keeps_its_files(full_lake):
    write = arrow.history(full_lake, "amod_pairs")[0].write
    assert write is not None
    Path(full_lake, "amod_pairs", "_staging", write).touch()
    publish(full_lake, stage(NEW), "replace", {"corpus": "uk"})
    age_everything(full_lake)
    assert writing.clean(table_uri(full_lake, "amod_pairs"), DECLARED) == []
    assert leftovers(full_lake)[1] == 0
    assert_same_rows(arrow.read(full_lake, "amod_pairs", version=0), pairs(*OLD))


def test_a_folder_to_which_a_killed_task_adds_a_file_is_deleted(tmp_path):
    files = filesystem(str(tmp_path))
    files.create_dir("attempt")

    class Files:
        get_file_info, faults = files.get_file_info, [OSError(errno.ENOTEMPTY, "not empty")]

        def delete_dir(self, path):
            if self.faults:
                raise self.faults.pop()
            files.delete_dir(path)

    staging.remove(Files(), "attempt")
    assert not (tmp_path / "attempt").exists()
    Files.faults.append(OSError(errno.EACCES, "denied"))
    files.create_dir("attempt")
    with pytest.raises(OSError, match="denied"):
        staging.remove(Files(), "attempt")


def test_a_slow_write_is_not_deleted_while_it_adds_files(full_lake):
    files = filesystem(table_uri(full_lake, "amod_pairs"))
    write = staging.begin(files)
    stage(NEW)(files, write)
    marker = Path(full_lake, "amod_pairs", "_staging", write)
    os.utime(marker, (0, 0))
    assert writing.clean(table_uri(full_lake, "amod_pairs"), DECLARED) == []
    age_everything(full_lake)
    assert writing.clean(table_uri(full_lake, "amod_pairs"), DECLARED) == [write]
    assert leftovers(full_lake) == (1, 0)


def test_files_are_staged_in_a_store_of_delta_rs(full_lake):
    """The file system for s3, gs, abfss and hdfs, here on a local folder."""
    uri = table_uri(full_lake, "amod_pairs")
    store = PyFileSystem(Store(uri))
    write = staging.begin(store)
    path = f"data/{write}/corpus=u.20k/0.parquet"
    with store.open_output_stream(path) as stream:
        pq.write_table(pairs(*NEW).drop_columns(["corpus"]), stream)
    (add,) = staging.collect(store, DECLARED, Staged(write, 1))
    assert (add.path, add.partition_values) == (path, {"corpus": "u k"})
    assert add.size == Path(full_lake, "amod_pairs", path).stat().st_size
    assert staging.clean(store, set, timedelta(0)) == [write]
    assert not Path(full_lake, "amod_pairs", path).exists()


def test_the_age_of_files_to_delete_can_be_set(full_lake):
    files = filesystem(table_uri(full_lake, "amod_pairs"))
    stage(NEW)(files, staging.begin(files))
    time.sleep(0.05)
    assert len(writing.clean(table_uri(full_lake, "amod_pairs"), DECLARED, timedelta(0))) == 1


def test_a_missing_file_is_refused(full_lake):
    def spoil(folder):
        next(folder.rglob("*.parquet")).unlink()

    with pytest.raises(LakeFailed, match=r"0 rows in the 0 files .* 1 were written"):
        publish(full_lake, stage(NEW, spoil))
    assert arrow.version(full_lake, "amod_pairs") == 0
    assert leftovers(full_lake) == (1, 0)


def test_a_file_of_another_write_is_refused(full_lake):
    def spoil(folder):
        extra = pairs(OLD[0]).drop_columns(["corpus"])
        pq.write_table(extra, folder / "corpus=uk" / "stray.parquet")

    with pytest.raises(LakeFailed, match=r"2 rows in the 2 files .* 1 were written"):
        publish(full_lake, stage(NEW, spoil))


@pytest.mark.parametrize("damage", [b"", b"PAR1", b"PAR1 not a footer PAR1", None])
def test_a_corrupted_file_is_refused(full_lake, damage):
    def spoil(folder):
        path = next(folder.rglob("*.parquet"))
        path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)

    with pytest.raises(LakeFailed, match=r"data/.*\.parquet is missing or not readable"):
        publish(full_lake, stage(NEW, spoil))
    assert_same_rows(arrow.read(full_lake, "amod_pairs"), pairs(*OLD))


def test_a_file_of_another_schema_is_refused(full_lake):
    def spoil(folder):
        path = next(folder.rglob("*.parquet"))
        wrong = pa.table({"adjective": ["red"], "count": pa.array([1], pa.int32()), "x": [1.5]})
        pq.write_table(wrong, path)

    with pytest.raises(LakeError) as error:
        publish(full_lake, stage(NEW, spoil))
    for part in (
        "missing: noun (string)",
        "not declared: x (double)",
        "count is int32, declared int64",
    ):
        assert part in str(error.value)


def test_a_file_outside_any_partition_is_refused(full_lake):
    def spoil(folder):
        path = next(folder.rglob("*.parquet"))
        path.rename(folder / path.name)

    with pytest.raises(LakeError, match=r"is in partitions \(\), declared \(corpus\)"):
        publish(full_lake, stage(NEW, spoil))


def test_files_without_rows_are_not_committed(full_lake):
    def spoil(folder):
        empty = pairs().drop_columns(["corpus"])
        pq.write_table(empty, folder / "corpus=uk" / "none.parquet")

    assert publish(full_lake, stage(NEW, spoil)).files == 1


def test_an_append_to_a_partition_replaced_meanwhile_conflicts(full_lake):
    """Otherwise the rows of a stale append would survive the replacement."""
    overtaken = stage(NEW, lambda folder: replace(full_lake, "uk"))
    message = "changed by another writer while this append .*version 1 by"
    with pytest.raises(LakeConflict, match=message):
        publish(full_lake, overtaken)
    assert arrow.version(full_lake, "amod_pairs") == 1
    assert len(list(Path(full_lake, "amod_pairs", "_staging").iterdir())) == 0


def replace(root, corpus):
    publish(root, stage([(corpus, "other", "row", 5)]), "replace", {"corpus": corpus})


def test_an_append_to_an_empty_partition_replaced_meanwhile_conflicts(full_lake):
    with pytest.raises(LakeConflict):
        publish(full_lake, stage([("fr", "a", "b", 1)], lambda folder: replace(full_lake, "fr")))


def test_an_append_planned_before_a_replacement_conflicts(full_lake):
    """`base` is the version that the caller has read."""
    replace(full_lake, "uk")
    with pytest.raises(LakeConflict, match="version 1 by test"):
        publish(full_lake, stage(NEW), base=0)
    assert publish(full_lake, stage(NEW), base=1).version == 2


def test_an_append_during_a_replacement_of_another_partition_commits(full_lake):
    publish(full_lake, stage(NEW, lambda folder: replace(full_lake, "de")))
    assert arrow.version(full_lake, "amod_pairs") == 2
    assert arrow.read(full_lake, "amod_pairs").num_rows == 3


def test_two_appends_to_one_partition_both_commit(full_lake):
    publish(full_lake, stage(NEW, lambda folder: publish(full_lake, stage(NEW))))
    assert arrow.read(full_lake, "amod_pairs").num_rows == 4


def test_two_replacements_of_one_partition_conflict(full_lake):
    with pytest.raises(LakeConflict, match="corpus=uk was changed by another writer"):
        publish(
            full_lake,
            stage(NEW, lambda folder: replace(full_lake, "uk")),
            "replace",
            {"corpus": "uk"},
        )
    uk_rows = arrow.read(full_lake, "amod_pairs", where=[("corpus", "=", "uk")])
    assert uk_rows.column("adjective").to_pylist() == ["other"]


def test_a_replacement_during_an_append_conflicts(full_lake):
    overtaken = stage(NEW, lambda folder: publish(full_lake, stage(NEW)))
    with pytest.raises(LakeConflict):
        publish(full_lake, overtaken, "replace", {"corpus": "uk"})


def test_replacements_of_different_partitions_both_commit(full_lake):
    publish(
        full_lake, stage(NEW, lambda folder: replace(full_lake, "de")), "replace", {"corpus": "uk"}
    )
    assert_same_rows(arrow.read(full_lake, "amod_pairs"), pairs(*NEW, ("de", "other", "row", 5)))


def test_two_writers_that_create_a_table_both_commit(root):
    """The second one continues from the table of the first."""
    overtaken = stage(NEW, lambda folder: publish(root, stage(OLD)))
    assert publish(root, overtaken).version == 1
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(*OLD, *NEW))


def test_two_replacements_that_create_a_table_conflict(root):
    with pytest.raises(LakeConflict):
        publish(root, stage(NEW, lambda folder: replace(root, "uk")), "replace", {"corpus": "uk"})


def test_a_transaction_committed_by_another_process_meanwhile_is_skipped(full_lake):
    transaction = ("wiki", 3)
    overtaken = stage(NEW, lambda folder: publish(full_lake, stage(NEW), transaction=transaction))
    commit = publish(full_lake, overtaken, transaction=transaction)
    assert commit.skipped
    assert arrow.read(full_lake, "amod_pairs").num_rows == 3
    assert leftovers(full_lake) == (2, 0)


def test_a_commit_that_only_seems_to_have_failed_is_not_repeated(full_lake, monkeypatch):
    """The commit is in the log, but the connection broke before the answer."""
    from deltalake import DeltaTable
    from deltalake.exceptions import CommitFailedError

    real = DeltaTable.create_write_transaction

    def commit_and_fail(self, *arguments, **settings):
        real(self, *arguments, **settings)
        raise CommitFailedError("connection reset")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", commit_and_fail)
    commit = publish(full_lake, stage(NEW))
    assert (commit.version, commit.skipped) == (1, False)
    assert arrow.read(full_lake, "amod_pairs").num_rows == 3
    assert leftovers(full_lake) == (2, 0)


def test_a_replacement_is_one_commit_of_removes_and_adds(full_lake):
    publish(full_lake, stage(NEW), "replace", {"corpus": "uk"})
    text = Path(full_lake, "amod_pairs", "_delta_log", f"{1:020}.json").read_text()
    actions = [json.loads(line) for line in text.splitlines()]
    assert [a["add"]["partitionValues"] for a in actions if "add" in a] == [{"corpus": "uk"}]
    assert [a["remove"]["partitionValues"] for a in actions if "remove" in a] == [{"corpus": "uk"}]


def test_tables_have_no_deletion_vectors(full_lake):
    handle = log.open_table(table_uri(full_lake, "amod_pairs"), DECLARED)
    assert handle is not None
    configuration = handle.metadata().configuration
    assert configuration["delta.enableDeletionVectors"] == "false"
    assert configuration["delta.randomizeFilePrefixes"] == "true", "the connector's paths"
    assert handle.protocol().reader_features is None
    assert handle.metadata().description == DECLARED.meaning


def test_a_table_with_a_checkpoint_is_read_whole(root):
    """delta-rs writes a checkpoint after a hundred commits."""
    for turn in range(103):
        row = pairs(("uk", "a", f"n{turn}", 1))
        arrow.append(root, "amod_pairs", row, job="t", transaction=("x", turn))
    assert list(Path(root, "amod_pairs", "_delta_log").glob("*.checkpoint.parquet"))
    assert arrow.read(root, "amod_pairs").num_rows == 103
    assert arrow.append(root, "amod_pairs", pairs(*NEW), job="t", transaction=("x", 50)).skipped
    assert len(arrow.history(root, "amod_pairs")) == 103
    assert {file.rows for file in arrow.files(root, "amod_pairs")} == {1}


@pytest.mark.parametrize("below", ["", "/lake"])
def test_a_lake_that_is_not_a_folder_is_refused(tmp_path, below):
    (tmp_path / "notes.txt").write_text("not a lake")
    root = f"{tmp_path}/notes.txt{below}"
    with pytest.raises(LakeError, match=f"^lake={root}: .* cannot be created: Not a directory"):
        arrow.append(root, "amod_pairs", pairs(*NEW), job="test")


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write everywhere")
def test_a_lake_without_write_permission_is_refused(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(LakeError, match="cannot be created: Permission denied"):
        arrow.append(f"{tmp_path}/closed/lake", "amod_pairs", pairs(*NEW), job="test")


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write everywhere")
def test_a_table_without_write_permission_is_refused(root):
    arrow.append(root, "amod_pairs", pairs(*NEW), job="test")
    Path(root, "amod_pairs", "_staging").chmod(0o500)
    with pytest.raises(LakeError, match=r"/_staging/.* cannot be created: Permission denied"):
        arrow.append(root, "amod_pairs", pairs(*NEW), job="test")
