"""Count the pairs of a text with the compiled extractor; the process that `fast` measures.

A separate process has its own memory and an empty vocabulary. The arguments are the text, and the
extension if it is not that of the package.
"""

from __future__ import annotations

import json
import resource
import sys

from benchmarks.processes import timed
from benchmarks.sanitized import load
from etl.parsing.fast.extractor import new_extractor, tables


def main(text: str, module: str = "") -> None:
    """Print words, pairs, CPU seconds and memory as JSON."""
    portable = load("etl.parsing.fast._fast", module).Extractor if module else None
    extractor = portable(tables()) if portable else new_extractor()
    size = words = 0
    seconds = 0.0
    with open(text, "rb") as stream:
        while block := stream.read(1 << 20):
            block += stream.readline()
            words += len(block.split())
            size += len(block)
            with timed(subject=True) as timing:
                extractor.feed(block)
            seconds += timing.cpu
    distinct, *_ = extractor.drain()
    figures = {
        "bytes": size,
        "words": words,
        "seconds": seconds,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "words_per_second": words / seconds,
        "distinct_pairs": distinct,
        "pairs": extractor.stats()["pairs"],
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(*sys.argv[1:])
