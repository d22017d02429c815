"""A lake with a small ADEPT, small models with random weights, and readers of runs."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.rows import adept_row, write
from tests.training.tasks import lake as tables

NOUNS = ("dog", "gun", "house", "idea", "candidate", "boat", "horse", "river")
# Settings of a run that writes nothing outside its folder.
UNRECORDED = ("tracking=none", "predictions=false")
# Each adjective determines its label, so that a model can learn it.
ADJECTIVES = (("fake", 0), ("dead", 1), ("brown", 2), ("fast", 3), ("large", 2), ("old", 2))
VERBS = ("runs", "works", "wins", "exists", "falls")


@pytest.fixture(scope="session", autouse=True)
def contents_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep hashes of models outside the user's home."""
    from adnominal.training.models import folder_hashes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_hashes, "CACHE", tmp_path_factory.mktemp("contents") / "contents.json")
        yield


def adept_rows(edition: str = "published") -> list[dict[str, object]]:
    """240 rows, 192 for training, 24 for validation, 24 for testing; the adjective gives the
    label."""
    rows: list[dict[str, object]] = []
    for noun in NOUNS:
        for verb in VERBS:
            for adjective, label in ADJECTIVES:
                at = len(rows)
                part = {8: "val", 9: "test"}.get((7 * at + at // 6) % 10, "train")
                more = {"agreement": "unanimous" if at % 3 else "majority", "split_random": part}
                item = f"{edition}-{at:04}"
                row = adept_row(item, adjective, noun, label, verb=verb, edition=edition, **more)
                rows.append(row)
    return rows


@pytest.fixture(scope="session")
def adept_lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake with the table adept, for reading only."""
    root = os.fspath(tmp_path_factory.mktemp("lake"))
    write(root, "adept", adept_rows())
    return root


@pytest.fixture(scope="session")
def task_lake(tmp_path_factory):
    """A lake with the tables of every task, for reading only."""
    root = os.fspath(tmp_path_factory.mktemp("tasks") / "lake")
    for write_table in (tables.adept, tables.plane, tables.asp, tables.nli, tables.sygns):
        write_table(root)
    return root


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_encoder(tmp_path_factory.mktemp("encoder"))


def make_encoder(folder: Path) -> str:
    """Save a BERT of two layers and 32 units with random weights and a tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "a", "an"]
    words += [*NOUNS, *VERBS, *(adjective for adjective, _ in ADJECTIVES)]
    backend = Tokenizer(WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    backend.normalizer = BertNormalizer()
    backend.pre_tokenizer = BertPreTokenizer()
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=backend,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=32,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        # Ten times BERT's, so that random weights already distinguish words.
        initializer_range=0.2,
    )
    BertModel(config).save_pretrained(folder)
    return os.fspath(folder)


def without_dropout(folder: Path, copy: Path) -> str:
    """Copy an encoder without its dropout, whose draws depend on the process."""
    shutil.copytree(folder, copy)
    config = json.loads((copy / "config.json").read_text())
    none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (copy / "config.json").write_text(json.dumps({**config, **none}))
    return os.fspath(copy)


def with_nan(folder: str | Path, copy: Path, name: str) -> str:
    """Copy a model and put NaN into the weights of that name."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, copy)
    weights = load_file(copy / "model.safetensors")
    weights[name][0] = float("nan")
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    return os.fspath(copy)


def run_folder(out: Path) -> Path:
    """The folder of the one finished run below `out`."""
    (path,) = out.glob("*/result.json")
    return path.parent


def result_of(out: Path) -> dict[str, Any]:
    """The result of the one finished run below `out`."""
    result: dict[str, Any] = json.loads((run_folder(out) / "result.json").read_text())
    return result


def losses_of(run: Path) -> list[float]:
    """The loss of each update of the run in a folder."""
    entries = map(json.loads, (run / "steps.jsonl").read_text().splitlines())
    return [entry["train/loss"] for entry in entries if "train/loss" in entry]


def losses(folder: Path) -> list[float]:
    """The loss of each update of the one run below `folder`."""
    (path,) = folder.glob("*/steps.jsonl")
    return losses_of(path.parent)


@contextmanager
def stopped_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Interrupt the run in the block when the checkpoint of an update is written but incomplete."""
    from adnominal.training import checkpoints

    mark_complete = checkpoints.mark_complete

    def interrupt(checkpoint: Path) -> None:
        if checkpoint.name == f"checkpoint-{step}":
            raise KeyboardInterrupt
        mark_complete(checkpoint)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(checkpoints, "mark_complete", interrupt)
        yield


@pytest.fixture(scope="session")
def tuned(
    tmp_path_factory: pytest.TempPathFactory, adept_lake: str, tiny_encoder: str, empty_store: Path
) -> Path:
    """A folder with a finished run (``out``) whose model is adept, version 1, in ``mlflow.db``."""
    from adnominal import conf
    from adnominal.training.job import finetune
    from adnominal.training.settings import Settings

    folder = tmp_path_factory.mktemp("tuned")
    shutil.copy(empty_store, folder)
    arguments = ["task.name=adept", "task.classes=3", "task.collapse=true", *UNRECORDED]
    arguments += [f"lake={adept_lake}", f"model={tiny_encoder}", f"out={folder / 'out'}"]
    arguments += [f"tracking=sqlite:///{folder / 'mlflow.db'}", "register=adept"]
    arguments += [
        "learning_rate=1e-2",
        "num_train_epochs=10",
        "eval_strategy=steps",
        "eval_steps=20",
        "save_strategy=steps",
        "save_steps=20",
        "max_length=16",
    ]
    finetune(conf.load(Settings, arguments))
    # The second call finds the finished run and must not register a second version.
    finetune(conf.load(Settings, arguments))
    return folder


@pytest.fixture(scope="session")
def family_models(tmp_path_factory, tiny_encoder):
    """The folder of a model of each family, created at its first use."""
    from tests.training import families  # imports this module

    root = tmp_path_factory.mktemp("families")

    class Models(dict[str, str]):
        def __missing__(self, name: str) -> str:
            if name == "deberta-v2":
                pytest.importorskip("sentencepiece", reason="pip install sentencepiece")
            self[name] = families.make(name, root / name, tiny_encoder)
            return self[name]

    return Models()


@pytest.fixture(scope="session")
def llama(family_models) -> str:
    return str(family_models["llama"])


def scores(source, first, second=None):
    """A model's probabilities (rows, classes) of texts; models of pairs also need `second`."""
    from adnominal.training.answering.classifier import classifier, texts

    with classifier(source) as model:
        return model.answer(model.encode(texts(first, second)), batch_size=64).scores


def served_answers(folder: Path, first: list[str], second: list[str] | None = None) -> Any:
    """The answers of a saved model through its MLflow interface."""
    import pandas as pd

    from adnominal.training.models.served import ServedModel

    model = ServedModel()
    model.load_context(SimpleNamespace(artifacts={"weights": os.fspath(folder)}))
    columns = {"first": first} if second is None else {"first": first, "second": second}
    return model.predict(None, pd.DataFrame(columns))
