import subprocess
import sys
import time

import psutil
import pytest

from benchmarks.processes import kill_tree, measured

BUSY = "import time\nwhile time.process_time() < 0.5: pass"


def test_the_cpu_time_of_orphaned_processes_counts():
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY!r}])"
    used = measured([sys.executable, "-c", orphan])
    assert used.code == 0 and 0.5 < used.cpu < 5
    assert measured([sys.executable, "-c", "pass"]).cpu < 0.4


def test_output_is_captured_and_failure_is_reported():
    used = measured([sys.executable, "-c", "print('said'); raise SystemExit(3)"])
    assert (used.code, used.output) == (3, "said\n")
    with pytest.raises(RuntimeError, match="exit code 3:\nsaid"):
        used.checked()


def test_the_command_gets_the_requested_cores_and_environment():
    code = "import os; print(len(os.sched_getaffinity(0)), os.environ['MARK'])"
    used = measured([sys.executable, "-c", code], env={"MARK": "x"}, cores=[0])
    assert used.checked().output == "1 x\n"


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


def test_the_cpu_time_of_processes_without_a_waiting_parent_counts():
    burn = "import time; end = time.process_time() + 1.0\nwhile time.process_time() < end: pass"
    code = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {burn!r}])\n"
        "while os.path.exists(f'/proc/{child.pid}'): time.sleep(0.05)\n"
    )
    assert measured([sys.executable, "-c", code]).checked().cpu >= 0.8
