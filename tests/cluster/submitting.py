"""Jobs on a Spark with more jars, in processes of their own."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyarrow.fs as pa_fs
import pytest

from adnominal.conf import ROOT
from adnominal.etl.lake.storage import Store
from tests.spark.conftest import JAVA_OPTIONS

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
