import shutil
from pathlib import Path

import pytest
import yaml

from adnominal import conf
from adnominal.conf import UserError
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from tests.training.conftest import UNRECORDED


def test_a_dry_run_prints_what_each_process_holds_and_writes_nothing(
    adept_lake, llama, capsys, tmp_path
):
    out = tmp_path / "out"
    words = ["task.name=adept", f"lake={adept_lake}", f"model={llama}", f"out={out}", *UNRECORDED]
    finetune(conf.load(Settings, [*words, "dry_run=8", "grid.lora.r=[0,4]"]))
    printed_lines = capsys.readouterr().out.splitlines()
    assert len(printed_lines) == 2
    assert "lora.r=0 seed=0: 0.0 M weights, 0.0 M of them trained; each of 8" in printed_lines[0]
    assert not out.exists()


def test_estimates_follow_stage_precision_and_adapters(adept_lake, llama):
    from adnominal.training.estimates import estimate
    from adnominal.training.planning import prepare

    def cost(*more):
        common = ["task.name=adept", f"lake={adept_lake}", f"model={llama}"]
        (work,) = prepare(conf.load(Settings, [*common, *more]))
        return estimate(work.settings, work.learner, 4)

    full_cost = cost()
    size = full_cost.parameters
    assert full_cost.weights == full_cost.gradients == 4 * size
    assert full_cost.optimizer == 8 * size
    assert full_cost.disk == 2 * (4 + 8) * size + 3 * 4 * size
    third = cost("deepspeed=zero3", "bf16=true")
    assert (third.weights, third.gradients) == (2 * size // 4, 2 * size // 4)
    assert third.optimizer == 12 * size // 4
    adapters = cost("lora.r=4")
    assert adapters.parameters == size
    assert 0 < adapters.trained < size / 2
    assert adapters.disk == (2 * (4 + 8) + 3 * 4) * adapters.trained


def test_a_dry_run_needs_no_weights(adept_lake, llama, tmp_path, capsys):
    arguments = ["task.name=adept", f"lake={adept_lake}", *UNRECORDED]
    finetune(conf.load(Settings, [*arguments, f"model={llama}", "dry_run=8"]))
    expected = capsys.readouterr().out
    copy = Path(shutil.copytree(llama, tmp_path / "llama"))
    (copy / "model.safetensors").unlink()
    finetune(conf.load(Settings, [*arguments, f"model={copy}", "dry_run=8"]))
    assert capsys.readouterr().out == expected
    with pytest.raises(UserError, match="no weights there"):
        finetune(conf.load(Settings, [*arguments, f"model={copy}"]))


def test_the_flag_dry_run_prints_estimates(adept_lake, llama, capsys, monkeypatch):
    from adnominal.training import launch

    # Stopping would end the process group that other tests of this process use.
    monkeypatch.setattr(launch, "stop", lambda: None)
    arguments = ["task.name=adept", f"lake={adept_lake}", f"model={llama}", "--dry-run"]
    assert launch.run(Settings, finetune, arguments) == 0
    assert "each of 1 processes holds" in capsys.readouterr().out


# Parts of the model names in settings files, and the families used here in their place.
FAMILIES = {
    "bert-base-cased": "bert",
    "bert-large-cased": "bert",
    "roberta": "roberta",
    "deberta": "deberta-v2",
    "ModernBERT": "modernbert",
    "mpnet": "mpnet",
    "Llama": "llama",
    "smollm2": "llama",
    "Qwen": "qwen",
}
FILES = {
    file.stem: values
    for file in sorted((conf.ROOT / "conf" / "training").glob("*.yaml"))
    if "model" in (values := yaml.safe_load(file.read_text())) and "name" in values.get("task", {})
}


@pytest.mark.parametrize("file", FILES)
def test_settings_files_of_models_pass_a_dry_run(adept_lake, family_models, tmp_path, capsys, file):
    values = dict(FILES[file])
    (family,) = {family for name, family in FAMILIES.items() if name in values["model"]}
    # The model's settings are tried on the rows of one task.
    values |= {"model": family_models[family], "task": {"name": "adept"}}
    values |= {"grid": {}, "max_length": None}
    path = tmp_path / "settings.yaml"
    path.write_text(yaml.safe_dump(values))
    finetune(conf.load(Settings, [str(path), f"lake={adept_lake}", "dry_run=8"]))
    printed_lines = capsys.readouterr().out.splitlines()
    seeds, sizes = values.get("seeds", [0]), values.get("train_size") or [0]
    assert len(printed_lines) == len(seeds) * len(sizes)
    assert all("each of 8 processes holds" in line for line in printed_lines)
