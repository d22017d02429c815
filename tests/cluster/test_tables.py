"""Every engine and writer gives the tables of the embedded engine, row by row."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import yaml

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from tests.cluster.submitting import (
    EXTRACTION,
    S3_PROPERTIES,
    SECONDS,
    copy_of_store,
    run_steps,
    spark_3_5,
    submit_variables,
)
from tests.commands import run_python
from tests.etl.test_object_store import store  # noqa: F401
from tests.jars import jars
from tests.spark.test_conformance import SCRIPT, assert_same_lake


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


def test_spark_writes_a_lake_in_an_object_store(
    short_steps, s3_variables, continued_lake, tmp_path
):
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
    assert_same_lake(local, continued_lake([second, short_steps[-1]]))
    assert run_python("-m", "etl.lake", "verify", f"lake={lake}").stdout
