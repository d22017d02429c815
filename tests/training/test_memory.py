"""Micro-batches: how an update is divided, and what happens when memory runs out."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from adnominal import conf
from adnominal.conf import JobFailed, UserError
from adnominal.training import memory
from adnominal.training.job import finetune
from adnominal.training.settings import Settings
from adnominal.training.trainer import Trainer
from tests.training.conftest import UNRECORDED, losses, result_of, run_folder, without_dropout


def settings(*arguments: str) -> Settings:
    return conf.load(Settings, ["task.name=adept", *arguments])


def test_an_update_is_divided_among_processes(monkeypatch):
    assert memory.share_of_process(settings()) == 8
    more = ["per_device_train_batch_size=4", "gradient_accumulation_steps=3"]
    assert memory.share_of_process(settings(*more)) == 12
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert memory.update_size(settings(*more)) == 24
    assert memory.share_of_process(settings("batch_size=32")) == 16
    with pytest.raises(UserError, match="not divisible by 2 processes; expected 32 or 34"):
        memory.share_of_process(settings("batch_size=33"))
    with pytest.raises(UserError, match=r"batch_size=1: .* expected 2$"):
        memory.share_of_process(settings("batch_size=1"))
    message = "not divisible by 2 processes x per_device_train_batch_size=5; expected 30 or 40"
    with pytest.raises(UserError, match=message):
        memory.share_of_process(settings("batch_size=32", "per_device_train_batch_size=5"))


@pytest.mark.parametrize(
    ("share", "sizes"), [(32, [32, 16, 8, 4, 2, 1]), (24, [24, 8, 4, 2, 1]), (1, [1]), (3, [3, 1])]
)
def test_sizes_are_powers_of_two_that_divide_the_update(share, sizes):
    assert memory.candidates(share) == sizes


def test_half_a_micro_batch_divides_the_update():
    assert [memory.half_of(size, 40) for size in (40, 20, 10, 5, 2)] == [20, 10, 5, 2, 1]
    assert memory.half_of(9, 9) == 3


class Hungry:
    """A learner whose steps need memory for more than so many `rows`."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.tried: list[list[int]] = []

    def lengths(self, part: str) -> np.ndarray:
        return np.array([3, 9, 5, 7])

    def collate(self, part: str, rows: np.ndarray) -> dict[str, torch.Tensor]:
        self.tried.append(rows.tolist())
        return {"input_ids": torch.ones(len(rows), 2), "labels": torch.zeros(len(rows)).long()}

    def logits(self, model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        if len(batch["labels"]) > self.rows:
            raise torch.cuda.OutOfMemoryError("no memory")
        logits: torch.Tensor = model(batch["input_ids"])
        return logits


def test_the_longest_examples_are_tried_until_they_fit():
    model, learner = torch.nn.Linear(2, 3), Hungry(2)
    assert memory.fit_micro_batch(learner, model, 4, contextlib.nullcontext) == 2  # type: ignore[arg-type]
    assert learner.tried == [[1, 3, 2, 0], [1, 3]]
    assert model.weight.grad is None
    # A size that divides the update is tried first, even with fewer examples.
    assert memory.fit_micro_batch(Hungry(4), model, 8, contextlib.nullcontext) == 8  # type: ignore[arg-type]
    with pytest.raises(JobFailed, match=r"^out of memory: not even one training example fits"):
        memory.fit_micro_batch(Hungry(0), model, 4, contextlib.nullcontext)  # type: ignore[arg-type]


@pytest.fixture
def limit_memory(monkeypatch):
    """Lets training steps run out of memory with more than so many rows, from an update on."""

    def limit(rows: int, update: int) -> list[int]:
        sizes: list[int] = []
        compute_loss = Trainer.compute_loss

        def fail_if_large(self, model, inputs, *arguments, **options):
            sizes.append(len(inputs["labels"]))
            if sizes[-1] > rows and self.state.global_step >= update:
                raise torch.cuda.OutOfMemoryError("no memory")
            return compute_loss(self, model, inputs, *arguments, **options)

        monkeypatch.setattr(Trainer, "compute_loss", fail_if_large)
        return sizes

    return limit


@pytest.fixture
def words(adept_lake, tiny_encoder, tmp_path) -> list[str]:
    model = without_dropout(Path(tiny_encoder), tmp_path / "encoder")
    return [
        *("task.name=adept", f"lake={adept_lake}", f"model={model}", *UNRECORDED),
        *("num_train_epochs=1", "train_size=[48]", "batch_size=16", "logging_steps=1"),
        *("learning_rate=1e-3", "per_device_train_batch_size=8"),
    ]


def test_an_update_without_memory_is_repeated_in_pieces(words, tmp_path, limit_memory, caplog):
    finetune(conf.load(Settings, [*words, f"out={tmp_path / 'whole'}"]))
    sizes = limit_memory(3, 1)
    out = tmp_path / "pieces"
    finetune(conf.load(Settings, [*words, f"out={out}"]))
    # The second update: both micro-batches fail at 8 rows, at 4, and fit at 2.
    assert sizes[2:6] == [8, 4, 2, 2]
    assert losses(out) == pytest.approx(losses(tmp_path / "whole"), abs=1e-6)
    assert result_of(out)["updates"] == 3
    stored = json.loads((run_folder(out) / "micro_batch.json").read_text())
    assert stored == {"size": 2, "reason": "out of memory"}


def test_pieces_shrink_to_one_example(words, tmp_path, limit_memory):
    sizes = limit_memory(1, 0)
    more = ["batch_size=12", "per_device_train_batch_size=12", f"out={tmp_path / 'out'}"]
    finetune(conf.load(Settings, [*words, *more]))
    assert sizes[:5] == [12, 6, 3, 1, 1]
    assert result_of(tmp_path / "out")["updates"] == 4


def test_a_repeated_update_draws_the_same_random_numbers(
    tiny_encoder, tmp_path, words, monkeypatch
):
    # Its dropout is on. The fourth micro-batch fails, so the second update begins again.
    random_states: list[torch.Tensor] = []
    compute_loss = Trainer.compute_loss

    def fail_at_the_fourth(self, *arguments, **options):
        random_states.append(torch.get_rng_state())
        if len(random_states) == 4:
            raise torch.cuda.OutOfMemoryError("no memory")
        return compute_loss(self, *arguments, **options)

    monkeypatch.setattr(Trainer, "compute_loss", fail_at_the_fourth)
    more = [f"model={tiny_encoder}", f"out={tmp_path / 'out'}"]
    finetune(conf.load(Settings, [*words, *more]))
    assert not torch.equal(random_states[2], random_states[3])
    assert torch.equal(random_states[2], random_states[4])


def test_one_example_without_memory_ends_the_run(words, tmp_path, limit_memory):
    limit_memory(0, 0)
    with pytest.raises(JobFailed, match=r"^out of memory: one training example does not fit"):
        finetune(conf.load(Settings, [*words, f"out={tmp_path / 'out'}"]))


def test_the_size_of_an_earlier_start_is_used_again(words, tmp_path, limit_memory):
    sizes = limit_memory(100, 0)
    out = tmp_path / "out"
    run_settings = conf.load(Settings, [*words, f"out={out}"])
    from adnominal.training.planning import prepare

    (run,) = prepare(run_settings)
    run.folder.mkdir(parents=True)
    memory.record_micro_batch(run.folder, 2, "out of memory")
    finetune(run_settings)
    assert set(sizes) == {2}
