"""Decoders finetuned to write their answers: prompts, losses, scores and saved models."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.etl.adept import LABELS
from adnominal.training.evaluation import loss_sum
from adnominal.training.job import finetune
from adnominal.training.models.instructions import (
    InstructionLearner,
    completed_texts,
    continuation_scores,
)
from adnominal.training.models.loading import Trained, resolve
from adnominal.training.planning import prepare
from adnominal.training.settings import Settings
from adnominal.training.tasks import task
from tests.training.conftest import (
    UNRECORDED,
    losses,
    result_of,
    run_folder,
    scores,
    served_answers,
)
from tests.training.tasks import lake as tables


def settings(lake: str, model: str, *more: str) -> Settings:
    common = [f"lake={lake}", f"model={model}", "instructions=true", *UNRECORDED]
    return conf.load(Settings, [*common, "max_length=none", *more])


@pytest.fixture(scope="module")
def learner(adept_lake, llama):
    run_settings = settings(adept_lake, llama, "task.name=adept")
    encoded_learner = InstructionLearner(task(run_settings.task).load(adept_lake), run_settings)
    encoded_learner.prepare()
    return encoded_learner


def test_an_example_is_the_prompt_of_the_task_and_a_label(learner):
    rows = np.array([0, 100])
    batch = learner.collate("train", rows)
    examples = learner.dataset.parts["train"].take(rows)
    for at, row in enumerate(batch["input_ids"]):
        text = learner.tokenizer.decode(row[batch["attention_mask"][at] == 1])
        first, second = examples.first[at].as_py(), examples.second[at].as_py()
        label = LABELS[examples.labels[at]]
        assert text.startswith(f"<s>{first}\n{second}\n")
        assert text.endswith(f"Answer: {label}</s>")
    assert "prompt_input_ids" not in batch


def test_the_loss_counts_only_the_completion(learner):
    model = learner.model(0).eval()
    batch = learner.collate("train", np.array([0, 7, 100]))
    with torch.no_grad():
        completion_loss = loss_sum(learner.logits(model, batch), batch["labels"])
        expected = 0.0
        for at in range(3):
            ids = batch["input_ids"][at][batch["attention_mask"][at] == 1][None]
            labels = ids.clone()
            count = int((batch["labels"][at] != -100).sum())
            labels[:, :-count] = -100
            expected += float(model(input_ids=ids, labels=labels).loss) * count
    assert float(completion_loss) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("family", ["llama", "qwen", "gpt2"])
def test_packed_examples_do_not_attend_to_each_other(adept_lake, family_models, family):
    dataset = task({"name": "adept"}).load(adept_lake)
    rows, packed_losses, sizes = np.array([0, 7, 100, 33]), [], []
    for packed in ("false", "true"):
        more = ("task.name=adept", f"packed={packed}")
        packed_settings = settings(adept_lake, family_models[family], *more)
        learner = InstructionLearner(dataset, packed_settings)
        learner.prepare()
        batch, module = learner.collate("train", rows), learner.model(0).eval()
        loss = loss_sum(learner.logits(module, batch), batch["labels"])
        loss.backward()
        gradients = torch.cat([p.grad.flatten() for p in module.parameters()])
        packed_losses.append((loss.item(), gradients))
        sizes.append(learner.tokens(batch))
    assert packed_losses[1][0] == pytest.approx(packed_losses[0][0], rel=1e-6)
    torch.testing.assert_close(packed_losses[1][1], packed_losses[0][1], atol=1e-4, rtol=1e-4)
    assert sizes[1] == (sizes[0][0], sizes[0][0])
    assert sizes[0][1] > sizes[0][0]


def test_a_choice_scores_the_log_probability_of_its_label(learner):
    model = learner.model(0).eval()
    rows = np.arange(4)
    batch = learner.collate("val", rows)
    with torch.no_grad():
        choice_logs = learner.scores(model, batch, learner.logits(model, batch))
        log_probabilities = learner.logits(model, batch).log_softmax(-1)
    assert choice_logs.shape == (4, 5)
    gold = learner.dataset.parts["val"].labels[rows]
    for at, label in enumerate(gold):
        labels = batch["labels"][at]
        is_answer = labels != -100
        expected = log_probabilities[at][is_answer].gather(1, labels[is_answer][:, None]).sum()
        assert float(choice_logs[at, label]) == pytest.approx(float(expected), abs=1e-4)


@pytest.mark.parametrize(
    "more",
    [
        ["lora.r=8", "packed=true", "per_device_train_batch_size=8"],
        ["deepspeed=zero3", "bf16=true"],
    ],
)
def test_a_finetuned_model_learns_and_can_be_loaded(adept_lake, llama, tmp_path, more):
    common = [
        "num_train_epochs=4",
        "learning_rate=1e-2",
        "batch_size=16",
        "eval_strategy=steps",
        "eval_steps=100",
        "logging_steps=1",
    ]
    out = f"out={tmp_path}"
    finetune(settings(adept_lake, llama, "task.name=adept", out, *common, *more))
    update_losses = losses(tmp_path)
    assert update_losses[-1] < update_losses[0] / 3
    folder, figures = run_folder(tmp_path), result_of(tmp_path)["figures"]
    assert figures["val/accuracy"] >= figures["val/majority"]
    rows = pq.read_table(folder / "predictions.parquet").to_pylist()
    assert len(rows) == 48
    names = {file.name for file in (folder / "model").iterdir()}
    assert ("adapter_model.safetensors" in names) == ("lora.r=8" in more)
    # The saved model gives the scores of the run.
    test = task({"name": "adept"}).load(adept_lake).parts["test"]
    loaded_scores = scores(resolve(str(folder)), test.first, test.second)
    by_id = {row["item_id"]: row["scores"] for row in rows}
    expected = [by_id[item] for item in test.item_ids.to_pylist()]
    np.testing.assert_allclose(loaded_scores, expected, atol=1e-4 if "lora.r=8" in more else 0.05)


def test_a_decoder_writes_the_same_meanings_in_training_and_served(llama, tmp_path):
    lake = str(tmp_path / "lake")
    tables.sygns(lake)
    out = tmp_path / "out"
    run_settings = settings(
        lake,
        llama,
        "task.name=sygns",
        f"out={out}",
        "num_train_epochs=1",
        "metric_for_best_model=loss",
    )
    finetune(run_settings)
    (path,) = out.glob("*/predictions.parquet")
    rows = pq.read_table(path).to_pylist()
    assert rows
    assert all(isinstance(row["text"], str) for row in rows)
    # The served model writes the same texts.
    folder = run_folder(out) / "model"
    test = task(run_settings.task).load(lake).parts["test"].take(np.arange(6))
    record = Trained.read(folder)
    assert record is not None
    assert record.instruction is not None
    prompts = [record.instruction.format(first=text) for text in test.first.to_pylist()]
    by_id = {row["item_id"]: row["text"] for row in rows}
    expected = [by_id[item] for item in test.item_ids.to_pylist()]
    assert served_answers(folder, prompts)["text"].to_list() == expected


def test_a_long_meaning_leaves_room_for_the_prompt(family_models, tmp_path):
    lake = str(tmp_path / "lake")
    tables.sygns(lake)

    def prepared(*more: str) -> InstructionLearner:
        common = ("task.name=sygns", "metric_for_best_model=loss")
        run_settings = settings(lake, family_models["gpt2"], *common, *more)
        learner = InstructionLearner(task(run_settings.task).load(lake), run_settings)
        learner.prepare()
        return learner

    longest_answer = prepared().longest_answer
    with pytest.raises(UserError, match=f"longest answer has {longest_answer} tokens; expected"):
        prepared(f"max_length={longest_answer + 7}")
    tight = prepared(f"max_length={longest_answer + 8}")
    assert tight.truncated()["test"] == len(tight.dataset.parts["test"])
    assert max(tight.lengths(part).max() for part in ("train", "test")) <= longest_answer + 8
    # However long an answer may be, it ends with the model's last position.
    tight.longest_answer = 10_000
    assert len(tight.texts(tight.model(0), tight.collate("test", np.arange(2)))) == 2


def test_encoders_are_refused_and_long_prompts_are_cut(adept_lake, llama, tiny_encoder, tmp_path):
    with pytest.raises(UserError, match="instructions=true: BertModel; expected a decoder"):
        prepare(settings(adept_lake, tiny_encoder, "task.name=adept"))
    with pytest.raises(UserError, match="max_length=4: expected 16 to 256"):
        prepare(settings(adept_lake, llama, "task.name=adept", "max_length=4"))
    short = Path(shutil.copytree(llama, tmp_path / "short"))
    run_settings = settings(adept_lake, str(short), "task.name=adept", "max_length=28")
    learner = InstructionLearner(task(run_settings.task).load(adept_lake), run_settings)
    learner.prepare()
    assert learner.truncated()["train"] > 0
    assert learner.lengths("train").max() <= 28


def test_a_limit_without_room_for_a_prompt_stops_no_other_run(adept_lake, llama, tmp_path):
    more = ["grid.max_length=[16,28]", "train_size=[32]", "num_train_epochs=1", f"out={tmp_path}"]
    with pytest.raises(JobFailed, match=r"1 of 2 runs failed: max_length=16 .*the longest answer"):
        finetune(settings(adept_lake, llama, "task.name=adept", *more))
    assert run_folder(tmp_path)


_TINY = {"vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("llama", {"num_attention_heads": 2}),
        ("gpt2", {"num_attention_heads": 2}),
        ("mistral", {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 6}),
        ("mamba", {}),
    ],
)
def test_answers_to_a_shared_prompt_score_as_if_read_with_it(kind, more):
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    # Weights are large enough for one more token to change what follows.
    config = AutoConfig.for_model(kind, **_TINY, **more, initializer_range=0.5)
    model = AutoModelForCausalLM.from_config(config).eval()
    prompts = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [4, 3], [20, 21, 22, 23, 24]]
    numbers = [0, 0, 1, 2, 2, 0]
    answers = [[30], [31, 32, 33], [34, 35], [36], [37, 38, 39, 40, 41], [30, 31]]
    with torch.inference_mode():
        batch = completed_texts(prompts, [[], [], []], 0)
        together = continuation_scores(model, batch, numbers, answers)
        short = continuation_scores(model, batch, [2, 1], [[30], [31]])
        alone = [
            reference_score(model, prompts[n], a) for n, a in zip(numbers, answers, strict=True)
        ]
        assert together.tolist() == pytest.approx(alone, abs=1e-3)
        assert short.tolist() == pytest.approx(
            [reference_score(model, prompts[2], [30]), reference_score(model, prompts[1], [31])],
            abs=1e-3,
        )


def reference_score(model, prompt: list[int], answer: list[int]) -> float:
    logs = model(torch.tensor([[*prompt, *answer]])).logits[0].log_softmax(-1)
    return sum(float(logs[len(prompt) + at - 1, token]) for at, token in enumerate(answer))
