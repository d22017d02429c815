"""``training/pretrain_mlm.py``: a masked language model from the sentences of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conf import UserError, setting
from conf.checks import check_distinct, check_minimum
from training import launch, sentences
from training.job import Work, execute, prepared_runs
from training.settings import Training
from training.tasks import Dataset

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
    FIRST: ClassVar[tuple[str, ...]] = (
        *("corpora", "lake", "out", "vocabulary", "layers"),
        *("hidden", "epochs", "batch_size", "seeds", "deepspeed"),
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
        check_minimum(self, 1, "min_words", "layers", "hidden", "heads")
        check_minimum(self, 8, "max_length")
        check_distinct(self, "corpora")
        if self.hidden % self.heads:
            raise UserError(
                f"hidden={self.hidden} heads={self.heads}: expected a multiple of heads="
            )
        if not 0 < self.share <= 1:
            raise UserError(f"share={self.share:g}: expected more than 0, and 1 at most")
        for name in ("validation", "mask"):
            if not 0 < getattr(self, name) < 1:
                value = getattr(self, name)
                raise UserError(f"{name}={value:g}: expected a share between 0 and 1")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout={self.dropout:g}: expected 0 or more and less than 1")


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
    from training.models.masked import MaskedLearner

    def load(settings: Settings) -> tuple[None, Dataset]:
        return None, sentences.load(
            settings.lake,
            settings.corpora,
            min_words=settings.min_words,
            share=settings.share,
            validation=settings.validation,
        )

    decisive = ("corpora", "min_words", "share", "validation")
    return prepared_runs(JOB, settings, decisive, load, MaskedLearner)
