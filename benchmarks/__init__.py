"""Benchmarks: each module is a case of one harness; ``python -m benchmarks`` lists them."""

import sys

BENCH = (
    *("extract", "parse", "kill", "engines", "sources", "scale", "faults", "sygns", "asp"),
    *("adept", "plane", "train", "predict", "explore", "install", "sizing", "reproducing"),
    "readme",
)
"""What `make bench` runs, in this order."""
FURTHER = (
    *("families", "finetuned", "job_kills", "kernel_mutations", "papers", "plane_paper", "resume"),
    *("training_memory", "demo_depcc", "parse_quality", "fast", "fast_agreement"),
)
"""Cases that need special inputs, or take days."""
MOVED = {"fast_mutations": ["fast", "mutations"]}
"""Cases of earlier versions, and the command lines that replace them."""


def moved(case: str, words: list[str], *, by: str = "python -m benchmarks {}") -> list[str]:
    """The command line of a case; if it has changed from `by`, the new one is printed."""
    command = [*MOVED.get(case, [case]), *words]
    earlier, now = by.format(case), " ".join(MOVED.get(case, [case]))
    if earlier != f"python -m benchmarks {now}":
        print(f"{earlier} is now python -m benchmarks {now}", file=sys.stderr)
    return command


def _as_a_module() -> None:
    """Let ``python -m benchmarks.CASE``, of earlier versions, run ``python -m benchmarks CASE``."""
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    case = module.removeprefix("benchmarks.")
    if sys.argv[:1] == ["-m"] and case != module and case in (*BENCH, *FURTHER, *MOVED):
        command = moved(case, sys.argv[1:], by="python -m benchmarks.{}")
        from benchmarks.__main__ import main

        sys.exit(main(command))


_as_a_module()
