"""lm-evaluation-harness runs the exported tasks on a tiny model with random weights."""

import datasets
import pytest
import torch
import yaml
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from adnominal import conf
from adnominal.analysis.export.job import Settings, export
from adnominal.conf import UserError
from tests.analysis.export.conftest import EDITION, put


@pytest.fixture(scope="module")
def model() -> HFLM:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: at for at, letter in enumerate([*alphabet, "<end>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>", model_max_length=256
    )
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(vocabulary), n_positions=256, n_embd=8, n_layer=1, n_head=1)
    return HFLM(
        pretrained=GPT2LMHeadModel(config),
        tokenizer=fast,
        device="cpu",
        batch_size=4,
        max_length=256,
    )


def evaluate(folder, group, model, tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    tasks = TaskManager(include_path=str(folder), include_defaults=False)
    return simple_evaluate(
        model, tasks=[group], task_manager=tasks, bootstrap_iters=0, log_samples=True
    )


@pytest.fixture
def exported(small_lake, tmp_path):
    def make(dataset):
        out = tmp_path / "made" / dataset
        out.parent.mkdir(exist_ok=True)
        arguments = [f"dataset={dataset}", f"edition={EDITION}", "format=lm_eval", f"out={out}"]
        export(conf.load(Settings, [*arguments, f"lake={small_lake}"]))
        # The exported folder contains no absolute paths, so that it can be moved.
        moved = tmp_path / dataset
        out.rename(moved)
        return moved

    return make


def test_adept_is_run_as_multiple_choice(exported, model, tmp_path, monkeypatch):
    results = evaluate(exported("adept"), f"adept_{EDITION}", model, tmp_path, monkeypatch)
    task = f"adept_{EDITION}_random"
    assert results["n-samples"][task]["effective"] == 1
    assert results["results"][task]["acc,none"] in (0.0, 1.0)
    (sample,) = results["samples"][task]
    assert sample["arguments"][4][1] == " necessarily true"
    assert "Modified: A toy gun kills." in sample["arguments"][0][0]
    assert str(sample["target"]) == "0"


def test_plane_has_a_task_for_each_prompt_and_verbaliser(exported, model, tmp_path, monkeypatch):
    results = evaluate(exported("plane"), f"plane_{EDITION}", model, tmp_path, monkeypatch)
    names = [name for name in results["samples"] if name.startswith(f"plane_{EDITION}_strict_1_")]
    assert len(names) == 6
    internal = results["samples"][f"plane_{EDITION}_strict_1_internal_good_poor"]
    first = next(s for s in internal if s["doc"]["item_id"] == "x3")
    prompt = first["arguments"][1]
    assert prompt[0] + prompt[1] == "An unfair gun is a good example of an unfair weapon."
    external = results["samples"][f"plane_{EDITION}_strict_1_external_true_false"]
    prompt = external[0]["arguments"][0]
    assert prompt[0] + prompt[1] == "An unfair gun is a type of gun: false."
    assert external[0]["doc"]["label"] == 1


def test_asp_has_a_task_for_each_test(exported, model, tmp_path, monkeypatch):
    folder = exported("asp")
    results = evaluate(folder, f"asp_{EDITION}", model, tmp_path, monkeypatch)
    assert {
        n: s["effective"] for n, s in results["n-samples"].items() if n != f"asp_{EDITION}"
    } == {
        f"asp_{EDITION}_entailment_booster": 1,
        f"asp_{EDITION}_entailment_negation": 1,
        f"asp_{EDITION}_degree_argument": 1,
    }
    (sample,) = results["samples"][f"asp_{EDITION}_entailment_booster"]
    assert sample["arguments"][1][1] == " Yes" and str(sample["target"]) == "1"
    document = (folder / f"asp_{EDITION}_entailment_booster.yaml").read_text()
    assert document.endswith("custom_dataset: !function utils.load\n")
    plain = yaml.safe_load(document.replace("!function ", ""))
    assert plain["metadata"]["licence"] == "apache-2.0"


def test_an_edition_without_test_rows_is_refused(tmp_path):
    lake = str(tmp_path / "lake")
    put(lake, "adept", [{"item_id": "a", "label": 1, "split_random": "train"}])
    arguments = ["dataset=adept", f"edition={EDITION}", "format=lm_eval", f"out={tmp_path}/out"]
    with pytest.raises(UserError, match="edition=mine: no rows to test on"):
        export(conf.load(Settings, [*arguments, f"lake={lake}"]))
    assert not (tmp_path / "out").exists()
