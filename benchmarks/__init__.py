"""Benchmarks: each module is a case of one harness; ``python -m benchmarks`` lists them."""

from __future__ import annotations

import sys

BENCH = (
    *("extract", "parse", "kill", "engines", "sources", "scale", "faults", "sygns", "asp"),
    *("adept", "plane", "train", "predict", "explore", "install", "sizing", "reproducing"),
    "readme",
)
"""What `make bench` runs, in this order."""
FURTHER = (
    *("families", "finetuned", "job_kills", "kernel_mutations", "papers", "plane_paper", "resume"),
    *("training_memory", "demo_depcc", "parse_quality"),
)
"""What takes special inputs, or days."""
MODULES = ("fast", "fast_agreement", "fast_mutations")
"""What runs as a module of its own, without the harness."""


def _as_a_module() -> None:
    """Let ``python -m benchmarks.CASE``, of earlier versions, run ``python -m benchmarks CASE``."""
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    case = module.removeprefix("benchmarks.")
    if sys.argv[:1] == ["-m"] and case != module and case in (*BENCH, *FURTHER):
        from benchmarks.__main__ import main

        print(f"python -m {module} is now python -m benchmarks {case}", file=sys.stderr)
        sys.exit(main([case, *sys.argv[1:]]))


_as_a_module()
