"""An estimate of the memory and the disk space that a run needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from training.models.learner import Learner
from training.settings import Training
from training.sharding import precision_of, stage_of, uses_deepspeed

# AdamW's two moments, in single precision.
_MOMENTS = 8


@dataclass(frozen=True)
class Estimate:
    """Bytes of a run by `ranks` processes.

    `weights`, `gradients` and `optimizer` are held by each process at once; activations, buffers
    of communication and the interpreter come on top. `disk` is written by all of them together:
    two checkpoints while one replaces the other, and the weights as others load them, three times.
    """

    parameters: int
    trained: int
    ranks: int
    weights: int
    gradients: int
    optimizer: int
    disk: int

    @property
    def text(self) -> str:
        """One line."""
        return (
            f"{self.parameters / 1e6:,.1f} M weights, {self.trained / 1e6:,.1f} M of them trained; "
            f"each of {self.ranks} processes holds {_gb(self.weights)} of weights, "
            f"{_gb(self.gradients)} of gradients and {_gb(self.optimizer)} of optimizer states, "
            f"activations apart; disk: {_gb(self.disk)}"
        )


def _gb(size: int) -> str:
    return f"{size / 1e9:,.2f} GB"


def estimate(settings: Training, learner: Learner, ranks: int) -> Estimate:
    """The estimate of one run (Rajbhandari et al. 2020, section 3: what each ZeRO stage shares)."""
    parameters, trained_count = learner.parameters(), learner.trained()
    stage, precision = stage_of(settings.deepspeed), precision_of(settings)
    deepspeed = uses_deepspeed(settings.deepspeed)
    # Without DeepSpeed weights stay in single precision, and are computed with in another.
    size = 2 if deepspeed and precision != "fp32" else 4
    # DeepSpeed's optimizer has weights in single precision of its own.
    states = trained_count * (_MOMENTS + (4 if deepspeed else 0))
    lora: Any = getattr(settings, "lora", None)
    weights = parameters * (lora.bits / 8 if lora is not None and lora.bits else size)
    saved_bytes = (trained_count if lora is not None and lora.rank else parameters) * size
    merged_bytes = parameters * size if lora is not None and lora.rank and lora.merge else 0
    return Estimate(
        parameters,
        trained_count,
        ranks,
        weights=int(weights) // (ranks if stage == 3 else 1),
        gradients=trained_count * size // (ranks if stage >= 2 else 1),
        optimizer=states // (ranks if stage >= 1 else 1),
        disk=2 * (saved_bytes + states) + 3 * saved_bytes + merged_bytes,
    )
