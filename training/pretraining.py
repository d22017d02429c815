"""``training/pretrain_mlm.py``: a masked language model from the sentences of the lake."""

from dataclasses import dataclass
from typing import ClassVar

from adnominal.conf import UserError, setting
from adnominal.conf.checks import check_distinct, check_minimum
from adnominal.training import launch, sentences
from adnominal.training.job import Work, execute, prepared_runs
from adnominal.training.settings import Training
from adnominal.training.tasks import Dataset

JOB = "pretrain_mlm"


@dataclass(frozen=True)
class _Model:
    """The model and its training sentences."""

    corpora: list[str] = setting(
        [], help="corpora of the table sentences; by default all", example="corpora=[wikipedia]"
    )
    share: float = setting(
        1.0, help="share of the sentences to use, by a hash of the text", example="share=0.1"
    )
    min_words: int = setting(4, help="minimum number of words of a sentence")
    validation: float = setting(
        0.02, help="share of the sentences held out for validation, by a hash of the text"
    )
    vocabulary: int = setting(8192, help="pieces of the WordPiece vocabulary")
    words: list[str] = setting(
        [],
        help="words that the vocabulary keeps whole even if rare, such as answers to prompts",
        example="words=[true,false]",
    )
    lowercase: bool = setting(True, help="lower-case texts and strip accents")
    layers: int = setting(4, help="layers of the model")
    hidden: int = setting(256, help="width of the model; its inner layers are four times as wide")
    heads: int = setting(4, help="attention heads")
    dropout: float = setting(0.1, help="share of units dropped in training")
    mask: float = setting(0.15, help="share of the words to mask")
    whole_words: bool = setting(True, help="mask whole words; false: single word pieces")


# Fields come in the reverse order of the bases, so the model comes first in --help.
@dataclass(frozen=True)
class Settings(Training, _Model):
    FIRST: ClassVar[tuple[str, ...]] = (
        *("corpora", "lake", "out", "vocabulary", "layers"),
        *("hidden", "epochs", "batch_size", "seeds", "deepspeed"),
    )

    learning_rate: float = setting(1e-3, help="highest learning rate (AdamW)")
    epochs: int = setting(10, help="passes over the sentences, with new masks in each")
    batch_size: int = setting(64, help="sentences per update, over all processes")
    max_length: int = setting(
        128, help="maximum tokens of a sentence (longer ones are cut), positions of the model"
    )
    metric: str = setting(
        "loss",
        help="criterion for the best weights, on the validation part",
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
            raise UserError(f"share={self.share:g}: expected more than 0 and at most 1")
        for name in ("validation", "mask"):
            if not 0 < getattr(self, name) < 1:
                value = getattr(self, name)
                raise UserError(f"{name}={value:g}: expected a share between 0 and 1")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout={self.dropout:g}: expected 0 or more and less than 1")


def pretrain(settings: Settings) -> None:
    """Train a masked language model (BERT's architecture) on the table sentences of the lake.

    The vocabulary is trained on the same sentences. Runs every combination of grid.*, train_size=
    and seeds= once; each can be resumed. Writes weights for transformers and figures below out= and
    to MLflow: loss, perplexity and accuracy on held-out masked words.
    """
    execute(settings, prepare(settings))


def prepare(settings: Settings) -> list[Work]:
    """Prepare everything that the runs need, and report mistakes before the first run.

    Whether the sentences support the vocabulary shows only when it is trained, at a run's start.

    Raises:
        UserError: the table or a setting is refused, fp16 is requested on a CPU, or the disk is too
            small.
    """
    launch.environment()
    from adnominal.training.models.masked import MaskedLearner

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
