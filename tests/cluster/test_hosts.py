"""A standalone cluster of three hosts by docs/cluster.md, and one host that is cut off."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from adnominal.conf import load
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings
from tests.cluster.standalone import Standalone
from tests.spark.test_cluster import wait_until, write_corpus
from tests.spark.test_conformance import assert_same_lake


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Standalone]:
    cluster = Standalone(tmp_path / "hosts")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def test_three_hosts_give_the_tables_of_sail(
    cluster,
    short_steps,
    short_lake,
    tmp_path,
):
    file = cluster.share_steps(short_steps)
    cluster.finish(cluster.submit("pipeline.py", f"{file} lake=/mnt/lake engine=spark"))
    assert_same_lake(cluster.shared / "lake", short_lake)
    logged = cluster.executors(1) + cluster.executors(2)
    assert "compiled kernel" in logged
    assert "code from /tmp/work/app-" in logged


def test_a_host_cut_off_during_a_wave_changes_nothing(cluster, tmp_path):
    write_corpus(cluster.shared / "depcc")
    words = "source=depcc input='/mnt/depcc/*.gz' lake=/mnt/lake"
    job = cluster.submit("extract_amod.py", words)
    wait_until(lambda: "compiled kernel" in cluster.executors(1), "the second host counts", job)
    cluster.hosts[1].cut_off()
    assert "Lost executor" in cluster.finish(job)
    parts = f"input={cluster.shared}/depcc/*.gz"
    extract(load(Settings, ["source=depcc", parts, f"lake={tmp_path / 'local'}"]))
    assert_same_lake(cluster.shared / "lake", tmp_path / "local")
