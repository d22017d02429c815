"""Commands and functions run in processes of their own, and what they use is measured."""

import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.processes import call, kill_tree, run_measured, time_block

BUSY = "import time\nend = time.process_time() + 1.0\nwhile time.process_time() < end: pass"


def test_time_memory_and_files_of_a_command_are_measured(tmp_path):
    hold = (
        f"block = bytearray(100_000_000); open({str(tmp_path / 'x')!r}, 'wb').write(bytes(10**6))"
    )
    usage = run_measured([sys.executable, "-c", f"{hold}\n{BUSY}"], folder=tmp_path)
    assert 0.9 <= usage.cpu < 5 and usage.wall >= 0.9
    assert 100 < usage.memory < 1000
    assert usage.course[-1].disk >= 1e6 and usage.course[-1].cpu == usage.cpu
    assert run_measured([sys.executable, "-c", "pass"]).cpu < 0.5


def test_the_cpu_time_of_processes_without_a_waiting_parent_counts():
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {BUSY!r}])\n"
        "while os.path.exists(f'/proc/{child.pid}'): time.sleep(0.05)\n"
    )
    assert run_measured([sys.executable, "-c", code]).cpu >= 0.8


def test_a_failure_shows_the_last_lines():
    with pytest.raises(RuntimeError, match="exit code 3:\nprinted"):
        run_measured([sys.executable, "-c", "print('printed'); raise SystemExit(3)"])


def test_the_command_gets_the_requested_cores_and_environment():
    code = "import os; assert os.sched_getaffinity(0) == {0} and os.environ['MARK'] == 'x'"
    run_measured([sys.executable, "-c", code], env={"MARK": "x"}, cores=[0])


def test_a_function_is_called_in_a_separate_process():
    assert call("math:gcd", 12, 18) == 6
    with pytest.raises(RuntimeError, match=r"exit code 1:\n(.*\n)*ValueError"):
        call("math:sqrt", -1)


def test_a_block_is_timed_with_the_processes_it_has_waited_for():
    with time_block(children=True) as timing:
        subprocess.run([sys.executable, "-c", BUSY], check=True)
    assert timing.cpu >= 0.9 and timing.wall >= 0.9


def test_the_whole_process_tree_is_killed():
    child = "import time; time.sleep(60)"
    parent = (
        "import subprocess, sys, time; "
        f"print(subprocess.Popen([sys.executable, '-c', {child!r}]).pid, flush=True); "
        "time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE)
    assert process.stdout is not None
    grandchild = psutil.Process(int(process.stdout.readline()))
    assert kill_tree(process) == 2
    process.stdout.close()
    deadline = time.monotonic() + 10
    while grandchild.is_running() and grandchild.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert kill_tree(process) == 0


def test_light_polls_sample_cpu_and_no_memory():
    usage = run_measured([sys.executable, "-c", "sum(range(40_000_000))"], light=True)
    assert usage.cpu > 0.2
    assert usage.memory == 0
    assert usage.course[-1].cpu == usage.cpu
