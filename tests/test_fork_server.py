"""A forked process behaves like one started with ``python``, and ends with its program."""

import os
import signal
import subprocess
import sys

import pytest

from tests import fork_client, fork_server

REPORT = """
import os, sys
print(__name__, sys.argv[1:], os.getcwd(), os.environ["MARK"], sys.stdin.read())
print("error", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("server")
    return fork_server.start(folder, {"few": ("json",)}, os.environ)["few"]


@pytest.mark.parametrize("words", [["script.py"], ["-m", "script"], ["-u", "-c", REPORT]])
def test_it_is_called_like_python(python, tmp_path, words):
    (tmp_path / "script.py").write_text(REPORT)
    process = subprocess.run(
        [python, *words, "one", "two"],
        cwd=tmp_path,
        env={"MARK": "set"},
        input="typed",
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.stdout == f"__main__ ['one', 'two'] {tmp_path} set typed\n"
    assert (process.stderr, process.returncode) == ("error\n", 3)


@pytest.mark.parametrize(
    ("code", "end"),
    [
        ("", 0),
        ("raise SystemExit", 0),
        ("raise SystemExit('no')", 1),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
    ],
)
def test_exit_codes_are_those_of_python(python, code, end):
    for program in (python, sys.executable):
        assert subprocess.run([program, "-c", code], capture_output=True).returncode == end


@pytest.mark.parametrize(("options", "is_found"), [([], True), (["-P"], False)])
def test_the_search_path_is_that_of_python(python, tmp_path, options, is_found):
    (tmp_path / "local_module.py").write_text("")
    code = "from importlib.util import find_spec; print(find_spec('local_module') is not None)"
    for program in (python, sys.executable):
        words = [program, *options, "-c", code]
        assert subprocess.check_output(words, cwd=tmp_path, text=True) == f"{is_found}\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_process_ends_with_its_program(python, number):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    program = subprocess.Popen([python, "-c", code], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    process = int(program.stdout.readline())
    assert process != program.pid
    program.send_signal(number)
    assert program.wait() == -number
    fork_server.settle(python)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_it_fails_without_a_server(tmp_path, capsys):
    assert fork_client.main(str(tmp_path / "socket")) == fork_client.NO_SERVER
    assert "no answer from the fork server" in capsys.readouterr().err
