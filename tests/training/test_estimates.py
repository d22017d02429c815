from __future__ import annotations

import pytest

import conf
from tests.training import families
from training.job import finetune
from training.settings import Settings


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return families.make("llama", tmp_path_factory.mktemp("estimates") / "llama", "")


def lines(lake, model, capsys, *more):
    common = ["task.name=adept", f"lake={lake}", f"model={model}", "tracking=none", "cache=none"]
    finetune(conf.load(Settings, [*common, *more]))
    return capsys.readouterr().out.splitlines()


def test_a_dry_run_says_what_each_process_holds_and_does_nothing(
    adept_lake, llama, capsys, tmp_path
):
    out = tmp_path / "out"
    found = lines(adept_lake, llama, capsys, "dry_run=8", "grid.lora.rank=[0,4]", f"out={out}")
    assert len(found) == 2
    assert "lora.rank=0 seed=0: 0.0 M weights, 0.0 M of them trained; each of 8" in found[0]
    assert not out.exists()


def test_stages_share_what_they_share(adept_lake, llama):
    from training.estimates import estimate
    from training.job import prepare

    def cost(*more):
        common = ["task.name=adept", f"lake={adept_lake}", f"model={llama}", "cache=none"]
        (work,) = prepare(conf.load(Settings, [*common, *more]))
        return estimate(work.point.settings, work.learner, 4)

    whole = cost()
    size = whole.parameters
    assert (whole.weights, whole.gradients, whole.optimizer) == (4 * size, 4 * size, 8 * size)
    assert whole.disk == 2 * (4 + 8) * size + 3 * 4 * size
    third = cost("deepspeed=zero3", "precision=bf16")
    assert (third.weights, third.gradients) == (2 * size // 4, 2 * size // 4)
    assert third.optimizer == 12 * size // 4
    adapters = cost("lora.rank=4")
    assert adapters.parameters == size
    assert 0 < adapters.trained < size / 2
    assert adapters.disk == (2 * (4 + 8) + 3 * 4) * adapters.trained


def test_the_command_line_has_a_flag(adept_lake, llama, capsys, monkeypatch):
    from training import launch

    # Other tests of this process are in the group that it would leave.
    monkeypatch.setattr(launch, "stop", lambda: None)
    arguments = ["task.name=adept", f"lake={adept_lake}", f"model={llama}", "--dry-run"]
    assert launch.run(Settings, finetune, arguments) == 0
    assert "each of 1 processes holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "family"),
    [
        ("adept", "bert"),
        ("adept_modernbert_large", "modernbert"),
        ("adept_deberta_v3_large", "deberta-v2"),
        ("adept_llama_3_1_8b", "llama"),
        ("adept_qwen3_8b", "qwen"),
    ],
)
def test_settings_files_of_models_are_dry_run(
    adept_lake, tiny_encoder, tmp_path, capsys, file, family
):
    if family == "deberta-v2":
        pytest.importorskip("sentencepiece", reason="pip install sentencepiece")
    model = families.make(family, tmp_path / family, tiny_encoder)
    path = conf.ROOT / "conf" / "training" / f"{file}.yaml"
    small = [f"model={model}", f"lake={adept_lake}", "dry_run=8", "max_length=none"]
    finetune(conf.load(Settings, [str(path), *small]))
    found = capsys.readouterr().out.splitlines()
    assert len(found) == 3
    assert all("each of 8 processes holds" in line for line in found)
