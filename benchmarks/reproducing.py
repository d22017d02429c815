"""The cost of training the papers' experiments, written to the guide to reproducing them.

Operations are computed from the experiments' sizes (6 per multiplied weight and token: two forward,
four backward), CPU time from the rate measured by `train`, and GPU time from an assumed share of
peak performance. All figures are estimates: none of these experiments was run here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from adnominal import conf
from adnominal.conf import ROOT, UserError, setting
from benchmarks.readme import Documented
from benchmarks.results import render
from benchmarks.sizing import BEGIN, END, number

# Weights in matrix products: 12 x layers x width squared.
MINILM, BASE, LARGE = 12 * 6 * 384**2, 12 * 12 * 768**2, 12 * 24 * 1024**2
SEQ2SEQ = 10_000_000
ADEPT_TOKENS = 19.4  # tokens per published pair, by MiniLM's tokenizer
ASP_TOKENS = 22.2  # tokens per published training pair, likewise
MNLI_TOKENS = 40.0
PEAK = 312e12  # an A100, dense, half precision
# Short sequences and small models leave most of a GPU idle, sequence-to-sequence even more.
SHARE, SHARE_SEQ2SEQ = 0.10, 0.01


@dataclass(frozen=True)
class Settings(Documented):
    page: str = setting(str(ROOT / "docs" / "reproducing.md"), help="the page to write to")


@dataclass(frozen=True)
class Experiment:
    """Runs of one kind: `epochs` is summed over them, `share` is the assumed share of GPU peak."""

    name: str
    runs: int
    rows: int
    epochs: int
    tokens: float
    weights: int
    share: float = SHARE

    @property
    def samples(self) -> float:
        """Training examples, including repetitions."""
        return float(self.rows) * self.epochs

    @property
    def operations(self) -> float:
        """Floating-point operations of training."""
        return 6.0 * self.samples * self.tokens * self.weights

    @property
    def gpu_seconds(self) -> float:
        """Seconds of one GPU."""
        return self.operations / (self.share * PEAK)


def _sygns(
    name: str,
    runs: int,
    rows: int,
    *,
    epochs: int | None = None,
    tokens: float = 40,
    weights: int = SEQ2SEQ,
) -> Experiment:
    """Sequence-to-sequence runs, each of 25 epochs unless `epochs` is given for all together."""
    return Experiment(
        f"SyGNS {name}", runs, rows, epochs or 25 * runs, tokens, weights, SHARE_SEQ2SEQ
    )


# The grid of table 5: 3 learning rates, 3 batch sizes, 3 seeds, and 3, 4, 5 and 8 epochs.
_GRID = 3 * 3 * 3
_SYGNS = 2 * 3 * 5  # architectures, forms, seeds
EXPERIMENTS = (
    Experiment(
        "ADEPT table 5: 3 models, 5 and 3 classes, with and without context; each the whole grid",
        12 * _GRID * 4,
        12_892,
        12 * _GRID * (3 + 4 + 5 + 8),
        ADEPT_TOKENS,
        BASE,
    ),
    Experiment("PLANE table 6, out of distribution: 5 folds, 3 seeds", 15, 60_012, 15, 12, BASE),
    Experiment("PLANE table 6, One-IT: 5 folds, 3 seeds", 15, 60_024, 15, 12, BASE),
    Experiment("PLANE figure 8: 5 lengths, 6 to 16 tokens", 5, 60_012, 5, 10.4, BASE),
    Experiment("ASP, MNLI: deberta-v3-base, bert-base", 2, 392_702, 3 + 2, MNLI_TOKENS, BASE),
    Experiment("ASP table 4: bert-base, 4 rounds", 4, 4_800, 4 * 12, ASP_TOKENS, BASE),
    Experiment("ASP table 4: deberta-v3-base, 4 rounds", 4, 4_800, 4 * 3, ASP_TOKENS, BASE),
    Experiment("ASP table 4: bert-large, 4 rounds", 4, 4_800, 4 * 6, ASP_TOKENS, LARGE),
    Experiment("ASP table 4: deberta-v3-large, 4 rounds", 4, 4_800, 4 * 3, ASP_TOKENS, LARGE),
    _sygns("tables 4 to 9: 4 primitives, 2 architectures, 3 forms, 5 seeds", 4 * _SYGNS, 10_785),
    _sygns("productivity: depths 0 and 1 to train on", _SYGNS, 36_000, tokens=66),
    _sygns(
        "table 11: 4, 10 and 27 M, 2 architectures, 5 seeds",
        30,
        10_785,
        weights=(4_000_000 + 10_000_000 + 27_000_000) // 3,
    ),
    _sygns(
        "figure 2: 6 sizes of 500 to 10,000 sentences, 2 architectures, 5 seeds",
        60,
        27_500,
        epochs=10 * 25,
    ),
)


def core_rate(measured: Mapping[str, Any]) -> float:
    """Operations per second of one core, from the measured rate of MiniLM on ADEPT's pairs."""
    return 6.0 * float(measured["samples_per_cpu_second"]) * ADEPT_TOKENS * MINILM


def hours(seconds: float) -> str:
    """Hours with two digits: ``0.31``, ``12``, ``1_400``."""
    value = seconds / 3600
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def section(measured: Mapping[str, Any]) -> str:
    """The arithmetic and the table."""
    return render(
        "reproducing",
        samples=measured["samples_per_cpu_second"],
        rate=core_rate(measured),
        work=sum(experiment.operations for experiment in EXPERIMENTS),
        number=number,
        hours=hours,
    )


def write(settings: Settings) -> None:
    """Estimate the cost of training the experiments and write it to the guide."""
    try:
        measured = settings.recorded()["train"]["cpu"]["speed"]["ours"]
    except KeyError as error:
        raise UserError(
            f"figures={settings.figures} has no training speed on a CPU; run "
            "`python -m benchmarks train speed` first"
        ) from error
    settings.write(section(measured), BEGIN, END)


main = partial(conf.run, Settings, write)
