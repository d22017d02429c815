"""Jobs whose output is no longer read, as by `| head`."""

import pytest

from tests.commands import run_python, run_python_unread

JOB = """
import sys, conf
from dataclasses import dataclass

@dataclass(frozen=True)
class Settings:
    flush: bool = False
    fail: str = ""

def job(settings):
    for line in range(3):
        print("line", line, flush=settings.flush)
    print("done", file=sys.stderr)
    if settings.fail == "job":
        raise conf.JobFailed("a file failed")
    if settings.fail == "pipe":
        raise BrokenPipeError("a worker has ended")

sys.exit(conf.run(Settings, job))
"""


def test_an_encoding_without_a_character():
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    text = run_python("-m", "adnominal", "--help", variables=ascii_only).stdout
    assert r"key=value \u2026: adjective\u2013noun" in text


@pytest.mark.parametrize("flush", ["flush=true", "flush=false"])
def test_a_closed_output_does_not_change_the_exit_code(flush):
    code, messages = run_python_unread("-c", JOB, flush)
    assert (code, messages.splitlines()[-1]) == (0, "done")
    code, messages = run_python_unread("-c", JOB, flush, "fail=job")
    assert (code, messages.splitlines()[-2:]) == (1, ["done", "error: a file failed"])
    assert "BrokenPipe" not in messages


def test_help_can_be_written_to_a_closed_output():
    assert run_python_unread("-c", JOB, "--help") == (0, "")


def test_other_closed_pipes_are_errors():
    code, messages = run_python_unread("-c", JOB, "fail=pipe")
    assert code == 1
    assert "BrokenPipeError: a worker has ended" in messages


def test_a_job_can_run_without_standard_output():
    process = run_python("-c", "import sys; sys.stdout = None\n" + JOB, "fail=job", code=1)
    assert "error: a file failed" in process.stderr
    show_help = "from adnominal.etl.looking.commands import main; sys.exit(main(['-h']))"
    run_python("-c", f"import sys; sys.stdout = None; {show_help}")


def test_attempts_of_the_client_of_the_hub_are_not_reported():
    pytest.importorskip("huggingface_hub")
    attempt = "from huggingface_hub.utils import logging; logging.get_logger().warning('attempt')"
    job = JOB.replace("    for line", f"    {attempt}\n    for line")
    assert run_python("-c", job).stderr == "done\n"
