"""Every engine and writer gives the tables of the embedded engine, row by row."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from tests.cluster.submitting import copy_of_store, spark_3_5, submit_variables
from tests.commands import run_python
from tests.etl.test_object_store import store  # noqa: F401
from tests.jars import jars
from tests.spark.test_conformance import DEMO, SCRIPT, assert_same_lake, pipeline, run_elsewhere

SECONDS = 1200.0
S3_PROPERTIES = {
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    "spark.hadoop.fs.s3a.access.key": "test",
    "spark.hadoop.fs.s3a.secret.key": "test",
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
}
EXTRACTION = {"source": "depcc", "input": [str(DEMO / "depcc-part.gz")], "corpus": "Zürich"}


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """A corpus whose name is not ASCII, extracted twice; the import and the builds."""
    again = {"extract_amod": {**EXTRACTION, "restart": True}}
    later_steps = pipeline(tmp_path_factory.mktemp("input"))[5:]
    return [{"extract_amod": EXTRACTION}, again, *later_steps]


@pytest.fixture(scope="module")
def sail_lake(steps: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake that the pipeline writes with the embedded engine."""
    lake = tmp_path_factory.mktemp("lakes") / "sail"
    run_elsewhere(steps, lake, "sail")
    return lake


def run_steps(
    steps: list[dict[str, Any]],
    lake: str,
    file: Path,
    python: str,
    variables: dict[str, str],
    engine: str = "spark",
) -> str:
    """Run the pipeline in another process; its messages."""
    file.write_text(yaml.safe_dump({"steps": steps}), encoding="utf-8")
    words = (SCRIPT, file, f"lake={lake}", f"engine={engine}")
    return run_python(*words, python=python, timeout=SECONDS, variables=variables).stderr


@pytest.mark.parametrize(
    ("version", "sets"),
    [("4.1", ["delta"]), ("3.5", ["delta-3.5"]), ("3.5", [])],
    ids=["spark 4.1 with delta-spark", "spark 3.5 with delta-spark", "spark 3.5 with delta-rs"],
)
def test_spark_gives_the_tables_of_sail(steps, sail_lake, tmp_path, version, sets):
    python = sys.executable if version == "4.1" else spark_3_5()
    variables = submit_variables(jars(*sets), python)
    lake = tmp_path / "lake"
    run_steps(steps, str(lake), tmp_path / "steps.yaml", python, variables)
    is_connectors = bool(list(lake.glob("amod_pairs/_delta_log/.*.crc")))
    assert is_connectors == bool(sets), "the other writer was used"
    assert_same_lake(lake, sail_lake)
    assert run_python("-m", "etl.lake", "verify", f"lake={lake}").stdout


@pytest.mark.parametrize("engine", ["sail", "connect"])
def test_spark_3_5_has_no_other_engine(engine, tmp_path):
    words = [f"{key}={','.join(v) if isinstance(v, list) else v}" for key, v in EXTRACTION.items()]
    process = run_python(
        ROOT / "etl" / "extract_amod.py",
        *words,
        f"engine={engine}",
        f"lake={tmp_path}",
        python=spark_3_5(),
        code=2,
        variables={"SPARK_REMOTE": "sc://127.0.0.1:1"},
    )
    assert f"engine={engine}: pyspark 3.5" in process.stderr


@pytest.fixture
def s3_variables(store: dict[str, str]) -> Iterator[dict[str, str]]:  # noqa: F811
    """Variables with which a job's Spark reaches the store."""
    endpoint = {"spark.hadoop.fs.s3a.endpoint": store["AWS_ENDPOINT_URL"]}
    yield submit_variables(jars("s3"), properties={**S3_PROPERTIES, **endpoint})


@pytest.fixture
def short_steps(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The extractions and a build."""
    return [*steps[:3], {"build_plane": {"preset": "demo", "two_shot": 3}}]


def test_spark_writes_a_lake_in_an_object_store(short_steps, s3_variables, sail_lake, tmp_path):
    """Killed in the middle, and two jobs at once."""
    lake, file = "s3://bucket/lake", tmp_path / "steps.yaml"
    file.write_text(yaml.safe_dump({"steps": short_steps[:1]}), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(file), f"lake={lake}", "engine=spark"]
    environment = {**os.environ, **s3_variables}
    killed = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
    time.sleep(25)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    other = tmp_path / "other.yaml"
    second = {"extract_amod": {**EXTRACTION, "corpus": "second"}}
    other.write_text(yaml.safe_dump({"steps": [second]}), encoding="utf-8")
    writers = [
        subprocess.Popen([*command[:2], str(path), *command[3:]], cwd=ROOT, env=environment)
        for path in (file, other)
    ]
    assert [writer.wait(SECONDS) for writer in writers] == [0, 0]
    all_steps = [second, *short_steps]
    run_steps(all_steps, lake, file, sys.executable, s3_variables)
    local = copy_of_store(lake, tmp_path / "lake")
    for table in ("amod_pairs", "amod_association", "plane_items", "plane_splits"):
        assert arrow.row_count(str(local), table), table
    expected = tmp_path / "expected"
    run_elsewhere(all_steps, expected, "sail")
    assert_same_lake(local, expected)
    assert run_python("-m", "etl.lake", "verify", f"lake={lake}").stdout
