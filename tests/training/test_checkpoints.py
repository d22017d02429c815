import json
import math
import shutil
from pathlib import Path

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.training.checkpoints import Checkpoints, Pointer, State, better
from adnominal.training.files import check_space, replace_json


@pytest.mark.parametrize(
    ("value", "best", "smallest", "expected"),
    [
        (0.5, None, False, True),
        (0.5, 0.5, False, False),
        (0.6, 0.5, False, True),
        (0.6, 0.5, True, False),
        (0.4, 0.5, True, True),
        (math.nan, None, False, False),
        (math.nan, 0.1, True, False),
        (math.inf, 0.1, False, False),
    ],
)
def test_better_values_are_finite_and_improve_on_the_best(value, best, smallest, expected):
    assert better(value, best, smallest=smallest) is expected


def test_a_full_disk_is_reported_in_advance(tmp_path):
    check_space(tmp_path / "not" / "there" / "yet", 1)
    with pytest.raises(UserError, match=r"need 1000000000000.0 GB; make"):
        check_space(tmp_path / "not", 10**21)


def test_a_checkpoint_counts_only_with_its_pointer(tmp_path):
    folder = tmp_path / "checkpoints"
    checkpoints = Checkpoints(folder)
    (folder / "step-3").mkdir(parents=True)
    (folder / "step-3" / "a.pt").write_bytes(b"012")
    assert checkpoints.latest() is None
    state = State(3, 0.5, 3, evaluations=[{"step": 3, "val/loss": 1.0}])
    checkpoints.complete("step-3", state)
    assert checkpoints.latest() == Pointer("step-3", 1, state)


@pytest.mark.parametrize(
    "files", [{"weights": {}}, {"files": {}}, {"files": {"a.pt": 3}, "weights": {}}]
)
def test_a_pointer_without_checksums_is_refused(tmp_path, files):
    (tmp_path / "step-3").mkdir()
    (tmp_path / "step-3" / "a.pt").write_bytes(b"012")
    values = {"tag": "step-3", "world": 2, "state": {"step": 3}, **files}
    replace_json(tmp_path / "latest.json", values)
    with pytest.raises(
        JobFailed, match=r"cannot be read \(.*\); delete .* to start over with the same command"
    ):
        Checkpoints(tmp_path).latest()


def inflict(damage: str, tag: Path) -> None:
    weights = tag / "model.safetensors"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-1])
    elif damage == "a bit":
        weights.write_bytes(b"0123456788")
    elif damage == "a file gone":
        weights.unlink()
    elif damage == "a folder gone":
        shutil.rmtree(tag)
    else:
        (tag.parent / "latest.json").write_text(damage)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("cut", "model.safetensors has 9 of 10 bytes"),
        ("a bit", "model.safetensors is not what was written"),
        ("a file gone", "model.safetensors has 0 of 10 bytes"),
        ("a folder gone", "no folder .*step-3"),
        ("", "JSONDecodeError"),
        ("{}", "KeyError"),
        ("[]", "TypeError"),
    ],
)
def test_a_damaged_checkpoint_is_reported_with_a_remedy(tmp_path, damage, reason):
    checkpoints = Checkpoints(tmp_path / "run" / "checkpoints")
    tag = checkpoints.folder / "step-3"
    tag.mkdir(parents=True)
    (tag / "model.safetensors").write_bytes(b"0123456789")
    checkpoints.complete("step-3", State(3))
    pointer = checkpoints.latest()
    assert pointer is not None and pointer.state == State(3)
    inflict(damage, tag)
    with pytest.raises(JobFailed, match=f"{reason}.*delete .*checkpoints to start over") as error:
        checkpoints.latest()
    assert str(error.value).startswith(f"{tmp_path / 'run'}: its checkpoint cannot be read (")
    shutil.rmtree(checkpoints.folder)
    assert checkpoints.latest() is None


@pytest.mark.parametrize("best_step", [2, None])
def test_damaged_best_weights_are_reported_with_the_checkpoint(tmp_path, best_step):
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    tag, best = checkpoints.folder / "step-3", tmp_path / f"best-{best_step or 3}"
    for folder in (tag, best):
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"0123456789")
    (best / "README.md").write_text("of PEFT")
    checkpoints.complete("step-3", State(3, best_step=best_step))
    assert checkpoints.latest() is not None
    # The end of the run moves the weights and adds a model card.
    best.rename(tmp_path / "model")
    (tmp_path / "model" / "README.md").write_text("the model card")
    assert checkpoints.latest() is not None
    (tmp_path / "model").rename(best)
    (best / "model.safetensors").write_bytes(b"012")
    with pytest.raises(JobFailed, match=f"{best.name}/model.safetensors has 3 of 10 bytes.*delete"):
        checkpoints.latest()
    shutil.rmtree(best)
    with pytest.raises(JobFailed, match=rf"no folder .*{best.name}\).*delete .*checkpoints "):
        checkpoints.latest()


def test_a_file_is_replaced_without_temporary_files(tmp_path):
    path = tmp_path / "a" / "x.json"
    replace_json(path, {"a": 1})
    replace_json(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 2}
    assert [p.name for p in path.parent.iterdir()] == ["x.json"]
