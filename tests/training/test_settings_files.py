"""The files of conf/training spell out what their recorded results rest on."""

import dataclasses

import pytest
import yaml

from adnominal import conf
from adnominal.conf import ROOT
from adnominal.training.settings import Settings

FOLDER = ROOT / "conf" / "training"
NAMES = (
    *("learning_rate", "num_train_epochs", "batch_size", "weight_decay", "warmup_steps"),
    *("lr_scheduler_type", "max_grad_norm", "metric_for_best_model", "patience"),
)
VALUES = {
    "addone": (2e-05, 5.0, 32, 0.01, 0.06, "linear", 1.0, "macro_f1", 0),
    "addone_three": (2e-05, 5.0, 32, 0.01, 0.06, "linear", 1.0, "macro_f1", 0),
    "adept": (3e-05, 5.0, 16, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_deberta_v3_large": (1e-05, 5.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_frozen": (3e-05, 5.0, 16, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_grid": (3e-05, 3.0, None, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_llama_3_1_8b": (0.0001, 3.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_modernbert_large": (3e-05, 5.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_mpnet": (5e-05, 3.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_qwen3_8b": (0.0001, 3.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "adept_smollm2": (0.0005, 1.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "asp": (2e-05, 3.0, 8, 0.01, 0.083, "linear", 1.0, "accuracy", 0),
    "asp_bert_base": (2e-05, 12.0, 2, 0.01, 0.069, "linear", 1.0, "accuracy", 0),
    "asp_bert_large": (5e-06, 6.0, 2, 0.01, 0.017, "linear", 1.0, "accuracy", 0),
    "asp_deberta_large": (5e-06, 3.0, 8, 0.01, 0.083, "linear", 1.0, "accuracy", 0),
    "asp_demo": (0.0001, 3.0, 16, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "asp_published": (2e-05, 3.0, 8, 0.01, 0.083, "linear", 1.0, "accuracy", 0),
    "mnli": (2e-05, 3.0, 16, 0.01, 0.027, "linear", 1.0, "accuracy", 0),
    "mnli_bert_base": (2e-05, 2.0, 8, 0.01, 0.02, "linear", 1.0, "accuracy", 0),
    "mnli_bert_large": (2e-05, 2.0, 8, 0.01, 0.02, "linear", 1.0, "accuracy", 0),
    "mnli_deberta_large": (2e-05, 3.0, 16, 0.01, 0.027, "linear", 1.0, "accuracy", 0),
    "plane": (3e-05, 1.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "plane_lengths": (3e-05, 1.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "plane_one_it": (3e-05, 1.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "plane_smollm2": (0.0005, 1.0, 32, 0.01, 0.06, "linear", 1.0, "accuracy", 0),
    "snli": (2e-05, 3.0, 16, 0.01, 0.019, "linear", 1.0, "accuracy", 0),
    "sygns": (0.0005, 25.0, 128, 0.0, 0.0, "constant", 1.0, "loss", 3),
    "sygns_curve": (0.0005, 25.0, 128, 0.0, 0.0, "constant", 1.0, "loss", 3),
    "sygns_released": (0.0005, 10.0, 128, 0.0, 0.0, "constant", 1.0, "loss", 0),
    "sygns_sizes": (0.0005, 25.0, 128, 0.0, 0.0, "constant", 1.0, "loss", 3),
}
"""The values of `NAMES` for each file, as the recorded results had them."""


@pytest.mark.parametrize("name", VALUES)
def test_a_file_has_the_values_of_its_recorded_results(name):
    settings = conf.load(Settings, [str(FOLDER / f"{name}.yaml")])
    assert tuple(getattr(settings, key) for key in NAMES) == VALUES[name]


def test_every_file_of_training_has_recorded_values():
    ours = {field.name for field in dataclasses.fields(Settings)}
    files = {path.stem: yaml.safe_load(path.read_text()) for path in FOLDER.glob("*.yaml")}
    others = ("prompt", "score", "zero_shot", "transfer", "chat", "logprob")
    trained = {name for name in files if not name.endswith(others)}
    assert trained == set(VALUES)
    assert all(set(files[name]) <= ours for name in trained)


def test_adept_frozen_differs_from_adept_only_by_its_frozen_encoder():
    frozen = conf.load(Settings, [str(FOLDER / "adept_frozen.yaml")])
    trained = conf.load(Settings, [str(FOLDER / "adept.yaml"), "freeze=true"])
    assert frozen.freeze and frozen == trained


@pytest.mark.parametrize("name", VALUES)
def test_a_file_spells_out_what_its_result_rests_on(name):
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    spelled_out = {*values, *values.get("grid", {})}
    needed = {"learning_rate", "num_train_epochs", "batch_size", "weight_decay", "warmup_steps"}
    assert needed | {"lr_scheduler_type", "metric_for_best_model"} <= spelled_out


def test_each_file_is_named_in_a_guide():
    guides = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in guides)
    missing = [path.name for path in FOLDER.glob("*.yaml") if path.name not in text]
    assert not missing
