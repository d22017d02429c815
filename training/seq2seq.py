"""Sequence to sequence from scratch: vocabularies, batches, model sizes, saving (SyGNS).

Vocabularies are of whole words and are built from the training part alone; a word that only other
parts have is unknown to the model, and a target with one cannot be got right (`Seq2SeqData.unknown`
counts them).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from conf import UserError, setting
from etl.sygns import fol
from training.batching import layout
from training.seq2seq_models import (
    BEGIN,
    END,
    GRU,
    IGNORED,
    PAD,
    UNKNOWN,
    Config,
    Transformer,
    decode,
)
from training.tasks.dataset import Dataset, Ids

log = logging.getLogger("adnominal")

Model: TypeAlias = GRU | Transformer

ARCHITECTURES = ("gru", "transformer")
# (width of embeddings, of the state or of feed-forward blocks), by architecture and nominal number
# of parameters. The paper states 10 M (section 4.1) and, without their shapes, 4 M and 27 M
# (table 11). Its Transformer has "a model size of 512 and a hidden size of 256"; its GRU an
# embedding of 256 and a hidden size that it does not name: 1024 comes to 10 M. The widths of 27 M
# are ours; `tiny` is for trials.
SIZES: dict[str, dict[str, tuple[int, int]]] = {
    "gru": {"tiny": (32, 64), "4M": (256, 608), "10M": (256, 1024), "27M": (256, 1744)},
    "transformer": {"tiny": (32, 64), "4M": (256, 512), "10M": (512, 256), "27M": (768, 640)},
}
_LAYERS = {"gru": 1, "transformer": 3}
_HEADS = {"gru": 1, "transformer": 8}
_SPECIAL = ("<pad>", "<begin>", "<end>", "<unknown>")
_MODELS: dict[str, type[Model]] = {"gru": GRU, "transformer": Transformer}
_FILES = ("config.json", "vocabulary.json", "model.safetensors")


@dataclass(frozen=True)
class Seq2Seq:
    """Settings ``seq2seq.*``: which model is trained from scratch."""

    architecture: str = setting("transformer", help="kind of model", choices=ARCHITECTURES)
    size: str = setting(
        "10M", help="parameters: the paper's is 10M", choices=("tiny", "4M", "10M", "27M")
    )
    dropout: float = setting(0.1, help="share of units left out in training")
    beam: int = setting(1, help="answers followed at once when decoding; 1: greedily")
    length_penalty: float = setting(
        1.0,
        help="answers of a beam compete by log-probability over length to this power: 0 the most "
        "probable one, 1 the best mean a token",
    )

    def __post_init__(self) -> None:
        if self.beam < 1:
            raise UserError(f"beam={self.beam}: expected 1 or more")
        if self.length_penalty < 0:
            raise UserError(f"length_penalty={self.length_penalty:g}: expected 0 or more")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout={self.dropout}: expected 0 or more and less than 1")


@dataclass(frozen=True)
class Vocabulary:
    """The words of one side; `tokens` begins with the four special ones."""

    tokens: tuple[str, ...]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Vocabulary:
        """The vocabulary of texts that are split already; words in alphabetical order."""
        words = {word for text in texts for word in text}
        return cls((*_SPECIAL, *sorted(words)))

    def __len__(self) -> int:
        return len(self.tokens)

    def ids(self, text: Sequence[str]) -> list[int]:
        return [self._ids.get(word, UNKNOWN) for word in text]

    def words(self, ids: Iterable[int]) -> list[str]:
        """The words up to the end of the text; padding and the mark of the beginning are none."""
        found = []
        for number in ids:
            if number == END:
                break
            if number not in (PAD, BEGIN):
                found.append(self.tokens[number])
        return found


@dataclass(frozen=True)
class Vocabularies:
    """Both vocabularies, and how a target is split into words."""

    source: Vocabulary
    target: Vocabulary
    splitting: str

    @classmethod
    def of(cls, dataset: Dataset) -> Vocabularies:
        """The vocabularies of the training part."""
        train = dataset.parts["train"]
        assert train.targets is not None
        how = dataset.splitting
        return cls(
            Vocabulary.of(split_tokens(text, "words") for text in train.first.to_pylist()),
            Vocabulary.of(split_tokens(text, how) for text in train.targets.to_pylist()),
            how,
        )

    def texts(self, ids: Tensor) -> list[str]:
        """The target texts of generated ids, one a row."""
        return [join_tokens(self.target.words(row), self.splitting) for row in ids.tolist()]


def split_tokens(text: str, how: str) -> list[str]:
    """The tokens that a model reads or writes (Yanaka et al. 2021, section 4.1).

    ``words`` are split at spaces: sentences, variable-free formulas, and DRS clauses, where
    ``[SEP]``, every box and every variable are tokens. A first-order ``formula`` is split by
    `etl.sygns.fol.tokens`, whose operators keep their spaces.
    """
    return fol.tokens(text) if how == "formula" else text.split(" ")


def join_tokens(tokens: Sequence[str], how: str) -> str:
    """The text of tokens: ``join_tokens(split_tokens(text, how), how) == text``."""
    return ("" if how == "formula" else " ").join(tokens)


class _Ragged:
    """Id sequences end to end: sequence i is ``values[offsets[i]:offsets[i + 1]]``."""

    def __init__(self, sequences: Sequence[Sequence[int]]) -> None:
        sizes = np.array([len(ids) for ids in sequences], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.values = np.fromiter(
            (number for ids in sequences for number in ids), np.int64, int(self.offsets[-1])
        )

    @property
    def sizes(self) -> Ids:
        return np.diff(self.offsets)

    def padded(self, rows: Ids, fill: int) -> Ids:
        return layout(self.offsets, rows).fill(self.values, fill)


class Seq2SeqData:
    """The parts of a dataset as token ids, batched on demand."""

    def __init__(self, dataset: Dataset, vocabularies: Vocabularies) -> None:
        self.dataset = dataset
        self.vocabularies = vocabularies
        self.sources: dict[str, _Ragged] = {}
        self.targets: dict[str, _Ragged] = {}
        for part, examples in dataset.parts.items():
            assert examples.targets is not None
            own, how = vocabularies, vocabularies.splitting
            self.sources[part] = _Ragged(
                [own.source.ids(split_tokens(t, "words")) for t in examples.first.to_pylist()]
            )
            self.targets[part] = _Ragged(
                [[*own.target.ids(split_tokens(t, how)), END] for t in examples.targets.to_pylist()]
            )

    def lengths(self, part: str) -> Ids:
        """Tokens of each example, source and target together: what a batch is sorted by."""
        return self.sources[part].sizes + self.targets[part].sizes

    def unknown(self, part: str) -> int:
        """How many targets of a part have a word that training has not."""
        side = self.targets[part]
        marks = np.concatenate([[0], np.cumsum(side.values == UNKNOWN)])
        return int(np.count_nonzero(marks[side.offsets[1:]] > marks[side.offsets[:-1]]))

    def collate(self, part: str, indices: Ids) -> dict[str, Tensor]:
        """`input_ids` and `attention_mask` [batch, source] and `labels` [batch, target].

        Padding is 0 in `input_ids` and -100, which no loss counts, in `labels`.
        """
        rows = np.asarray(indices, dtype=np.int64)
        ids = self.sources[part].padded(rows, PAD)
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy((ids != PAD).astype(np.int64)),
            "labels": torch.from_numpy(self.targets[part].padded(rows, IGNORED)),
        }

    def decode(self, model: Model, batch: Mapping[str, Tensor], synced: bool = False) -> list[str]:
        """The model's answers; `synced` as for `seq2seq_models.decode`, labels not looked at."""
        found = decode(model, batch["input_ids"], batch["attention_mask"], synced)
        return self.vocabularies.texts(found)


def shape(
    settings: Seq2Seq, vocabularies: Vocabularies, max_source: int, max_target: int
) -> Config:
    """The model that settings ask for, over those vocabularies and lengths."""
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


def build(dataset: Dataset, settings: Seq2Seq, seed: int) -> tuple[Model, Seq2SeqData]:
    """A new model, its weights drawn with `seed`, and the dataset's parts as batches for it.

    Positions reach to the longest sequence of any part, as the paper has it: those that training
    does not reach stay untrained.

    Raises:
        UserError: a dataset of classes.
    """
    if dataset.kind != "seq2seq":
        raise UserError(
            f"task {dataset.task} has classes ({', '.join(dataset.labels)}); expected one with "
            "target texts, as sygns"
        )
    vocabularies = Vocabularies.of(dataset)
    data = Seq2SeqData(dataset, vocabularies)
    for part, examples in dataset.parts.items():
        if count := data.unknown(part):
            log.warning(
                "%d of %d targets of %s have words that training has not: no answer can be right",
                count,
                len(examples),
                part,
            )
    sides = (data.sources.values(), data.targets.values())
    longest = (max(int(part.sizes.max()) for part in side) for side in sides)
    config = shape(settings, vocabularies, *longest)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return _MODELS[config.architecture](config), data


def save(
    folder: Path, model: Model, vocabularies: Vocabularies, state: Mapping[str, Any] | None = None
) -> None:
    """Write weights (safetensors), shape and vocabularies into `folder`, for `load`.

    `state` are the weights to write instead of the module's own; none of them, where it is empty:
    they are written elsewhere.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = model.state_dict() if state is None else state
    own = {
        "source": list(vocabularies.source.tokens),
        "target": list(vocabularies.target.tokens),
        "splitting": vocabularies.splitting,
    }
    config, words, tensors = (folder / name for name in _FILES)
    config.write_text(json.dumps(asdict(model.config), indent=1) + "\n", encoding="utf-8")
    words.write_text(json.dumps(own, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if weights:
        save_file({name: t.detach().cpu().contiguous() for name, t in weights.items()}, tensors)


def answer(model: Model, vocabularies: Vocabularies, texts: Sequence[str]) -> list[str]:
    """The model's answers to source texts, all in one batch.

    Raises:
        UserError: a text that is longer than the model has positions for.
    """
    if not texts:
        return []
    side = _Ragged([vocabularies.source.ids(split_tokens(text, "words")) for text in texts])
    longest = int(side.sizes.argmax())
    if (
        isinstance(model, Transformer)
        and (size := int(side.sizes[longest])) > model.config.max_source
    ):
        raise UserError(
            f"{texts[longest]!r} has {size} words; expected at most {model.config.max_source}, "
            "the positions that the model has"
        )
    device = next(model.parameters()).device
    ids = torch.from_numpy(side.padded(np.arange(len(texts)), PAD)).to(device)
    return vocabularies.texts(decode(model, ids, (ids != PAD).long()))


def load(folder: Path) -> tuple[Model, Vocabularies]:
    """The model and vocabularies that `save` has written.

    Raises:
        UserError: a file is missing, or the weights are not of the shape that the folder states.
    """
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise UserError(f"{folder}: no {', '.join(missing)}; expected {', '.join(_FILES)}")
    config, words, tensors = (folder / name for name in _FILES)
    shape_of = Config(**json.loads(config.read_text(encoding="utf-8")))
    model = _MODELS[shape_of.architecture](shape_of)
    own = json.loads(words.read_text(encoding="utf-8"))
    try:
        model.load_state_dict(load_file(tensors))
    except RuntimeError as error:
        raise UserError(f"{tensors}: not the weights of {config}: {error}") from error
    vocabularies = Vocabularies(
        Vocabulary(tuple(own["source"])), Vocabulary(tuple(own["target"])), own["splitting"]
    )
    return model, vocabularies
