"""Compaction and vacuum keep rows and their order, disturb no writers, and survive kills."""

import json
import os
import random
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from adnominal.conf import UserError
from adnominal.etl.lake import actions, arrow, log, staging, upkeep, verify
from adnominal.etl.lake.errors import LakeError, LakeFailed
from adnominal.etl.lake.log import Change
from adnominal.etl.lake.staging import Staged
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.writing import publish
from adnominal.etl.looking.commands import main
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.interleaving import run_interleaved
from tests.etl.lake.literals import rows

DECLARED = TABLES["amod_pairs"]
NOW, WEEK = timedelta(0), timedelta(days=7)


def pairs(*records, corpus="uk"):
    return rows("amod_pairs", [(corpus, *record) for record in records])


def append(root, *records, corpus="uk", **more):
    return arrow.append(root, "amod_pairs", pairs(*records, corpus=corpus), job="test", **more)


@pytest.fixture
def small_table(root):
    """The rows of a table of eight commits with one file each, in two partitions."""
    for number in range(8):
        corpus = "uk" if number % 3 else "d e%/ü"
        append(
            root,
            (f"a{7 - number}", "key", number),
            ("zz", f"n{number}", 1),
            corpus=corpus,
            transaction=("app", number),
        )
    return arrow.read(root, "amod_pairs")


def stored_rows(root, table="amod_pairs"):
    return sorted(
        path for path in Path(root, table).rglob("*.parquet") if "_delta" not in str(path)
    )


def test_compaction_keeps_rows_partitions_order_and_transactions(root, small_table):
    compacted = upkeep.compact(root, DECLARED)
    assert (compacted.merged, compacted.merged_into) == (8, 2)
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    files = arrow.files(root, "amod_pairs")
    assert sorted(dict(file.partition)["corpus"] for file in files) == ["d e%/ü", "uk"]
    for file in files:
        table = pq.ParquetFile(Path(root, "amod_pairs", file.path)).read()
        keys = list(zip(table["noun"].to_pylist(), table["adjective"].to_pylist(), strict=True))
        assert keys == sorted(keys)
        assert "corpus" not in table.column_names
    assert append(root, ("x", "y", 1), transaction=("app", 7)).skipped
    assert not append(root, ("x", "y", 1), transaction=("app", 8)).skipped
    record = arrow.history(root, "amod_pairs")[1]
    assert (record.operation, record.mode) == ("OPTIMIZE", "compact")
    assert record.job == "etl.lake compact"
    # The log has statistics of the merged files for filters.
    assert arrow.read(root, "amod_pairs", where=[("noun", "=", "n5")]).num_rows == 1


def test_a_compact_table_is_not_compacted_again(root, small_table):
    upkeep.compact(root, DECLARED)
    version = arrow.version(root, "amod_pairs")
    assert upkeep.compact(root, DECLARED) == upkeep.Compacted(0, 0)
    assert arrow.version(root, "amod_pairs") == version


def test_a_dry_run_changes_nothing(root, small_table):
    old_files = sorted(Path(root).rglob("*"))
    assert upkeep.compact(root, DECLARED, dry_run=True) == upkeep.Compacted(8, 2)
    assert upkeep.vacuum(root, DECLARED, NOW, dry_run=True).files == 0
    assert sorted(Path(root).rglob("*")) == old_files


def test_large_files_are_not_merged_and_merged_files_are_bounded(root, small_table, monkeypatch):
    monkeypatch.setattr(upkeep, "MERGED_ROWS", 4)
    assert upkeep.compact(root, DECLARED) == upkeep.Compacted(6, 3)
    monkeypatch.setattr(upkeep, "SMALL", 10)
    assert upkeep.compact(root, DECLARED) == upkeep.Compacted(0, 0)


def test_rows_of_a_table_without_an_order_keep_theirs(root):
    declared = TABLES["dropped"]
    for number in (3, 1, 2):
        row = {"job": "j", "table": "t", "reason": f"r{number}", "count": number, "sample": None}
        arrow.append(root, "dropped", pa.Table.from_pylist([row], declared.schema), job="t")
    upkeep.compact(root, declared)
    assert arrow.read(root, "dropped")["count"].to_pylist() == [3, 1, 2]


def test_an_append_planned_before_a_compaction_commits(root, small_table):
    base = arrow.version(root, "amod_pairs")
    upkeep.compact(root, DECLARED)
    append(root, ("new", "row", 1), base=base)
    assert arrow.read(root, "amod_pairs").num_rows == small_table.num_rows + 1


def test_a_replacement_planned_before_a_compaction_commits(root, small_table):
    base = arrow.version(root, "amod_pairs")
    upkeep.compact(root, DECLARED)
    arrow.replace(
        root, "amod_pairs", pairs(("new", "row", 1)), {"corpus": "uk"}, job="t", base=base
    )
    uk_rows = arrow.read(root, "amod_pairs", where=[("corpus", "=", "uk")])
    assert uk_rows["adjective"].to_pylist() == ["new"]


def before_commit(monkeypatch, act):
    """Call `act` once, after the merging of files and before their commit."""
    real = actions.put_commit
    pending = [act]

    def put(*arguments):
        if pending:
            pending.pop()()
        return real(*arguments)

    monkeypatch.setattr(actions, "put_commit", put)


def test_a_compaction_commits_after_a_concurrent_append(root, small_table, monkeypatch):
    before_commit(monkeypatch, lambda: append(root, ("new", "row", 1)))
    assert upkeep.compact(root, DECLARED).merged == 8
    assert arrow.read(root, "amod_pairs").num_rows == small_table.num_rows + 1
    assert len(arrow.files(root, "amod_pairs")) == 3


def test_a_compaction_whose_commit_is_answered_too_late_keeps_its_files(
    root, small_table, monkeypatch
):
    real = actions.put_commit
    monkeypatch.setattr(actions, "put_commit", lambda *arguments: real(*arguments) is None)
    assert upkeep.compact(root, DECLARED).merged == 8
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)


def test_a_compaction_skips_a_partition_that_is_replaced_meanwhile(root, small_table, monkeypatch):
    new_rows = pairs(("new", "row", 1))
    before_commit(
        monkeypatch,
        lambda: arrow.replace(root, "amod_pairs", new_rows, {"corpus": "uk"}, job="other"),
    )
    assert upkeep.compact(root, DECLARED) == upkeep.Compacted(3, 1)
    uk_rows = arrow.read(root, "amod_pairs", where=[("corpus", "=", "uk")])
    assert uk_rows["adjective"].to_pylist() == ["new"]


@pytest.mark.parametrize("text", ["re\u2028d", "re\x85d"])
def test_commits_with_unicode_ends_of_lines_are_read(root, text):
    base = append(root, ("red", "key", 1)).version
    append(root, (text, "key", 1), corpus=text, metadata={"note": text})
    assert append(root, ("blue", "key", 1), base=base).version == base + 2
    upkeep.vacuum(root, DECLARED, WEEK)
    assert verify.verify(root, DECLARED).faults == ()


def test_vacuum_deletes_files_that_no_version_names(root, small_table):
    upkeep.compact(root, DECLARED)
    assert len(stored_rows(root)) == 10
    assert upkeep.vacuum(root, DECLARED, WEEK).files == 0
    assert arrow.read(root, "amod_pairs", version=7).num_rows == small_table.num_rows
    vacuumed = upkeep.vacuum(root, DECLARED, NOW)
    assert (vacuumed.files, len(stored_rows(root))) == (8, 2)
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    assert len(arrow.history(root, "amod_pairs")) == 1
    append(root, ("x", "y", 1))
    assert append(root, ("x", "y", 1), transaction=("app", 7)).skipped


def test_versions_within_the_retention_stay_readable(root, small_table):
    for path in stored_rows(root):
        os.utime(path, (1, 1))  # written long ago
    time.sleep(1.1)
    upkeep.compact(root, DECLARED)
    assert upkeep.vacuum(root, DECLARED, timedelta(seconds=1)).files == 0
    # Version 7 was the newest one a second ago.
    assert arrow.read(root, "amod_pairs", version=7).num_rows == small_table.num_rows
    assert [record.version for record in arrow.history(root, "amod_pairs")] == [8, 7]


@pytest.mark.parametrize("checkpointed", [False, True])
def test_a_dry_run_of_vacuum_reports_what_would_be_deleted(root, small_table, checkpointed):
    for path in stored_rows(root):
        os.utime(path, (1, 1))  # written long ago
    time.sleep(1.1)
    upkeep.compact(root, DECLARED)
    if checkpointed:
        log.existing_table(root, DECLARED, version=3).create_checkpoint()
        log.existing_table(root, DECLARED, version=7).create_checkpoint()
    expected = upkeep.vacuum(root, DECLARED, timedelta(seconds=1), dry_run=True)
    assert expected.logs == (8 if checkpointed else 7)
    assert upkeep.vacuum(root, DECLARED, timedelta(seconds=1)) == expected
    checkpoint = json.loads(Path(root, "amod_pairs", "_delta_log", "_last_checkpoint").read_text())
    assert checkpoint["version"] == 8
    assert [record.version for record in arrow.history(root, "amod_pairs")] == [8, 7]
    for version in (7, 8):
        assert_same_rows(arrow.read(root, "amod_pairs", version=version), small_table)
    assert append(root, ("x", "y", 1), transaction=("app", 7)).skipped
    expected = upkeep.vacuum(root, DECLARED, NOW, dry_run=True)
    assert expected.logs == 2  # the commit of version 7 and its checkpoint
    assert upkeep.vacuum(root, DECLARED, NOW) == expected
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)


def test_a_longer_retention_after_a_shorter_one_deletes_nothing(root, small_table):
    append(root, ("new", "row", 1))
    upkeep.vacuum(root, DECLARED, NOW)
    arrow.replace(root, "amod_pairs", pairs(("other", "row", 1)), {"corpus": "uk"}, job="test")
    for path in stored_rows(root):
        os.utime(path, (1, 1))
    old_files = sorted(Path(root).rglob("*"))
    assert upkeep.vacuum(root, DECLARED, WEEK) == upkeep.Vacuumed(0, 0, 0)
    assert sorted(Path(root).rglob("*")) == old_files
    assert arrow.read(root, "amod_pairs", version=8).num_rows == small_table.num_rows + 1


def test_vacuum_keeps_the_staged_files_of_a_running_write(root, small_table):
    uri, deleted_counts = table_uri(root, "amod_pairs"), []

    def stage(files, write):
        folder = f"data/{write}/corpus=uk"
        files.create_dir(folder, recursive=True)
        with files.open_output_stream(f"{folder}/p.parquet") as stream:
            pq.write_table(pairs(("new", "row", 1)).drop_columns(["corpus"]), stream)
        os.utime(Path(root, "amod_pairs", folder, "p.parquet"), (1, 1))
        deleted_counts.append(upkeep.vacuum(root, DECLARED, NOW).files)
        return Staged(write, 1)

    publish(uri, DECLARED, stage, Change("append", "test"))
    assert deleted_counts == [0]
    assert arrow.read(root, "amod_pairs").num_rows == small_table.num_rows + 1


def test_vacuum_deletes_the_files_of_a_write_killed_long_ago(root, small_table):
    files = filesystem(table_uri(root, "amod_pairs"))
    write = staging.begin(files)
    files.create_dir(f"data/{write}")
    file = Path(root, "amod_pairs", "data", write, "p.parquet")
    file.write_bytes(b"x")
    upkeep.vacuum(root, DECLARED, NOW)
    assert file.exists()
    marker = Path(root, "amod_pairs", "_staging", write)
    for path in (file, marker):
        os.utime(path, (1, 1))
    upkeep.vacuum(root, DECLARED, NOW)
    assert not file.exists()
    assert not marker.exists()


def test_the_error_for_a_removed_version_names_vacuum(root, small_table):
    newest = arrow.version(root, "amod_pairs")
    upkeep.vacuum(root, DECLARED, NOW)
    message = rf"no version 0 any more \(vacuum has removed it\); expected {newest} to {newest}$"
    with pytest.raises(LakeError, match=message):
        arrow.read(root, "amod_pairs", version=0)
    with pytest.raises(LakeError, match=rf"no version 99; expected {newest} to {newest}$"):
        arrow.read(root, "amod_pairs", version=99)


def test_the_error_for_a_version_without_its_files_names_vacuum(root, small_table):
    old = arrow.version(root, "amod_pairs")
    paths = [file.path for file in arrow.files(root, "amod_pairs") if "=uk/" in file.path]
    arrow.replace(root, "amod_pairs", pairs(("new", "row", 1)), {"corpus": "uk"}, job="test")
    for path in paths:
        Path(root, "amod_pairs", path).unlink()
    message = f"^amod_pairs version {old} can no longer be read: vacuum has removed"
    with pytest.raises(LakeError, match=message):
        arrow.read(root, "amod_pairs", version=old)
    with pytest.raises(LakeError, match=message):
        list(arrow.batches(root, "amod_pairs", version=old))
    with pytest.raises(LakeError, match=message):
        list(arrow.query(root, "amod_pairs", "SELECT * FROM amod_pairs", version=old))


def test_vacuum_reads_unusual_commits_and_refuses_missing_tables(root, small_table):
    path = Path(root, "amod_pairs", actions.log_path(5))
    text = path.read_text()
    path.write_text(text.replace("{", "{ "))  # still valid JSON
    assert upkeep.vacuum(root, DECLARED, WEEK).files == 0
    with pytest.raises(LakeError, match="no table amod_pairs"):
        upkeep.vacuum(root + "-other", DECLARED, WEEK)


class Killed(BaseException):
    """Raised in place of a kill of the process."""


STEPS = {
    "begin": (staging, "begin"),
    "merge": (upkeep, "_merge"),
    "collect": (staging, "collect"),
    "put": (actions, "put_commit"),
    "finish": (staging, "finish"),
}


@pytest.mark.parametrize("after_step", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_compaction_can_be_repeated(root, small_table, monkeypatch, step, after_step):
    module, name = STEPS[step]
    real = getattr(module, name)

    def raise_kill(*arguments):
        if after_step:
            real(*arguments)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(module, name, raise_kill)
        with pytest.raises(Killed):
            upkeep.compact(root, DECLARED)
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    upkeep.compact(root, DECLARED)
    monkeypatch.setattr(staging, "LEFTOVER_AGE", NOW)
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    assert len(arrow.files(root, "amod_pairs")) == 2
    append(root, ("new", "row", 1))


@pytest.mark.parametrize("at", range(8))
def test_a_killed_vacuum_can_be_repeated(root, small_table, monkeypatch, at):
    upkeep.compact(root, DECLARED)
    real, remaining = filesystem, [at]

    def raise_kill(uri):
        files = real(uri)

        class KilledAtDeletion:
            def __getattr__(self, name):
                return getattr(files, name)

            def delete_file(self, path):
                files.delete_file(path)
                remaining[0] -= 1
                if remaining[0] < 0:
                    raise Killed

        return KilledAtDeletion()

    with monkeypatch.context() as patch:
        patch.setattr(upkeep, "filesystem", raise_kill)
        patch.setattr(
            upkeep,
            "listing",
            lambda f, folder: staging.listing(real(table_uri(root, "amod_pairs")), folder),
        )
        with pytest.raises(Killed):
            upkeep.vacuum(root, DECLARED, NOW)
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    upkeep.vacuum(root, DECLARED, NOW)
    assert len(stored_rows(root)) == 2
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)


@pytest.mark.parametrize("after", [1, 2])
def test_a_vacuum_killed_at_its_checkpoints_can_be_repeated(root, small_table, monkeypatch, after):
    for path in stored_rows(root):
        os.utime(path, (1, 1))
    time.sleep(1.1)
    upkeep.compact(root, DECLARED)
    real, versions = DeltaTable.create_checkpoint, []

    def raise_kill(handle):
        real(handle)
        versions.append(handle.version())
        if len(versions) == after:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(DeltaTable, "create_checkpoint", raise_kill)
        with pytest.raises(Killed):
            upkeep.vacuum(root, DECLARED, timedelta(seconds=1))
    assert versions == [7, 8][:after]
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)
    assert len(arrow.history(root, "amod_pairs")) == 9
    assert upkeep.vacuum(root, DECLARED, NOW).logs == 9
    assert_same_rows(arrow.read(root, "amod_pairs"), small_table)


@pytest.mark.parametrize("seed", range(12))
def test_writers_compaction_and_vacuum_may_be_interleaved(root, seed):
    """Other writes, compactions and vacuums run in the middle of each write."""
    run_interleaved(root, random.Random(seed), turns=6)


def test_an_age_is_a_number_with_a_unit():
    assert upkeep.age("7d") == WEEK
    assert upkeep.age("90s") == timedelta(seconds=90)
    for wrong in ("7", "d", "-1d", "7 days", ""):
        with pytest.raises(UserError, match="expected a number and s, m, h, d or w"):
            upkeep.age(wrong)


def test_the_commands_report_counts(root, small_table, capsys):
    def call(*words):
        code = main([*words, f"lake={root}"])
        out, err = capsys.readouterr()
        return code, [line.split() for line in out.splitlines()], err

    assert call("compact", "dry_run=true")[1][-1] == ["amod_pairs", "8", "2"]
    assert call("compact", "amod_pairs")[1][-1] == ["amod_pairs", "8", "2"]
    assert call("vacuum", "older_than=0s")[1][-1][:2] == ["amod_pairs", "8"]
    assert call("vacuum", "amod_pairs", "older_than=soon")[0] == 2
    assert call("compact", "no_such")[0] == 2
    code, lines, _ = call("verify")
    assert code == 0
    assert lines == [["table", "files", "commits", "faults"], ["amod_pairs", "2", "1", "0"]]


def test_files_with_unusual_names_are_read_and_compacted(root, small_table):
    """Other Delta writers use characters that the log encodes."""
    version = arrow.version(root, "amod_pairs") or 0
    file = arrow.files(root, "amod_pairs")[0]
    moved = "corpus=a%20b/part 1.parquet"
    target = Path(root, "amod_pairs", moved)
    target.parent.mkdir()
    target.write_bytes(Path(root, "amod_pairs", file.path).read_bytes())
    uri = table_uri(root, "amod_pairs")
    add = next(a["add"] for a in actions.read(filesystem(uri), 0) or [] if "add" in a)
    commit = [{"add": {**add, "path": actions.encoded_path(moved)}}]
    assert actions.put_commit(uri, version + 1, commit)
    assert not actions.put_commit(uri, version + 1, commit)
    active_files = log.active_files(arrow._open(root, "amod_pairs", None))
    assert moved in {active.path for active in active_files}
    upkeep.compact(root, DECLARED)
    assert arrow.read(root, "amod_pairs").num_rows == small_table.num_rows + 2


def test_an_unreadable_file_stops_a_compaction(root, small_table):
    path = stored_rows(root)[0]
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(LakeFailed, match="cannot be read"):
        upkeep.compact(root, DECLARED)
    assert list(Path(root, "amod_pairs", "_staging").iterdir()) == []
