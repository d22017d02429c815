"""Fuzz every reader for a bounded time: ``python -m tests.fuzz [seconds=600] [reader=NAME]``."""

import logging
import random
import re
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from adnominal import conf
from adnominal.conf import JobFailed, UserError, setting
from tests.fuzz.mutations import mutate, restructure
from tests.fuzz.readers import Reader, readers

_FAULTS_SHOWN = 3
# The share of inputs with a fault of structure; the others have faults of single bytes.
_RESTRUCTURED = 0.2


@dataclass(frozen=True)
class Settings:
    """Settings of ``python -m tests.fuzz``."""

    seconds: float = setting(600, help="total time for all readers")
    reader: str | None = setting(None, help="only this reader")
    seed: int = setting(0, help="seed of the mutations")
    folder: str | None = setting(None, help="folder for inputs that reveal a fault")
    replay: str | None = setting(None, help="a file of input to read again, with reader=")

    def __post_init__(self) -> None:
        if self.reader and self.reader not in [reader.name for reader in readers()]:
            raise UserError(f"reader={self.reader}: expected one of {[r.name for r in readers()]}")


def fuzz(settings: Settings) -> None:
    """Try mutated inputs; `JobFailed` if one raises anything but a refusal."""
    logging.disable(logging.WARNING)
    selected_readers = [reader for reader in readers() if settings.reader in (None, reader.name)]
    fault_folder = Path(settings.folder or tempfile.mkdtemp(prefix="adnominal-fuzz-"))
    fault_folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    for reader in selected_readers:
        if settings.replay:
            inputs, faults = 1, {}
            if fault := fault_of(reader, Path(settings.replay).read_bytes()):
                faults = {fault: b""}
        else:
            inputs, faults = try_reader(
                reader, settings.seconds / len(selected_readers), settings.seed
            )
        print(f"{reader.name:<24}{inputs:>12_} inputs  {len(faults)} faults", flush=True)
        for number, (fault, data) in enumerate(list(faults.items())[:_FAULTS_SHOWN]):
            path = fault_folder / f"{reader.name.replace(' ', '-')}-{number}"
            path.write_bytes(data)
            print(f"  seed={settings.seed} reader='{reader.name}' replay={path}: {fault}")
        bad += len(faults)
    if bad:
        raise JobFailed(f"{bad} kinds of faults; their inputs are in {fault_folder}")


def try_reader(reader: Reader, seconds: float, seed: int) -> tuple[int, dict[str, bytes]]:
    """The number of inputs tried in the time, and one input for each fault."""
    draw = random.Random(f"{seed}/{reader.name}")
    faults: dict[str, bytes] = {}
    inputs = 0
    corpus = list(reader.seeds)
    foreign = [seed for other in readers() if other.name != reader.name for seed in other.seeds]
    with tempfile.TemporaryDirectory() as folder:
        for data in corpus:
            if fault := fault_of(reader, data, Path(folder)):
                faults[fault] = data
        # The time starts after the first reading, which loads modules.
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            data = draw.choice(corpus)
            if draw.random() < _RESTRUCTURED:
                data = restructure(data, draw, foreign)
            else:
                data = mutate(data, draw, reader.seeds)
            data = data[:100_000]
            if fault := fault_of(reader, data, Path(folder)):
                faults.setdefault(fault, data)
            elif draw.random() < 0.02 and len(corpus) < 200:
                corpus.append(data)
            inputs += 1
    return inputs, faults


def fault_of(reader: Reader, data: bytes, folder: Path | None = None) -> str:
    """The exception of a reader that is not a refusal, with its place; empty if all is well."""
    if folder is None:
        with tempfile.TemporaryDirectory() as scratch:
            return fault_of(reader, data, Path(scratch))
    try:
        reader.read(data, folder)
    except reader.refuses:
        return ""
    except Exception as error:
        stack = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in stack if "tests/fuzz" not in frame.filename]
        last = frames[-1] if frames else None
        libraries = re.compile("site-packages|/lib/python")
        ours = [frame for frame in frames if not libraries.search(frame.filename)]
        where = f"{ours[-1].filename}:{ours[-1].lineno}" if ours else str(last)
        text = " ".join(str(error).split())[:120]
        return f"{type(error).__name__} at {where}" + (f": {text}" if not ours else "")
    return ""


if __name__ == "__main__":
    sys.exit(conf.run(Settings, fuzz))
