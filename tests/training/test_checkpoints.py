import json
import shutil
from pathlib import Path

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.training import checkpoints
from adnominal.training.files import check_space, complete_folder, replace_json


def test_a_full_disk_is_reported_in_advance(tmp_path):
    check_space(tmp_path / "not" / "there" / "yet", 1)
    with pytest.raises(UserError, match=r"need 1000000000000.0 GB; make"):
        check_space(tmp_path / "not", 10**21)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The checkpoints of updates 2 and 10, both complete."""
    for update in (2, 10):
        checkpoint = tmp_path / "run" / "checkpoints" / f"checkpoint-{update}"
        (checkpoint / "inner").mkdir(parents=True)
        (checkpoint / "model.safetensors").write_bytes(b"0123456789")
        (checkpoint / "inner" / "optimizer.pt").write_bytes(b"012")
        checkpoints.mark_complete(checkpoint)
    return tmp_path / "run" / "checkpoints"


def test_the_newest_complete_checkpoint_counts(folder):
    assert checkpoints.newest_checkpoint(folder) == folder / "checkpoint-10"
    # Killed while writing: without its mark, it is deleted and an earlier one counts.
    (folder / "checkpoint-10" / "complete.json").unlink()
    assert checkpoints.newest_checkpoint(folder) == folder / "checkpoint-2"
    assert not (folder / "checkpoint-10").exists()
    shutil.rmtree(folder)
    assert checkpoints.newest_checkpoint(folder) is None


def test_a_checkpoint_may_be_saved_twice(folder):
    # As where every 84th update is saved and an epoch has 84.
    checkpoint = folder / "checkpoint-10"
    checkpoints.mark_incomplete(checkpoint)
    checkpoints.mark_complete(checkpoint)
    assert checkpoints.newest_checkpoint(folder) == checkpoint
    checkpoints.mark_incomplete(checkpoint)
    assert checkpoints.newest_checkpoint(folder) == folder / "checkpoint-2"


def test_a_checkpoints_folder_is_there_before_any_process_saves_into_it(tmp_path):
    # The Trainer looks for the folder of the best checkpoint in every process.
    checkpoint = tmp_path / "run" / "checkpoint-10"
    checkpoints.mark_incomplete(checkpoint)
    assert checkpoint.is_dir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.with_name("model.safetensors").write_bytes(b"0"), "has 1 of 10 bytes"),
        (lambda path: path.with_name("model.safetensors").unlink(), "has 0 of 10 bytes"),
        (lambda path: shutil.rmtree(path.with_name("inner")), "optimizer.pt has 0 of 3 bytes"),
        (lambda path: path.write_text(""), "JSONDecodeError"),
        (lambda path: path.write_text("{}"), "KeyError"),
        (lambda path: path.write_text("[]"), "TypeError"),
    ],
)
def test_a_damaged_checkpoint_is_reported_with_a_remedy(folder, damage, reason):
    damage(folder / "checkpoint-10" / "complete.json")
    with pytest.raises(JobFailed, match=f"{reason}.*delete .*checkpoints to start over") as error:
        checkpoints.newest_checkpoint(folder)
    assert str(error.value).startswith(f"{folder.parent}: its checkpoint cannot be read (")


def test_a_checkpoint_of_as_many_processes_stays_as_it_is(folder):
    assert not checkpoints.make_universal_for(folder / "checkpoint-2")


def test_a_file_is_replaced_without_temporary_files(tmp_path):
    path = tmp_path / "a" / "x.json"
    replace_json(path, {"a": 1})
    replace_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]


@pytest.mark.parametrize("address", ["s3://bucket/runs", "file:///runs"])
def test_an_address_is_no_folder(address):
    message = f"out={address.replace('///', '//')}: an address; expected a path on this machine"
    with pytest.raises(UserError, match=message):
        check_space(Path(address), 0)


def test_what_a_link_points_to_is_written(tmp_path):
    for name in ("file", "folder"):
        (tmp_path / f"{name}_link").symlink_to(tmp_path / name)
    replace_json(tmp_path / "file_link", {"a": 1})
    with complete_folder(tmp_path / "folder_link") as folder:
        (folder / "x").touch()
    assert json.loads((tmp_path / "file").read_text()) == {"a": 1}
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["x"]
    assert len(list(tmp_path.iterdir())) == 4
