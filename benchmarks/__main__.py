"""The command line of the benchmarks; see `benchmarks.harness`.

python -m benchmarks                             (lists the cases)
python -m benchmarks CASE [PART …] [key=value …]
python -m benchmarks all                         (what `make bench` runs)
python -m benchmarks pages                       (rewrites RESULTS.md from the recorded figures)
"""

import ast
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from adnominal.conf import ROOT
from benchmarks import BENCH, FURTHER, MOVED, moved


def run_all() -> int:
    """Run every case of `make bench`, each in its own process; return 1 if one failed."""
    failed = [
        case
        for case in BENCH
        if subprocess.call([sys.executable, "-m", "benchmarks", case], cwd=ROOT)
    ]
    print(f"failed: {', '.join(failed) or 'none'}", file=sys.stderr)
    return 1 if failed else 0


def list_cases() -> None:
    """Print the command line and the cases, each with the first line of its documentation."""
    print(__doc__)
    for case in (*BENCH, *FURTHER):
        source = Path(__file__).with_name(f"{case}.py").read_text(encoding="utf-8")
        print(f"{case:18}{(ast.get_docstring(ast.parse(source)) or '').partition(chr(10))[0]}")


def main(words: Sequence[str]) -> int:
    """Run the case named by the first word; return the exit code."""
    name = words[0].replace("-", "_") if words else ""
    if name == "all":
        return run_all()
    if name == "pages":
        from benchmarks import harness

        harness.write_pages()
        return 0
    if name in MOVED:
        return main(moved(name, list(words[1:])))
    if name not in (*BENCH, *FURTHER):
        list_cases()
        return 2 if words else 0
    module = import_module(f"benchmarks.{name}")
    if hasattr(module, "CASE"):
        from benchmarks import harness

        return harness.main(module.CASE, module.__doc__ or "", words[1:])
    return int(module.main(words[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
