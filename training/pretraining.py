"""``training/pretrain_mlm.py``: a masked language model from the sentences of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from conf import UserError, setting
from training import grid, launch, sentences
from training.job import Work, check_room, execute
from training.settings import Training
from training.sharding import precision_of, read_deepspeed
from training.tasks import Dataset, nested_subset

JOB = "pretrain_mlm"


@dataclass(frozen=True)
class _Model:
    """What is trained, on which sentences."""

    corpora: list[str] = setting(
        [], help="corpora of the table sentences; all if empty", example="corpora=[wikipedia]"
    )
    share: float = setting(
        1.0, help="share of the sentences that is taken, by a hash of the text", example="share=0.1"
    )
    min_words: int = setting(4, help="words that a sentence has at least")
    validation: float = setting(
        0.02, help="share of the sentences held out for validation, by a hash of the text"
    )
    vocabulary: int = setting(8192, help="pieces of the WordPiece vocabulary")
    words: list[str] = setting(
        [],
        help="words that the vocabulary has whole, however rare: answers that prompts ask for",
        example="words=[true,false]",
    )
    lowercase: bool = setting(True, help="lower-case texts and strip accents")
    layers: int = setting(4, help="layers of the model")
    hidden: int = setting(256, help="width of the model; its inner layers are four times as wide")
    heads: int = setting(4, help="heads of attention")
    dropout: float = setting(0.1, help="share of units left out in training")
    mask: float = setting(0.15, help="share of the words that is masked")
    whole_words: bool = setting(True, help="mask words; false: pieces of words, one by one")


# Fields come in the reverse order of the bases: what is trained stands first in --help.
@dataclass(frozen=True)
class Settings(Training, _Model):
    """Settings of ``training/pretrain_mlm.py``."""

    FIRST: ClassVar[tuple[str, ...]] = (
        "corpora",
        "lake",
        "out",
        "vocabulary",
        "layers",
        "hidden",
        "epochs",
        "batch_size",
        "seeds",
        "deepspeed",
    )

    learning_rate: float = setting(1e-3, help="highest learning rate (AdamW)")
    epochs: int = setting(10, help="passes over the sentences, with new masks in each")
    batch_size: int = setting(64, help="sentences an update, over all processes")
    max_length: int = setting(
        128, help="tokens of a sentence, longer ones are cut; positions of the model"
    )
    metric: str = setting(
        "loss",
        help="what the best weights are chosen by, on the validation part",
        choices=("loss", "accuracy"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("min_words", "layers", "hidden", "heads"):
            if getattr(self, name) < 1:
                raise UserError(f"{name}={getattr(self, name)}: expected 1 or more")
        if self.hidden % self.heads:
            raise UserError(
                f"hidden={self.hidden} heads={self.heads}: expected a multiple of heads="
            )
        if self.max_length < 8:
            raise UserError(f"max_length={self.max_length}: expected 8 or more")
        if not 0 < self.share <= 1:
            raise UserError(f"share={self.share:g}: expected more than 0, and 1 at most")
        if not 0 < self.validation < 1:
            raise UserError(f"validation={self.validation:g}: expected a share between 0 and 1")
        if not 0 < self.mask < 1:
            raise UserError(f"mask={self.mask:g}: expected a share between 0 and 1")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout={self.dropout:g}: expected 0 or more and less than 1")
        if len(set(self.corpora)) < len(self.corpora):
            raise UserError(f"corpora={self.corpora}: the same corpus twice")


def pretrain(settings: Settings) -> None:
    """Trains a masked language model (BERT's architecture) on the table sentences of the lake.

    The vocabulary is trained on the same sentences. Runs every combination of grid.*, train_size=
    and seeds=, each resumable, and none twice; keeps weights that transformers loads, and figures,
    below out= and in MLflow: loss, perplexity and accuracy on masked words held out.
    """
    execute(settings, prepare(settings))


def prepare(settings: Settings) -> list[Work]:
    """Everything that the runs need, and all mistakes that can be seen before the first of them.

    Whether the sentences support the vocabulary is seen when it is trained, at a run's start.

    Raises:
        UserError: what the table and the settings refuse; fp16 on a CPU, too little room on the
            disk.
    """
    launch.environment()
    from training.masked import MaskedLearner

    work: list[Work] = []
    loaded: dict[tuple[object, ...], tuple[Dataset, str]] = {}
    for point in grid.points(settings):
        own = point.settings
        precision_of(own)
        read_deepspeed(own.deepspeed)
        how = (tuple(own.corpora), own.min_words, own.share, own.validation)
        if how not in loaded:
            dataset = sentences.load(
                own.lake,
                own.corpora,
                min_words=own.min_words,
                share=own.share,
                validation=own.validation,
            )
            loaded[how] = dataset, grid.content(dataset)
        dataset, data = loaded[how]
        if own.size is not None:
            nested_subset(dataset.parts["train"].item_ids, own.size, own.seed)
        folder = Path(own.out or f"runs/{dataset.task}") / grid.name(point, data)
        learner = MaskedLearner(dataset, own)
        group = grid.group(point, data)
        work.append(Work(JOB, point, None, dataset, learner, folder, group))
    check_room(work)
    return work
