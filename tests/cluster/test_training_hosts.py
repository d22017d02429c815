"""Training on two hosts by torch's launcher; one host is lost, and the run is continued."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from tests.cluster.hosts import Host, Hosts
from tests.commands import SECONDS
from tests.rows import write
from tests.spark.test_cluster import until
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


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    hosts = Hosts(tmp_path / "hosts", ("one", "two"), all_have_checkout=True)
    try:
        hosts.start()
        yield hosts
    finally:
        hosts.stop()


def torchrun(host: Host, options: str, out: str) -> subprocess.Popen[bytes]:
    """Start torch's launcher on a host."""
    command = (
        f"export PATH={Path(sys.executable).parent}:$PATH OMP_NUM_THREADS=1; "
        f"torchrun {options} --master_addr one --master_port 29500 training/finetune.py "
        f"{' '.join(WORDS)} lake=/mnt/lake model=/mnt/encoder out=/mnt/{out}"
    )
    return host.run(out, command, str(ROOT))


def launch(hosts: Hosts) -> list[subprocess.Popen[bytes]]:
    """Start the launcher on each host, as docs/training_at_size.md says."""
    return [
        torchrun(host, f"--nnodes 2 --nproc_per_node 1 --node_rank {number}", "runs")
        for number, host in enumerate(hosts.hosts)
    ]


def test_a_run_continues_after_a_host_is_lost(hosts):
    write(str(hosts.shared / "lake"), "adept", adept_rows())
    (hosts.shared / "encoder").mkdir()
    make_encoder(hosts.shared / "encoder")
    runs = hosts.shared / "runs"
    first, second = launch(hosts)
    until(lambda: ranks.reached(runs, 3) or None, "a checkpoint", first)
    hosts.hosts[1].kill_all()
    assert first.wait(SECONDS) and second.wait(SECONDS)
    assert not list(runs.glob("*/result.json"))
    codes = [process.wait(SECONDS) for process in launch(hosts)]
    assert codes == [0, 0], hosts.hosts[0].log("runs")[-4000:]
    alone = torchrun(hosts.hosts[0], "--nnodes 1 --nproc_per_node 2", "whole")
    assert alone.wait(SECONDS) == 0
    differences = ranks.apart(runs, hosts.shared / "whole")
    assert differences == {"losses": 0, "weights": 0, "scores": 0}
