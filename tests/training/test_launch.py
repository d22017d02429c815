import os
import socket
from dataclasses import dataclass

import pytest

from adnominal.conf import ROOT, JobFailed, UserError, setting
from adnominal.training import launch
from tests import fork_server
from tests.commands import SECONDS, run_python
from tests.ports import free_port


@dataclass(frozen=True)
class Settings:
    number: int = setting(1, help="a number")


def test_a_port_in_use_is_reported(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    with socket.socket() as listener:
        listener.bind(("", 0))
        listener.listen()
        monkeypatch.setenv("MASTER_PORT", str(listener.getsockname()[1]))
        with pytest.raises(UserError, match="choose a free one"):
            launch.check_port()
    launch.check_port()


@pytest.mark.parametrize("port", ["many", "99999"])
def test_an_invalid_port_is_reported(monkeypatch, port):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("MASTER_PORT", port)
    with pytest.raises(UserError, match=f"MASTER_PORT={port}"):
        launch.check_port()


def test_only_the_first_process_checks_the_port(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("MASTER_PORT", "none")
    launch.check_port()


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (JobFailed("the same in all"), 1, ""),
        (launch.RankFailed("NaN\nhere"), 1, "error: NaN here\n"),
        (UserError("a mistake"), 2, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_other_processes_report_only_failures_of_their_own(monkeypatch, capsys, error, code, line):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("LOCAL_RANK", "1")

    def job(settings: Settings) -> None:
        raise error

    assert launch.run(Settings, job, []) == code
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("words", "jobs"), [(["--help"], []), (["-h"], []), (["--show-settings", "number=3"], [3])]
)
@pytest.mark.parametrize("rank", ["0", "1"])
def test_every_process_takes_the_words_that_are_no_settings(monkeypatch, capsys, words, jobs, rank):
    monkeypatch.setenv("RANK", rank)
    numbers: list[int] = []
    code = launch.run(
        Settings, lambda settings: numbers.append(settings.number), words, more_help=lambda: "more"
    )
    assert (code, numbers) == (0, jobs)
    assert capsys.readouterr().out.endswith("more") == (rank == "0" and not jobs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [["--standalone"], ["--master_addr=127.0.0.1", "--master_port={port}"]]
)
def test_processes_of_torchs_launcher_form_a_group(tmp_path, options):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from adnominal.training import launch\n"
        "launch.start(timeout=77)\n"
        "ranks = launch.gather(launch.rank())\n"
        "group = torch.distributed.group.WORLD._get_backend(torch.device('cpu'))\n"
        "if launch.rank() == 0:\n"
        "    print(ranks, group.options._timeout)\n"
        "launch.stop()\n"
    )
    options = [option.format(port=free_port()) for option in options]
    words = ["-m", "torch.distributed.run", "--nproc_per_node=2", *options, script]
    variables = {"PYTHONPATH": os.fspath(ROOT), "OMP_NUM_THREADS": "1"}
    python = fork_server.python("libraries")
    process = run_python(*words, python=python, timeout=SECONDS, variables=variables)
    assert process.stdout == "[0, 1] 0:01:17\n"


def test_a_single_process_needs_no_group():
    launch.environment()
    assert (launch.rank(), launch.world_size()) == (0, 1)
    assert launch.broadcast("x") == "x"
    assert launch.gather("x") == ["x"]
    launch.barrier()
