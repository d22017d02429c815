"""The settings of the session and of conf/spark, and the packages that executors get."""

import gc
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from adnominal.conf import ROOT, UserError
from adnominal.etl.amod.kernel import available_implementations
from adnominal.etl.engine import running, spark_workers
from adnominal.etl.engine import spark as spark_engine
from adnominal.etl.engine.spark import REQUIRED, Started, check_java, jvm_class_exists, pack
from adnominal.etl.engine.versions import delta_coordinates
from adnominal.etl.lake.spark import Lake
from tests.commands import run_python

PROPERTIES = sorted((ROOT / "conf" / "spark").glob("*.conf"))
IDS = [path.stem for path in PROPERTIES]
# Loading these objects registers their configuration entries in the JVM.
ENTRIES = [
    "org.apache.spark.internal.config.package$",
    "org.apache.spark.internal.config.Network$",
    "org.apache.spark.internal.config.Python$",
    "org.apache.spark.internal.config.UI$",
    "org.apache.spark.sql.internal.SQLConf$",
    "org.apache.spark.sql.internal.StaticSQLConf$",
    "org.apache.spark.deploy.yarn.config.package$",
    "org.apache.spark.deploy.k8s.Config$",
]

NOT_IN_THE_PACKAGE = "org.apache.spark.internal.io.cloud."  # classes of a separate module


def properties(path: Path) -> dict[str, str]:
    """The properties that a file sets."""
    values: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"(spark\.\S+) +(\S+)", line)
            assert match, f"{path.name}: not a property with one value: {line!r}"
            assert match[1] not in values, f"{path.name}: {match[1]} twice"
            values[match[1]] = match[2]
    return values


def commented_properties(path: Path) -> list[tuple[str, str]]:
    """The properties that a file offers in comments."""
    return re.findall(r"^# (spark\.\S+) +(\S+)$", path.read_text(encoding="utf-8"), re.M)


def property_error(jvm, key: str, value: str) -> str | None:
    """Why Spark refuses a property: it is unknown, or its value cannot be read."""
    if key == "spark.master":
        return None
    if key.startswith("spark.hadoop."):
        default = jvm.org.apache.hadoop.mapred.JobConf().get(key.removeprefix("spark.hadoop."))
        return None if default is not None else f"{key}: not a property of Hadoop"
    entry = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry(key)
    if entry is None:
        return f"{key}: not a property of Spark"
    if value.startswith(NOT_IN_THE_PACKAGE):
        return None
    try:
        entry.valueConverter().apply(value)
    except (Py4JJavaError, PySparkException) as error:
        return f"{key}={value}: {error}"
    return None


@pytest.fixture(scope="module")
def jvm(spark):
    jvm = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in ENTRIES:
        jvm.java.lang.Class.forName(name, True, loader)
    return jvm


def test_there_is_a_file_for_each_kind_of_cluster():
    assert IDS == ["kubernetes", "local", "standalone", "yarn"]


@pytest.mark.parametrize("path", PROPERTIES, ids=IDS)
def test_spark_knows_every_property_and_can_read_its_value(jvm, path):
    pairs = [*properties(path).items(), *commented_properties(path)]
    assert [error for key, value in pairs if (error := property_error(jvm, key, value))] == []


def test_the_check_finds_unknown_properties_and_values(jvm):
    assert (
        property_error(jvm, "spark.executor.memry", "4g")
        == "spark.executor.memry: not a property of Spark"
    )
    assert "not a property of Hadoop" in str(property_error(jvm, "spark.hadoop.fs.nope", "1"))
    assert "spark.speculation=perhaps" in str(property_error(jvm, "spark.speculation", "perhaps"))


@pytest.mark.parametrize("path", PROPERTIES, ids=IDS)
def test_files_do_not_set_required_properties(path):
    assert not properties(path).keys() & REQUIRED.keys()


@pytest.mark.parametrize("path", PROPERTIES, ids=IDS)
def test_every_property_is_preceded_by_its_reason(path):
    paragraphs = path.read_text(encoding="utf-8").split("\n\n")
    bare = [p for p in paragraphs if re.search("^spark", p, re.M) and not p.startswith("# ")]
    assert bare == []


def test_the_checks_find_broken_files(tmp_path):
    broken = tmp_path / "broken.conf"
    broken.write_text("spark.speculation\n")
    with pytest.raises(AssertionError, match="not a property with one value"):
        properties(broken)
    broken.write_text("spark.speculation true\nspark.speculation false\n")
    with pytest.raises(AssertionError, match="twice"):
        properties(broken)


def test_the_coordinates_of_delta_are_those_of_the_running_spark():
    for path in PROPERTIES:
        assert ("spark.jars.packages", delta_coordinates()) in commented_properties(path)


PRINT_SETTINGS = """
import json, sys
sys.path[0] = sys.argv[1]
from adnominal.etl import engine
extra = {"spark.sql.shuffle.partitions": "3", "spark.task.maxFailures": "9"}
session = engine.start("ours", extra=extra).spark
keys = [
    "spark.master", "spark.app.name", "spark.sql.adaptive.enabled", "spark.sql.session.timeZone",
    "spark.sql.shuffle.partitions", "spark.task.maxFailures",
]
print(json.dumps({key: session.conf.get(key) for key in keys}))
"""


@pytest.mark.slow
def test_settings_of_spark_submit_are_kept_except_required_ones(tmp_path):
    script = tmp_path / "print_settings.py"
    script.write_text(PRINT_SETTINGS)
    (tmp_path / "given.conf").write_text(
        "spark.master local[1]\nspark.sql.adaptive.enabled false\n"
        "spark.sql.session.timeZone Europe/Paris\nspark.sql.shuffle.partitions 5\n"
    )
    command = ["spark-submit", "--name", "theirs", "--properties-file", "given.conf"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        [*command, str(script), str(ROOT)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(process.stdout.splitlines()[-1]) == {
        "spark.master": "local[1]",
        "spark.app.name": "theirs",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "5",
        "spark.task.maxFailures": "9",
    }


def test_a_running_session_gets_the_required_properties(spark):
    spark.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    assert spark_engine.start("again").spark is spark
    assert {key: spark.conf.get(key) for key in REQUIRED} == REQUIRED


@pytest.mark.parametrize(
    ("master", "local"),
    [("local", True), ("local[*]", True), ("local-cluster[1,1,1024]", False), ("yarn", False)],
)
def test_local_masters_are_recognised(master, local):
    assert spark_engine._is_local(master) is local


def test_a_worker_excludes_existing_objects_from_garbage_collection(spark):
    def freeze(batches):
        list(batches)
        yield pa.RecordBatch.from_pydict({"objects": [gc.get_freeze_count()]})

    frame, previous_count = spark.range(1, numPartitions=1), gc.get_freeze_count()
    assert frame.mapInArrow(Started(freeze), "objects long").first()[0] > 1000
    assert gc.get_freeze_count() <= previous_count  # because this is not a worker


def test_jvm_classes_are_looked_up(spark):
    jvm = spark.sparkContext._jvm
    assert jvm_class_exists(jvm, "org.apache.spark.SparkContext")
    assert not jvm_class_exists(jvm, "org.apache.spark.NoSuchThing")


def test_a_java_home_without_java_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(
        UserError, match=r"Spark needs Java 17 or later, and JAVA_HOME=.* has no bin/java: install"
    ):
        check_java()


def test_missing_java_is_reported(monkeypatch, tmp_path):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="no java is on the PATH"):
        check_java()


def test_the_archive_for_executors_has_sources_data_and_the_kernel(tmp_path):
    with zipfile.ZipFile(pack(tmp_path)) as archive:
        archive.extractall(tmp_path / "executor" / "adnominal")
    names = {
        path.relative_to(tmp_path / "executor" / "adnominal").as_posix()
        for path in (tmp_path / "executor" / "adnominal").rglob("*")
    }
    assert {
        "__init__.py",
        "etl/__init__.py",
        "etl/amod/tasks.py",
        "conf/__init__.py",
        "conf/spark/yarn.conf",
    } <= names
    assert not [name for name in names if re.search(r"__pycache__/|\.pyc$|\.c$|^conf/demo/.", name)]
    code = "import adnominal.etl.amod.kernel as k; print(k.available_implementations(), k.__file__)"
    process = run_python("-c", code, cwd=tmp_path / "executor", variables={"PYTHONPATH": "."})
    kernel_file = tmp_path / "executor" / "adnominal" / "etl" / "amod" / "kernel.py"
    assert process.stdout.strip() == f"{available_implementations()} {kernel_file}"


def test_results_of_more_than_a_megabyte_reach_a_local_driver(spark):
    text = "x" * 2000
    assert spark.range(2000, numPartitions=1).selectExpr(f"'{text}' AS text").collect()


def test_local_workers_import_the_installed_pyspark(spark):
    def worker_paths(batches):
        import sys

        import pyspark

        list(batches)
        yield pa.RecordBatch.from_pydict({"path": [pyspark.__file__, *sys.path]})

    import pyspark

    frame = spark.range(1, numPartitions=1).mapInArrow(worker_paths, "path string")
    used, *paths = [row["path"] for row in frame.collect()]
    assert used == pyspark.__file__
    assert not [path for path in paths if path.endswith((".jar", "pyspark.zip", "-src.zip"))]
    assert str(ROOT) in paths


def test_only_archives_of_the_installed_pyspark_are_removed(monkeypatch, tmp_path):
    import pyspark

    installed = Path(pyspark.__file__).parent / "python" / "lib" / "pyspark.zip"
    other = tmp_path / "spark" / "python" / "lib" / "pyspark.zip"
    monkeypatch.setattr(sys, "path", [str(other), str(installed), *sys.path])
    spark_workers.leave_out_archives()
    assert str(other) in sys.path
    assert str(installed) not in sys.path
    # If the package is only in the archives, workers import from them.
    monkeypatch.setattr(sys, "path", [str(other), str(installed)])
    spark_workers.leave_out_archives()
    assert sys.path == [str(other), str(installed)]


def test_batches_for_python_are_bounded_in_bytes(spark):
    def rows(batches):
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})

    large = spark.range(300, numPartitions=1).selectExpr("repeat('x', 200000) AS text")
    sizes = [row["rows"] for row in large.mapInArrow(rows, "rows long").collect()]
    assert sum(sizes) == 300
    assert max(sizes) * 200_000 < 2 * (16 << 20)


def test_a_lake_on_s3_needs_hadoop_aws(spark):
    if running().has_class("org.apache.hadoop.fs.s3a.S3AFileSystem"):
        pytest.skip("hadoop-aws is on the classpath")
    for root in ("s3://bucket/lake", "s3a://bucket/lake"):
        with pytest.raises(UserError, match=r"--packages org.apache.hadoop:hadoop-aws:3\.\d"):
            Lake(spark, root)
