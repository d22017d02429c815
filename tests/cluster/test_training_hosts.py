"""Training on two hosts by torch's launcher; one host is lost, and the run is continued."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from tests.cluster.hosts import Hosts
from tests.rows import write
from tests.spark.test_cluster import SECONDS, until
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


def launch(hosts: Hosts) -> None:
    """Start torchrun on each host, as docs/training.md says."""
    for number, host in enumerate(hosts.hosts):
        command = (
            f"export PATH={ROOT}/.venv/bin:$PATH OMP_NUM_THREADS=1; "
            f"torchrun --nnodes 2 --nproc_per_node 1 --node_rank {number} "
            "--master_addr one --master_port 29500 training/finetune.py "
            f"{' '.join(WORDS)} lake=/mnt/lake model=/mnt/encoder out=/mnt/runs"
        )
        host.run("train", command, str(ROOT))


def test_a_run_continues_after_a_host_is_lost(hosts, tmp_path):
    write(str(hosts.shared / "lake"), "adept", adept_rows())
    (hosts.shared / "encoder").mkdir()
    make_encoder(hosts.shared / "encoder")
    runs = hosts.shared / "runs"
    launch(hosts)
    first, second = (host.processes[-1] for host in hosts.hosts)
    until(lambda: ranks.reached(runs, 3) or None, "a checkpoint", first)
    hosts.hosts[1].kill_all()
    assert first.wait(SECONDS) and second.wait(SECONDS)
    assert not list(runs.glob("*/result.json"))
    launch(hosts)
    codes = [host.processes[-1].wait(SECONDS) for host in hosts.hosts]
    assert codes == [0, 0], hosts.hosts[0].log("train")[-4000:]
    whole = tmp_path / "whole"
    paths = [f"lake={hosts.shared}/lake", f"model={hosts.shared}/encoder", f"out={whole}"]
    ranks.finish([*WORDS, *paths], 2)
    assert ranks.apart(runs, whole) == {"losses": 0, "weights": 0, "scores": 0}
