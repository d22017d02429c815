import json
import os
import threading
import time
from pathlib import Path

import pytest

from adnominal.training.models import folder_hashes
from adnominal.training.models.folder_hashes import files_hash


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache" / "contents.json"
    monkeypatch.setattr(folder_hashes, "CACHE", path)
    return path


@pytest.fixture
def reads(monkeypatch) -> list[str]:
    """The names of the files that are read, in order."""
    names: list[str] = []
    compute = folder_hashes._computed_hash

    def count_files(files, start):
        names.extend(file.name for file in files)
        return compute(files, start)

    monkeypatch.setattr(folder_hashes, "_computed_hash", count_files)
    return names


def age(path: Path) -> None:
    """Let a file be an hour old (its time of last status change is that of this call)."""
    earlier = time.time() - 3600
    os.utime(path, (earlier, earlier))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # The time of status change cannot be set back.
    monkeypatch.setattr(folder_hashes, "_SETTLED", -3600.0)
    path = tmp_path / "model"
    path.mkdir()
    (path / "a.safetensors").write_bytes(b"weights")
    (path / "config.json").write_bytes(b"{}")
    return path


def content(folder: Path, **options: object) -> str:
    return files_hash(folder, sorted(folder.iterdir()), **options)  # type: ignore[arg-type]


def test_unchanged_files_are_read_once(folder, reads):
    first = content(folder)
    assert reads == ["a.safetensors", "config.json"]
    assert content(folder) == first
    assert len(reads) == 2
    assert content(folder, verify=True) == first
    assert len(reads) == 4
    assert content(folder, start="another base") != first


@pytest.mark.parametrize("change", ["bytes", "size", "replaced", "renamed", "added"])
def test_a_changed_file_is_read_again(folder, reads, change):
    first, file = content(folder), folder / "a.safetensors"
    times = file.stat()
    if change == "bytes":
        file.write_bytes(b"WEIGHTS")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    elif change == "size":
        file.write_bytes(b"more weights")
    elif change == "replaced":
        (folder / "new").write_bytes(b"WEIGHTS")
        os.utime(folder / "new", ns=(times.st_atime_ns, times.st_mtime_ns))
        os.replace(folder / "new", file)
    elif change == "renamed":
        file.rename(folder / "b.safetensors")
    else:
        (folder / "vocab.txt").write_bytes(b"dog")
    reads.clear()
    assert content(folder) != first
    assert reads


def test_files_that_may_still_change_are_not_trusted(folder, reads, monkeypatch, cache):
    monkeypatch.setattr(folder_hashes, "_SETTLED", 60.0)
    for file in folder.iterdir():
        age(file)
    assert content(folder) == content(folder)
    assert len(reads) == 4
    assert not cache.exists()


def test_a_file_that_changes_without_a_trace_is_reported_when_verified(folder, cache, caplog):
    first = content(folder)
    entries = json.loads(cache.read_text())
    entries[str(folder)]["hash"] = "0" * 32
    cache.write_text(json.dumps(entries))
    assert content(folder) == "0" * 32
    assert content(folder, verify=True) == first
    assert "although their sizes and times have not" in caplog.text
    assert content(folder) == first


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_cache_is_written_again(folder, cache, text):
    first = content(folder)
    cache.write_text(text)
    assert content(folder) == first
    assert list(json.loads(cache.read_text())) == [str(folder)]


def test_a_cache_that_cannot_be_written_is_not_needed(folder, cache, monkeypatch):
    cache.parent.write_text("a file")
    assert content(folder) == content(folder)


def test_processes_at_the_same_time_leave_a_valid_cache(tmp_path, folder, cache):
    folders = [tmp_path / f"model{number}" for number in range(8)]
    for path in folders:
        path.mkdir()
        (path / "config.json").write_text(path.name)
    threads = [threading.Thread(target=content, args=(path,)) for path in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert json.loads(cache.read_text()).keys() <= {str(path) for path in folders}
    assert not list(cache.parent.glob("*.json.*"))
    # Entries of folders that are gone are dropped.
    (folders[0] / "config.json").unlink()
    folders[0].rmdir()
    content(folder)
    assert str(folders[0]) not in json.loads(cache.read_text())
