"""Sequence-to-sequence models from scratch (SyGNS): vocabularies, batches, sizes, saving.

Vocabularies have whole words and are built only from the training part. A word that occurs only in
other parts is unknown to the model; a target with such a word cannot be generated
(`Seq2SeqLearner.count_unknown_targets` counts them).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from safetensors import SafetensorError
from torch import Tensor

from adnominal.conf import UserError
from adnominal.etl.sygns import fol
from adnominal.training import launch
from adnominal.training.batching import pad_rows
from adnominal.training.models.lazy_weights import weights_source
from adnominal.training.models.learner import IGNORED, Learner
from adnominal.training.models.networks import (
    BEGIN,
    END,
    GRU,
    PAD,
    UNKNOWN,
    Config,
    Transformer,
    decode,
)
from adnominal.training.models.pretrained import quiet_loading
from adnominal.training.models.tokens import IDS, lengths
from adnominal.training.settings import Seq2Seq
from adnominal.training.tasks.dataset import Dataset, Ids

log = logging.getLogger("adnominal")

Model: TypeAlias = GRU | Transformer

# (width of embeddings, of the state or of feed-forward blocks), by architecture and nominal number
# of parameters. The paper states 10 M (section 4.1) and, without their shapes, 4 M and 27 M (table
# 11). Its Transformer has "a model size of 512 and a hidden size of 256"; its GRU an embedding of
# 256 and an unstated hidden size; 880 gives 10 M. 27 M's widths are ours; `tiny` is for trials.
SIZES: dict[str, dict[str, tuple[int, int]]] = {
    "gru": {"tiny": (32, 64), "4M": (256, 528), "10M": (256, 880), "27M": (256, 1496)},
    "transformer": {"tiny": (32, 64), "4M": (256, 512), "10M": (512, 256), "27M": (768, 640)},
}
_LAYERS = {"gru": 1, "transformer": 3}
_HEADS = {"gru": 1, "transformer": 8}
_SPECIAL = ("<pad>", "<begin>", "<end>", "<unknown>")
MODELS: dict[str, type[Model]] = {"gru": GRU, "transformer": Transformer}
_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side; `tokens` begins with the four special ones."""

    tokens: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """Return the vocabulary of tokenised texts, with words in alphabetical order."""
        words = {word for text in texts for word in text}
        return cls((*_SPECIAL, *sorted(words)))

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, text: Sequence[str]) -> list[int]:
        return [self._ids.get(word, UNKNOWN) for word in text]

    def words(self, ids: Iterable[int]) -> list[str]:
        """Return the words up to the end of the text, without padding and start token."""
        words = []
        for number in ids:
            if number == END:
                break
            if number not in (PAD, BEGIN):
                words.append(self.tokens[number])
        return words


@dataclass(frozen=True)
class Vocabularies:
    """Both vocabularies, and the splitting of targets into words."""

    source: Vocabulary
    target: Vocabulary
    splitting: str

    @classmethod
    def of(cls, dataset: Dataset) -> Vocabularies:
        """Return the vocabularies of the training part."""
        train = dataset.parts["train"]
        assert train.targets is not None
        splitting = dataset.splitting
        return cls(
            Vocabulary.of(split_tokens(text, "words") for text in train.first.to_pylist()),
            Vocabulary.of(split_tokens(text, splitting) for text in train.targets.to_pylist()),
            splitting,
        )

    def read(self, texts: Sequence[str]) -> pa.ListArray:
        """Convert source texts to ids."""
        return pa.array([self.source.ids(split_tokens(text, "words")) for text in texts], IDS)

    def texts(self, ids: Tensor) -> list[str]:
        """Convert generated ids to target texts, one per row."""
        return [join_tokens(self.target.words(row), self.splitting) for row in ids.tolist()]


def split_tokens(text: str, splitting: str) -> list[str]:
    """Split a text into a model's tokens (Yanaka et al. 2021, section 4.1).

    ``words`` are split at spaces: sentences, variable-free formulas, and DRS clauses, where
    ``[SEP]``, every box and every variable are tokens. A first-order ``formula`` is split by
    `etl.sygns.fol.tokens`, whose operators keep their spaces.
    """
    return fol.tokens(text) if splitting == "formula" else text.split(" ")


def join_tokens(tokens: Sequence[str], splitting: str) -> str:
    """Join tokens to a text: ``join_tokens(split_tokens(text, how), how) == text``."""
    return ("" if splitting == "formula" else " ").join(tokens)


class Seq2SeqLearner(Learner):
    """A model from scratch with its vocabularies, and the parts of a dataset as token ids."""

    def __init__(self, dataset: Dataset, settings: Seq2Seq) -> None:
        """Build vocabularies from the training part of a dataset with target texts."""
        self.dataset = dataset
        self.name = f"{settings.architecture}-{settings.size}"
        self._learns_padding = settings.padding_loss
        self.vocabularies = vocabularies = Vocabularies.of(dataset)
        self.sources: dict[str, pa.ListArray] = {}
        self.targets: dict[str, pa.ListArray] = {}
        for part, examples in dataset.parts.items():
            assert examples.targets is not None
            self.sources[part] = vocabularies.read(examples.first.to_pylist())
            targets = [
                [*vocabularies.target.ids(split_tokens(text, vocabularies.splitting)), END]
                for text in examples.targets.to_pylist()
            ]
            self.targets[part] = pa.array(targets, IDS)
            if count := self.count_unknown_targets(part):
                log.warning(
                    "%d of %d targets of %s have words that do not occur in training: no answer "
                    "can be right",
                    count,
                    len(examples),
                    part,
                )
        # As in the paper, there are positions for the longest sequence of any part; those beyond
        # the training sequences stay untrained.
        longest = (
            max(int(lengths(part).max()) for part in side.values())
            for side in (self.sources, self.targets)
        )
        self._config = shape(settings, vocabularies, *longest)

    def model(self, seed: int, dtype: Any = None) -> Any:
        """Return a model with weights drawn by `seed`, without affecting other random draws."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            return MODELS[self._config.architecture](self._config)

    def parameters(self) -> int:
        with torch.device("meta"):
            return sum(weights.numel() for weights in self.model(0).parameters())

    def lengths(self, part: str) -> Ids:
        """Return the tokens of each example, source plus target, by which batches are sorted."""
        return lengths(self.sources[part]) + lengths(self.targets[part])

    def count_unknown_targets(self, part: str) -> int:
        """Return the number of targets of a part with a word that does not occur in training."""
        targets = self.targets[part]
        is_unknown = pc.equal(targets.flatten(), UNKNOWN)
        return len(pc.list_parent_indices(targets).filter(is_unknown).unique())

    def collate(self, part: str, indices: Ids) -> dict[str, Tensor]:
        """Return `input_ids`, `attention_mask` [batch, source] and `labels` [batch, target].

        Padding is 0 in `input_ids` and -100, which the loss ignores, in `labels`; with
        ``seq2seq.padding_loss`` it is 0 in the labels of the training part too.
        """
        ids = _padded(self.sources[part], indices, PAD)
        padding = PAD if self._learns_padding and part == "train" else IGNORED
        return {
            "input_ids": ids,
            "attention_mask": (ids != PAD).long(),
            "labels": _padded(self.targets[part], indices, padding),
        }

    def tokens(self, batch: Mapping[str, Any]) -> tuple[int, int]:
        """Return the source and target tokens of a batch, without and with padding."""
        mask, labels = batch["attention_mask"], batch["labels"]
        return int(mask.sum() + (labels > PAD).sum()), mask.numel() + labels.numel()

    def logits(self, model: Any, batch: Mapping[str, Any]) -> Any:
        """Return the teacher-forced logits of each target token and word."""
        return model(**batch)

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        # Processes with sharded weights must take every step together.
        synced, module = launch.world_size() > 1, getattr(model, "module", model)
        return self.vocabularies.texts(
            decode(module, batch["input_ids"], batch["attention_mask"], synced)
        )

    def save(self, model: Any, folder: Path, weights: Mapping[str, Any] | None = None) -> None:
        """Write a folder that `load` reads."""
        save(folder, model, self.vocabularies, weights)

    def load(self, folder: Path) -> Any:
        return load(folder)[0]


class SourceLearner(Learner):
    """A trained model's vocabularies, and source texts without targets as token ids."""

    def __init__(self, config: Config, vocabularies: Vocabularies) -> None:
        self.dataset = Dataset("", "", "", "", (), {}, ())
        self.vocabularies, self._config = vocabularies, config
        self.limit = config.max_source
        self._sources: dict[str, pa.ListArray] = {}

    def prepare(self) -> None:
        """Encode the texts.

        Raises:
            UserError: a text is longer than the model's positions.
        """
        self._sources = {}
        for part, examples in self.dataset.parts.items():
            texts = examples.first.to_pylist()
            self._sources[part] = source_tokens(self._config, self.vocabularies, texts)

    def lengths(self, part: str) -> Ids:
        return lengths(self._sources[part])

    def collate(self, part: str, indices: Ids) -> dict[str, Tensor]:
        ids = _padded(self._sources[part], indices, PAD)
        return {"input_ids": ids, "attention_mask": (ids != PAD).long()}

    def texts(self, model: Any, batch: Mapping[str, Any]) -> list[str]:
        return self.vocabularies.texts(decode(model, batch["input_ids"], batch["attention_mask"]))


def shape(
    settings: Seq2Seq, vocabularies: Vocabularies, max_source: int, max_target: int
) -> Config:
    """Return the configuration of a model for these settings, vocabularies and lengths."""
    embedding, hidden = SIZES[settings.architecture][settings.size]
    return Config(
        architecture=settings.architecture,
        embedding=embedding,
        hidden=hidden,
        layers=_LAYERS[settings.architecture],
        heads=_HEADS[settings.architecture],
        dropout=settings.dropout,
        source_size=len(vocabularies.source),
        target_size=len(vocabularies.target),
        max_source=max_source,
        max_target=max_target,
        beam=settings.beam,
        length_penalty=settings.length_penalty,
    )


def save(
    folder: Path, model: Model, vocabularies: Vocabularies, state: Mapping[str, Any] | None = None
) -> None:
    """Write weights (safetensors), configuration and vocabularies into `folder`, for `load`.

    `state` has the weights to write instead of the module's own; if it is empty, no weights are
    written (they are written elsewhere).
    """
    if state is None or state:
        with quiet_loading():
            model.save_pretrained(folder, state_dict=state and dict(state))
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    vocabulary = {
        "source": list(vocabularies.source.tokens),
        "target": list(vocabularies.target.tokens),
        "splitting": vocabularies.splitting,
    }
    text = json.dumps(vocabulary, ensure_ascii=False, indent=1) + "\n"
    (folder / _VOCABULARY).write_text(text, encoding="utf-8")


def _padded(tokens: pa.ListArray, rows: Ids, value: int) -> Tensor:
    """Return rows of tokens as a matrix, padded with `value`."""
    matrix: Tensor = pad_rows(tokens.take(pa.array(rows)).to_pylist(), value)
    return matrix


def source_tokens(config: Config, vocabularies: Vocabularies, texts: Sequence[str]) -> pa.ListArray:
    """Encode source texts for a model.

    Raises:
        UserError: a text is longer than the model's positions.
    """
    encoded = vocabularies.read(texts)
    sizes = lengths(encoded)
    longest = int(sizes.argmax())
    size = int(sizes[longest])
    if config.architecture == "transformer" and size > config.max_source:
        raise UserError(
            f"{texts[longest]!r} has {size} words; expected at most {config.max_source}, the "
            "positions that the model has"
        )
    return encoded


def answer(model: Model, vocabularies: Vocabularies, texts: Sequence[str]) -> list[str]:
    """Return the model's answers to source texts, all in one batch.

    Raises:
        UserError: a text is longer than the model's positions.
    """
    if not texts:
        return []
    encoded = source_tokens(model.config, vocabularies, texts)
    device = next(model.parameters()).device
    ids = _padded(encoded, np.arange(len(texts)), PAD).to(device)
    return vocabularies.texts(decode(model, ids, (ids != PAD).long()))


def load(folder: Path) -> tuple[Model, Vocabularies]:
    """Load the model and vocabularies that `save` has written, in single precision.

    Under ZeRO 3, weights are read one at a time.

    Raises:
        UserError: a file is missing or damaged, or the weights do not have the stated shape.
    """
    missing = [name for name in ("config.json", _VOCABULARY) if not (folder / name).is_file()]
    if not any(folder.glob("*.safetensors")):
        missing.append("model.safetensors")
    if missing:
        raise UserError(
            f"{folder}: no {', '.join(missing)}; expected the files that training/finetune.py "
            "writes for a model from scratch"
        )
    try:
        vocabularies = _read_vocabularies(folder)
        config = Config.from_pretrained(folder)
        with quiet_loading():
            model, report = MODELS[config.architecture].from_pretrained(
                **weights_source(str(folder)),
                config=config,
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, LookupError, TypeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise UserError(
            f"{folder}: the model cannot be read ({type(error).__name__}: {reason}); expected the "
            "files as training/finetune.py wrote them"
        ) from error
    if wrong := sorted(report["missing_keys"]) + [name for name, *_ in report["mismatched_keys"]]:
        raise UserError(
            f"{folder}: not the weights of its config.json: {', '.join(wrong[:3])} missing or of "
            "another shape"
        )
    return model, vocabularies


def _read_vocabularies(folder: Path) -> Vocabularies:
    vocabulary = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
    return Vocabularies(
        Vocabulary(tuple(vocabulary["source"])),
        Vocabulary(tuple(vocabulary["target"])),
        vocabulary["splitting"],
    )
