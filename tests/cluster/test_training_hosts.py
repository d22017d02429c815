"""Training on two hosts by each launcher; one host is lost, and the same command continues."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from tests.cluster.hosts import Host, Hosts
from tests.cluster.ssh import SecureShell
from tests.commands import SECONDS
from tests.rows import write
from tests.spark.test_cluster import wait_until
from tests.training import ranks
from tests.training.conftest import UNRECORDED, adept_rows, make_encoder

WORDS = (
    "task.name=adept",
    *UNRECORDED,
    "learning_rate=1e-3",
    "num_train_epochs=8",
    "batch_size=40",
    "save_strategy=steps",
    "save_steps=2",
    "logging_steps=1",
    "deepspeed=zero2",
)
PROCESSES = list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    hosts = Hosts(tmp_path_factory.mktemp("hosts"), ("one", "two"), all_have_checkout=True)
    write(str(hosts.shared / "lake"), "adept", adept_rows())
    (hosts.shared / "encoder").mkdir()
    make_encoder(hosts.shared / "encoder")
    try:
        hosts.start()
        yield hosts
    finally:
        hosts.stop()


@pytest.fixture(scope="module")
def whole_run(hosts: Hosts) -> Path:
    """A run on one host that nothing interrupts."""
    launcher = torchrun(hosts.hosts[0], "--nnodes 1 --nproc_per_node 2", "whole")
    assert launcher.wait(SECONDS) == 0
    return hosts.shared / "whole"


def train(host: Host, launcher: str, out: str) -> subprocess.Popen[bytes]:
    """Start a launcher with its options on a host."""
    command = (
        f"export PATH={Path(sys.executable).parent}:$PATH OMP_NUM_THREADS=1; "
        f"{launcher} --master_addr one --master_port 29500 training/finetune.py "
        f"{' '.join(WORDS)} lake=/mnt/lake model=/mnt/encoder out=/mnt/{out}"
    )
    # DeepSpeed reads `.deepspeed_env` in the home.
    return host.run(out, command, str(ROOT), ("HOME=/mnt",))


def torchrun(host: Host, options: str, out: str) -> subprocess.Popen[bytes]:
    return train(host, f"torchrun {options}", out)


def torchrun_on_each(hosts: Hosts, out: str) -> PROCESSES:
    """Start torch's launcher on each host, as docs/training_at_size.md says."""
    return [
        torchrun(host, f"--nnodes 2 --nproc_per_node 1 --node_rank {number}", out)
        for number, host in enumerate(hosts.hosts)
    ]


def deepspeed_from_first(hosts: Hosts, out: str) -> PROCESSES:
    """Start DeepSpeed's launcher on the first host, as the page says; it reaches both over ssh."""
    (hosts.shared / "hosts").write_text("one slots=1\ntwo slots=1\n")
    (hosts.shared / ".deepspeed_env").write_text("OMP_NUM_THREADS=1\n")
    return [train(hosts.hosts[0], "deepspeed --hostfile /mnt/hosts", out)]


def lose_second_host(hosts: Hosts, launchers: PROCESSES, out: str) -> None:
    """Kill everything on the second host once there is a checkpoint: the launchers end, with
    errors and without a result."""
    runs = hosts.shared / out
    wait_until(lambda: ranks.has_reached(runs, 3) or None, "a checkpoint", launchers[0])
    hosts.hosts[1].kill_all()
    assert all(launcher.wait(SECONDS) for launcher in launchers)
    assert not list(runs.glob("*/result.json"))


def check_equal(run: Path, whole_run: Path) -> None:
    differences = ranks.largest_differences(run, whole_run)
    assert differences == {"losses": 0, "weights": 0, "scores": 0}


def test_a_run_of_torchrun_continues_after_a_host_is_lost(hosts, whole_run):
    lose_second_host(hosts, torchrun_on_each(hosts, "torchrun"), "torchrun")
    codes = [launcher.wait(SECONDS) for launcher in torchrun_on_each(hosts, "torchrun")]
    assert codes == [0, 0], hosts.hosts[0].log("torchrun")[-4000:]
    check_equal(hosts.shared / "torchrun", whole_run)


def test_a_run_of_deepspeed_over_ssh_continues_after_a_host_is_lost(hosts, whole_run):
    shell = SecureShell(hosts)
    for host in hosts.hosts:
        shell.start(host)
    lose_second_host(hosts, deepspeed_from_first(hosts, "deepspeed"), "deepspeed")
    shell.start(hosts.hosts[1])
    (launcher,) = deepspeed_from_first(hosts, "deepspeed")
    assert launcher.wait(SECONDS) == 0, hosts.hosts[0].log("deepspeed")[-4000:]
    check_equal(hosts.shared / "deepspeed", whole_run)
