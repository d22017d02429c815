"""Commands that have used an object store end with their own exit code, without a teardown."""

import subprocess
import sys

import pytest

from adnominal.conf import ROOT, exiting

SCRIPT = """
import atexit, os, sys
from adnominal import conf
from adnominal.conf import UserError, exiting
sys.modules["__main__"].__file__ = sys.argv[1]
def work():
    atexit.register(print, "handler of the work")
    exiting.skip_teardown()
    if sys.argv[2] == "mistake":
        raise UserError("no")
class Teardown:
    def __del__(self):
        os.write(1, b"teardown")
kept = Teardown()
sys.exit(conf.exit_code(work))
"""


@pytest.mark.parametrize(("kind", "code"), [("done", 0), ("mistake", 2)])
@pytest.mark.parametrize("is_own", [True, False])
def test_a_command_that_used_a_store_skips_the_teardown(kind, code, is_own, tmp_path):
    main = ROOT / "etl" / "pipeline.py" if is_own else tmp_path / "theirs.py"
    process = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(main), kind],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == code
    assert process.stdout.startswith("handler of the work")
    assert ("teardown" in process.stdout) != is_own


def test_a_runner_of_tests_is_no_command():
    assert not exiting.is_own_command()
