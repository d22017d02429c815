"""The speed of a run: samples, tokens, padding, operations and memory."""

import resource
import time
from typing import Any

# Peak of dense matrix products in half precision, TFLOP/s, as published by the vendors.
PEAKS = {
    "H200": 989.4,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.4,
    "A100": 312.0,
    "L40S": 362.0,
    "L4": 121.0,
    "A10": 125.0,
    "V100": 125.0,
    "T4": 65.0,
}


class Window:
    """Samples, tokens and seconds since the speed was last reported."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Reset the window."""
        self._started = time.perf_counter()
        self._samples = self._tokens = self._padded_tokens = 0

    def add(self, tokens: int, padded_tokens: int, samples: int) -> None:
        """Count a micro-batch."""
        self._samples += samples
        self._tokens += tokens
        self._padded_tokens += padded_tokens

    def close(self, world: int, flops: float, precision: str) -> dict[str, float]:
        """Return the figures of all processes, and reset the window.

        `flops` is the number of operations per token.
        """
        import torch

        counts = torch.tensor([self._samples, self._tokens, self._padded_tokens], dtype=torch.int64)
        if world > 1:
            if torch.cuda.is_available():
                counts = counts.cuda()
            torch.distributed.all_reduce(counts)
        elif torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds = time.perf_counter() - self._started
        self.restart()
        samples, tokens, padded_tokens = counts.tolist()
        figures = {
            "train/seconds": seconds,
            "train/samples": samples,
            "train/samples_per_second": samples / seconds,
            "train/tokens_per_second": tokens / seconds,
            "train/padding_efficiency": tokens / max(1, padded_tokens),
            "train/memory_gib": _memory() / 2**30,
            "train/tflops": flops * tokens / seconds / world / 1e12,
        }
        peak = _peak(precision)
        if peak is not None:
            figures["train/mfu"] = 1e12 * figures["train/tflops"] / peak
        return figures


def _memory() -> int:
    """Return the peak memory in bytes of the device or, without one, of this process."""
    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _peak(precision: str) -> float | None:
    """Return the FLOP/s of this device in half precision; None if unknown."""
    import torch

    if precision == "fp32" or not torch.cuda.is_available():
        return None
    name = torch.cuda.get_device_name()
    return next((1e12 * peak for known, peak in PEAKS.items() if known in name), None)


def flops_per_token(model: Any) -> float:
    """Return the training operations per token: 6 for each weight that multiplies it.

    These are two forward and four backward (Kaplan et al. 2020); embeddings are looked up, not
    multiplied, and the attention of short texts is ignored.
    """
    import torch

    looked_up = {
        id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)
    }
    sizes = (
        int(getattr(p, "ds_numel", p.numel())) for p in model.parameters() if id(p) not in looked_up
    )
    return 6.0 * sum(sizes)
