from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adnominal.etl.lake import actions, arrow, staging, upkeep
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.verify import undeclared_entries, verify
from adnominal.etl.looking.commands import main
from tests.etl.lake.test_upkeep import NOW, append, stored_rows

DECLARED = TABLES["amod_pairs"]


@pytest.fixture
def root(tmp_path):
    root = str(tmp_path / "lake")
    for number in range(3):
        append(root, (f"a{number}", "key", number), ("é" * 40, "x", 5))
    return root


def faults(root):
    return verify(root, DECLARED).faults


def test_a_sound_table_has_no_faults(root):
    report = verify(root, DECLARED)
    assert (report.files, report.commits, report.faults, report.notes) == (3, 3, (), ())
    upkeep.compact(root, DECLARED)
    report = verify(root, DECLARED)
    assert (report.files, report.commits, report.faults) == (1, 4, ())
    assert report.notes == ("3 files of earlier versions, or of none (vacuum removes them)",)
    upkeep.vacuum(root, DECLARED, NOW)
    assert verify(root, DECLARED).faults == ()


def test_missing_and_truncated_files_are_reported(root):
    missing, truncated, _ = stored_rows(root)
    missing.unlink()
    truncated.write_bytes(truncated.read_bytes()[:-1])
    messages = [" ".join(fault.split()[1:3]) for fault in faults(root)]
    assert sorted(messages) == [f"has {truncated.stat().st_size}", "is missing"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('numRecords\\": 2', 'numRecords\\": 7', "has 2 rows, the log says 7"),
        ('\\"count\\": 0}, \\"max', '\\"count\\": 1}, \\"max', "count has values below 1"),
        ('\\"count\\": 5', '\\"count\\": 4', "count has values above 4"),
        ('\\"adjective\\": \\"a0\\"', '\\"adjective\\": \\"b\\"', "adjective has values below 'b'"),
    ],
)
def test_wrong_statistics_are_reported(root, old, new, message):
    path = Path(root, "amod_pairs", actions.log_path(0))
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert any(message in fault for fault in faults(root)), faults(root)


def test_a_file_of_another_schema_is_reported(root):
    path = stored_rows(root)[0]
    size = path.stat().st_size
    pq.write_table(pa.table({"adjective": ["a"], "noun": ["b"], "count": ["c"]}), path)
    log = Path(root, "amod_pairs", "_delta_log")
    for commit in log.glob("*.json"):
        commit.write_text(
            commit.read_text().replace(f'"size":{size}', f'"size":{path.stat().st_size}')
        )
    assert any("is not as declared" in fault for fault in faults(root))


def test_a_missing_commit_is_reported(root):
    Path(root, "amod_pairs", actions.log_path(1)).unlink()
    assert "commit 1 is missing" in faults(root)


def test_running_writes_and_undeclared_tables_are_noted(root, capsys):
    staging.begin(filesystem(table_uri(root, "amod_pairs")))
    Path(root, "my_notes").mkdir()
    assert verify(root, DECLARED).notes == ("1 write running or killed, with 0 files",)
    assert undeclared_entries(root) == ["my_notes"]
    assert main(["verify", f"lake={root}"]) == 0
    assert "my_notes is no declared table" in capsys.readouterr().out


def test_the_command_fails_if_there_is_a_fault(root, capsys):
    stored_rows(root)[0].unlink()
    assert main(["verify", "amod_pairs", f"lake={root}"]) == 1
    out, err = capsys.readouterr()
    assert "is missing" in out
    assert err.startswith("error: 1 faults in amod_pairs")
    assert main(["verify", f"lake={root}-none"]) == 2
    assert arrow.tables(root) == ["amod_pairs"]
