"""Tables in which rows are doubled, because a file was removed in another spelling of its path."""

import json
import shutil
from pathlib import Path

import pytest

from adnominal.etl.lake import actions, arrow, doubled, log, upkeep, verify
from adnominal.etl.lake.errors import LakeError
from adnominal.etl.lake.storage import table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.commands import main
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import pairs

DECLARED = TABLES["amod_pairs"]
OLD = [("Zürich", "old", "bridge", 3), ("Zürich", "deep", "lake", 2)]
NEW = [("Zürich", "new", "bridge", 1)]
OTHER = [("uk", "red", "moon", 1)]


@pytest.fixture
def respelled_lake(root):
    """A lake whose log spells a path as the connector does, with a letter beyond ASCII."""
    arrow.append(root, "amod_pairs", pairs(*OLD), job="test")
    arrow.append(root, "amod_pairs", pairs(*OTHER), job="test")
    folder = Path(root, "amod_pairs")
    commit = folder / actions.log_path(0)
    stored = next(folder.glob("data/*/corpus=Z*/*.parquet"))
    (folder / "corpus=Zürich").mkdir()
    shutil.move(stored, folder / "corpus=Zürich" / "part-0.parquet")
    lines = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in lines:
        if "add" in action:
            action["add"]["path"] = "corpus=Zürich/part-0.parquet"
    commit.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return root


@pytest.fixture
def broken_lake(respelled_lake):
    """The lake after a replacement that removed the path as delta-rs spells it."""
    folder = Path(respelled_lake, "amod_pairs")
    arrow.replace(respelled_lake, "amod_pairs", pairs(*NEW), {"corpus": "Zürich"}, job="test")
    commit = folder / actions.log_path(2)
    text = commit.read_text()
    assert '"path": "corpus=Zürich/part-0.parquet"' in text
    commit.write_text(text.replace("corpus=Zürich/", "corpus=Z%C3%BCrich/"))
    return respelled_lake


def test_a_replacement_removes_paths_as_the_log_spells_them(respelled_lake):
    commit = arrow.replace(
        respelled_lake,
        "amod_pairs",
        pairs(*NEW),
        {"corpus": "Zürich"},
        job="test",
        transaction=("a", 1),
    )
    assert (commit.version, commit.rows) == (2, 1)
    assert_same_rows(arrow.read(respelled_lake, "amod_pairs"), pairs(*NEW, *OTHER))
    assert verify.verify(respelled_lake, DECLARED).faults == ()
    repeated = arrow.replace(
        respelled_lake,
        "amod_pairs",
        pairs(*NEW),
        {"corpus": "Zürich"},
        job="test",
        transaction=("a", 1),
    )
    assert repeated.skipped
    record = arrow.history(respelled_lake, "amod_pairs")[0]
    assert (record.job, record.mode, record.rows) == ("test", "replace", 1)
    assert record.partition == {"corpus": "Zürich"}


def test_a_compaction_removes_paths_as_the_log_spells_them(respelled_lake):
    arrow.append(respelled_lake, "amod_pairs", pairs(*NEW), job="test")
    assert upkeep.compact(respelled_lake, DECLARED) == upkeep.Compacted(2, 1)
    assert_same_rows(arrow.read(respelled_lake, "amod_pairs"), pairs(*OLD, *NEW, *OTHER))
    assert verify.verify(respelled_lake, DECLARED).faults == ()


def test_verify_finds_doubled_rows_and_repair_removes_them(broken_lake, capsys):
    faults = verify.verify(broken_lake, DECLARED).faults
    assert faults == (
        "corpus=Zürich/part-0.parquet is active, although version 2 removed it in another "
        "spelling: its 2 rows (corpus=Zürich) are doubled",
    )
    assert main(["verify", "amod_pairs", f"lake={broken_lake}"]) == 1
    assert "python -m etl.lake repair" in capsys.readouterr().err
    assert main(["repair", "amod_pairs", f"lake={broken_lake}", "dry_run=true"]) == 0
    assert arrow.version(broken_lake, "amod_pairs") == 2
    assert main(["repair", f"lake={broken_lake}"]) == 0
    assert capsys.readouterr().out.split()[-3:] == ["amod_pairs", "1", "2"]
    assert_same_rows(arrow.read(broken_lake, "amod_pairs"), pairs(*NEW, *OTHER))
    assert verify.verify(broken_lake, DECLARED).faults == ()
    assert doubled.repair(broken_lake, DECLARED) == []


@pytest.mark.parametrize(
    "use",
    [
        lambda root: arrow.read(root, "amod_pairs"),
        lambda root: arrow.files(root, "amod_pairs"),
        lambda root: arrow.records(root, "amod_pairs", "SELECT noun FROM amod_pairs"),
        lambda root: upkeep.compact(root, DECLARED),
    ],
)
def test_doubled_rows_are_neither_read_nor_compacted(broken_lake, use):
    with pytest.raises(LakeError, match=r"rows \(corpus=Zürich\) are doubled; mend the table with"):
        use(broken_lake)


def test_a_path_that_is_active_in_two_spellings_is_found(respelled_lake):
    folder = Path(respelled_lake, "amod_pairs")
    lines = (folder / actions.log_path(0)).read_text().splitlines()
    add = next(json.loads(line) for line in lines if '"add"' in line)
    add["add"]["path"] = "corpus=Z%C3%BCrich/part-0.parquet"
    assert actions.put_commit(table_uri(respelled_lake, "amod_pairs"), 2, [add])
    assert "is active in two spellings" in verify.verify(respelled_lake, DECLARED).faults[0]
    assert len(doubled.repair(respelled_lake, DECLARED)) == 1
    assert_same_rows(arrow.read(respelled_lake, "amod_pairs"), pairs(*OLD, *OTHER))


def test_tables_of_plain_paths_are_not_searched(root, monkeypatch):
    arrow.append(root, "amod_pairs", pairs(*OLD), job="test")
    monkeypatch.setattr(actions, "read", None)
    handle = log.existing_table(root, DECLARED)
    assert doubled.doubled_files(handle, log.active_files(handle)) == []


def test_checksums_of_deleted_files_are_deleted(root):
    arrow.append(root, "amod_pairs", pairs(*OLD), job="test")
    path = next(Path(root, "amod_pairs").glob("data/*/*/*.parquet"))
    for name in (path.name, "gone.parquet"):
        (path.parent / f".{name}.crc").write_bytes(b"crc")
    assert upkeep.vacuum(root, DECLARED, upkeep.age("0s")).files == 1
    assert (path.parent / f".{path.name}.crc").exists()
    arrow.replace(root, "amod_pairs", pairs(*NEW), {"corpus": "Zürich"}, job="test")
    assert upkeep.vacuum(root, DECLARED, upkeep.age("0s")).files == 2
    assert list(Path(root).rglob(".*.crc")) == []
