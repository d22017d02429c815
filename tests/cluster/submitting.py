"""Jobs on a Spark with more jars, in processes of their own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.fs as pa_fs
import pytest
import yaml

from adnominal.conf import ROOT
from adnominal.etl.lake.storage import Store
from tests.commands import run_python
from tests.spark.conftest import JAVA_OPTIONS
from tests.spark.test_conformance import DEMO, SCRIPT

Steps = list[dict[str, Any]]
# The longest wait for a pipeline on a busy machine.
SECONDS = 1200.0
S3_PROPERTIES = {
    "spark.hadoop.fs.s3a.path.style.access": "true",
    "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    "spark.hadoop.fs.s3a.access.key": "test",
    "spark.hadoop.fs.s3a.secret.key": "test",
    "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
}
EXTRACTION = {"source": "depcc", "input": [str(DEMO / "depcc-part.gz")], "corpus": "Zürich"}
OLDEST = Path(os.environ.get("ADNOMINAL_SPARK35", ROOT / "build" / "engines" / "oldest"))


def spark_3_5() -> str:
    """The interpreter with Spark 3.5; without it, the test is skipped."""
    python = OLDEST / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no Spark 3.5 in {OLDEST} (make build/engines/oldest)")
    return str(python)


def submit_variables(
    jar_files: str, python: str = sys.executable, properties: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Variables with which a job under plain Python starts Spark with jars and properties."""
    words = ["--jars", jar_files] if jar_files else []
    words += ["--driver-java-options", f"'{JAVA_OPTIONS}'", "--master", "local[2]"]
    for name, value in {"spark.sql.shuffle.partitions": "2", **(properties or {})}.items():
        words += ["--conf", f"{name}={value}"]
    return {
        "PYSPARK_SUBMIT_ARGS": " ".join([*words, "pyspark-shell"]),
        "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
    }


def copy_of_store(lake: str, folder: Path) -> Path:
    """Copy a lake in a store to a new local folder; the folder."""
    pa_fs.copy_files("", str(folder), source_filesystem=pa_fs.PyFileSystem(Store(lake)))
    return folder


def run_steps(
    steps: Steps,
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
