"""Jobs on YARN by conf/spark/yarn.conf, with a packed environment, a killed container, and HDFS."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pa_fs
import pytest
import yaml

from adnominal.conf import ROOT, load
from adnominal.etl.amod.job import extract
from adnominal.etl.amod.settings import Settings
from adnominal.etl.lake.storage import Store
from tests.cluster.hadoop import LOCAL_PYTHON, Hadoop
from tests.cluster.submitting import EXTRACTION, copy_of_store
from tests.etl.amod.corpus import contents
from tests.jars import jars
from tests.spark.test_cluster import wait_until, write_corpus
from tests.spark.test_conformance import assert_same_lake, run_elsewhere

# docs/cluster.md says how it is packed; tests/cluster/install.sh does so.
PACKED = Path(os.environ.get("ADNOMINAL_PACKED", ROOT / "build" / "engines" / "packed.tar.gz"))


@pytest.fixture(scope="module")
def hadoop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hadoop]:
    jars("yarn")
    hadoop = Hadoop(tmp_path_factory.mktemp("hadoop"))
    try:
        hadoop.start()
        yield hadoop
    finally:
        hadoop.stop()


def test_a_container_killed_during_a_wave_changes_nothing(hadoop, tmp_path):
    write_corpus(tmp_path / "parts")
    words = ["source=depcc", f"input={tmp_path}/parts/*.gz"]
    lake = tmp_path / "lake"
    job = hadoop.submit("extract_amod.py", *words, f"lake={lake}", options=LOCAL_PYTHON)
    wait_until(hadoop.counting_executor, "an executor counts", job).kill()
    output = hadoop.finish(job)
    assert "Lost executor" in output or "exited" in output
    extract(load(Settings, [*words, f"lake={tmp_path / 'local'}"]))
    assert contents(lake) == contents(tmp_path / "local")


def test_a_packed_environment_in_cluster_mode(hadoop, tmp_path):
    if not PACKED.exists():
        pytest.skip(f"no packed environment in {PACKED} (tests/cluster/install.sh)")
    lake = tmp_path / "lake"
    words = ["source=depcc", f"input={EXTRACTION['input'][0]}", "corpus=Zürich", f"lake={lake}"]
    archive = ["--archives", f"{PACKED}#environment"]
    hadoop.finish(hadoop.submit("extract_amod.py", *words, options=archive, mode="cluster"))
    expected = tmp_path / "expected"
    run_elsewhere([{"extract_amod": EXTRACTION}], expected, "sail")
    assert_same_lake(lake, expected)


def test_a_lake_on_hdfs_has_the_tables_of_sail(
    hadoop,
    short_steps,
    short_lake,
    tmp_path,
):
    """The corpus is read from HDFS as well, through its web server."""
    source = pa_fs.LocalFileSystem()
    target = pa_fs.PyFileSystem(Store(f"{hadoop.address}/depcc"))
    (path,) = EXTRACTION["input"]
    pa_fs.copy_files(path, "part.gz", source_filesystem=source, destination_filesystem=target)
    extraction = {**EXTRACTION, "input": [f"{hadoop.web_address}/depcc/*.gz"]}
    file = tmp_path / "steps.yaml"
    again = {"extract_amod": {**extraction, "restart": True}}
    hdfs_steps = [{"extract_amod": extraction}, again, *short_steps[2:]]
    file.write_text(yaml.safe_dump({"steps": hdfs_steps}), encoding="utf-8")
    lake = f"{hadoop.address}/lake"
    words = [str(file), f"lake={lake}", "engine=spark"]
    hadoop.finish(hadoop.submit("pipeline.py", *words, options=LOCAL_PYTHON))
    assert_same_lake(copy_of_store(lake, tmp_path / "lake"), short_lake)
