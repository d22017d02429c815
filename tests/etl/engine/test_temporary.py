"""Temporary folders of killed processes are deleted, those of running ones are not."""

import subprocess
import sys

import pytest

from adnominal.conf import ROOT
from adnominal.etl.engine.temporary import TemporaryFolder

PREFIX = "adnominal-test-"
HOLDER = f"""
from adnominal.etl.engine.temporary import TemporaryFolder
folder = TemporaryFolder({PREFIX!r})
(folder.path / "rows").write_text("spilled")
print(folder.path, flush=True)
input()
"""


@pytest.fixture
def holder(monkeypatch, tmp_path):
    """A process with a folder, and the folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    path = tmp_path / process.stdout.readline().strip()
    assert (path / "rows").read_text() == "spilled"
    yield process, path
    process.kill()
    process.communicate()


def test_the_next_process_deletes_the_folder_of_a_killed_one(holder, tmp_path):
    process, path = holder
    process.kill()
    process.wait()
    assert path.exists()
    other = tmp_path / "adnominal-other-1"
    other.mkdir()
    (other / "lock").touch()
    TemporaryFolder(PREFIX).close()
    assert [entry.name for entry in tmp_path.iterdir()] == [other.name]


def test_the_folder_of_a_running_process_stays(holder):
    _, path = holder
    folder = TemporaryFolder(PREFIX)
    assert folder.path != path
    assert (path / "rows").exists()
    folder.close()
    assert (path / "rows").exists()
    assert not folder.path.exists()


def test_a_link_to_a_folder_elsewhere_is_not_followed(monkeypatch, tmp_path):
    elsewhere, temporary = tmp_path / "elsewhere", tmp_path / "tmp"
    for folder in (elsewhere, temporary):
        folder.mkdir()
    (elsewhere / "lock").touch()
    (temporary / f"{PREFIX}1").symlink_to(elsewhere)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    TemporaryFolder(PREFIX).close()
    assert (elsewhere / "lock").exists()
