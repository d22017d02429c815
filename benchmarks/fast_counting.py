"""Count the pairs of a text with the compiled extractor; `fast` calls it in a separate process,
which has its own memory and an empty vocabulary."""

from adnominal.etl.parsing.fast.extractor import new_extractor, tables
from benchmarks.processes import process_bytes, timed
from benchmarks.sanitized import load


def count(text: str, module: str = "") -> dict[str, float]:
    """Words, pairs, CPU seconds and memory; `module` is another extension than the package's."""
    portable = load("adnominal.etl.parsing.fast._fast", module).Extractor if module else None
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
    return {
        "bytes": size,
        "words": words,
        "seconds": seconds,
        "memory_mb": process_bytes("VmHWM") / 1e6,
        "words_per_second": words / seconds,
        "distinct_pairs": distinct,
        "pairs": extractor.stats()["pairs"],
    }
