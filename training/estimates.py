"""Estimate the memory and the disk space that a run needs."""

from dataclasses import dataclass

from adnominal.training.models.learner import Learner
from adnominal.training.settings import Settings
from adnominal.training.sharding import stage_of, training_precision, uses_deepspeed

# AdamW's two moments, in single precision.
_MOMENTS = 8


@dataclass(frozen=True)
class Estimate:
    """Bytes of a run by `ranks` processes.

    Each process holds `weights`, `gradients` and `optimizer` at the same time, in addition to
    activations, communication buffers and the interpreter. `disk` is the total of all processes:
    two checkpoints while one replaces the other, and three copies of the exported weights.
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
        """Format the estimate in one line."""
        return (
            f"{self.parameters / 1e6:,.1f} M weights, {self.trained / 1e6:,.1f} M of them trained; "
            f"each of {self.ranks} processes holds {_gb(self.weights)} of weights, "
            f"{_gb(self.gradients)} of gradients and {_gb(self.optimizer)} of optimizer states, "
            f"plus activations; disk: {_gb(self.disk)}"
        )


def _gb(size: int) -> str:
    return f"{size / 1e9:,.2f} GB"


def estimate(settings: Settings, learner: Learner, ranks: int) -> Estimate:
    """Estimate one run (Rajbhandari et al. 2020, section 3, for what each ZeRO stage shards)."""
    parameters, trained_count = learner.parameters(), learner.trained_count()
    stage, precision = stage_of(settings.deepspeed), training_precision(settings)
    deepspeed = uses_deepspeed(settings.deepspeed)
    # Without DeepSpeed, weights stay in single precision; autocasting uses the other one.
    size = 2 if deepspeed and precision != "fp32" else 4
    # DeepSpeed's optimizer has its own single-precision weights.
    states = trained_count * (_MOMENTS + (4 if deepspeed else 0))
    lora = settings.lora
    weights = parameters * (lora.bits / 8 if lora.bits else size)
    saved_bytes = (trained_count if lora.r else parameters) * size
    merged_bytes = parameters * size if lora.r and lora.merge else 0
    checkpoint_bytes = saved_bytes + states
    return Estimate(
        parameters,
        trained_count,
        ranks,
        weights=int(weights) // (ranks if stage == 3 else 1),
        gradients=trained_count * size // (ranks if stage >= 2 else 1),
        optimizer=states // (ranks if stage >= 1 else 1),
        # Two checkpoints and three copies of the exported weights, as `Estimate` explains.
        disk=2 * checkpoint_bytes + 3 * saved_bytes + merged_bytes,
    )
