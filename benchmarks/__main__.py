"""The command line of the benchmarks.

python -m benchmarks                              (lists the cases)
python -m benchmarks CASE [PART …] [key=value …]
python -m benchmarks all                          (what `make bench` runs)
python -m benchmarks pages                        (writes all documents from the recorded figures)
"""

import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from adnominal.conf import ROOT
from benchmarks import BENCH, CASES, load_case


def list_cases() -> None:
    """Print the command line and the cases, each with the first line of its documentation."""
    print(__doc__)
    for name in CASES:
        source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
        first_line, _, _ = source.removeprefix('"""').partition("\n")
        print(f"{name:10}{first_line}")


def run_all() -> int:
    """Run every case of `make bench` in its own process, then write all documents; 1 if a case
    failed."""
    failed = []
    for case in BENCH:
        command = [sys.executable, "-m", "benchmarks", case]
        if subprocess.call(command, cwd=ROOT):
            failed.append(case)
    write_documents()
    print(f"failed: {', '.join(failed) or 'none'}", file=sys.stderr)
    return 1 if failed else 0


def write_documents() -> int:
    """Write RESULTS.md and the figures in other documents."""
    from benchmarks import documents, rendering

    rendering.write_page()
    documents.write_all()
    return 0


def main(words: Sequence[str]) -> int:
    """Run the command named by the first word; the exit code."""
    name, settings = (words[0], words[1:]) if words else ("", [])
    if name == "all":
        return run_all()
    if name == "pages":
        return write_documents()
    if name not in CASES:
        list_cases()
        return 2 if words else 0
    from benchmarks import harness

    module = import_module(f"benchmarks.{name}")
    return harness.main(load_case(name), module.__doc__ or "", settings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
