"""Delta's connector and delta-rs write one lake, in every pair of writer and reader."""

import itertools
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from adnominal.conf import ROOT, UserError
from adnominal.etl import engine
from adnominal.etl.engine import versions
from adnominal.etl.engine.spark import hadoop_aws, hadoop_location
from adnominal.etl.lake import arrow, log, upkeep, verify
from adnominal.etl.lake.errors import LakeConflict, LakeError, LakeFailed
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.spark import ENGINES, Lake
from adnominal.etl.lake.storage import table_uri
from adnominal.etl.lake.tables import TABLES
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import PAIRS, pairs

DECLARED = TABLES["amod_pairs"]
TEXTS = ["Zürich", "東京", 'o\'brien "q"', "50%2F", "k=v", "x\\y [#?]"]
WRITERS = list(itertools.product(ENGINES, ENGINES))
OLD_PROPERTIES = {"delta.enableDeletionVectors": "false"}


@pytest.fixture(scope="module", autouse=True)
def connector(spark):
    """The session of these tests; they are skipped without the connector's jars."""
    assert Lake(spark, "lake").engine == "delta-spark"


@pytest.fixture
def frame(spark):
    """A function that makes a DataFrame of amod_pairs, in one partition."""

    def make(*rows):
        return spark.createDataFrame(rows, spark_schema(DECLARED.schema)).coalesce(1)

    return make


@pytest.fixture
def lakes(spark, tmp_path):
    """One lake, written by either engine."""
    return {name: Lake(spark, str(tmp_path / "lake"), name) for name in ENGINES}


def check(lakes, *rows):
    """Check that every reader finds these rows, and `verify` no fault."""
    root = lakes["delta-rs"].root
    for lake in lakes.values():
        assert_same_rows(lake.read("amod_pairs"), pairs(*rows))
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(*rows))
    plain = pa.table(DeltaTable(f"{root}/amod_pairs").to_pyarrow_dataset().to_table())
    assert plain.num_rows == len(rows)
    assert verify.verify(root, DECLARED).faults == ()


def write(lake, mode, rows, **options):
    """Append, or replace the partition of the rows."""
    if mode == "append":
        return lake.append("amod_pairs", rows, job="test", **options)
    partition = {"corpus": rows.first()["corpus"]}
    return lake.replace("amod_pairs", rows, partition, job="test", **options)


@pytest.mark.parametrize(
    ("first", "second", "properties"),
    [
        *((*pair, log.PROPERTIES) for pair in WRITERS),
        *(("delta-spark", second, OLD_PROPERTIES) for second in ENGINES),
    ],
)
def test_partitions_of_any_text_are_replaced_and_compacted(
    lakes, frame, monkeypatch, first, second, properties
):
    """Tables that earlier versions made have partitions in the connector's names of files."""
    monkeypatch.setattr(log, "PROPERTIES", properties)
    rows = [(text, "old", "key", number) for number, text in enumerate(TEXTS)]
    lakes[first].append("amod_pairs", frame(*rows), job="test")
    lakes[first].append("amod_pairs", frame(*rows), job="test")
    names = [file.log_path for file in arrow.files(lakes[first].root, "amod_pairs")]
    has_no_prefixes = properties is OLD_PROPERTIES or versions.SPARK < (4,)
    is_named_after_partition = has_no_prefixes and first == "delta-spark"
    assert all(name.isascii() for name in names) != is_named_after_partition
    for number, text in enumerate(TEXTS[:2]):
        rows[number] = (text, "new", "key", number)
        lakes[second].replace("amod_pairs", frame(rows[number]), {"corpus": text}, job="test")
    check(lakes, *rows, *rows[2:])
    root = lakes[first].root
    assert upkeep.compact(root, DECLARED).merged == 2 * len(TEXTS[2:])
    upkeep.vacuum(root, DECLARED, upkeep.age("0s"))
    check(lakes, *rows, *rows[2:])
    checksums = Path(root, "amod_pairs").rglob(".*.parquet.crc")
    assert [path for path in checksums if not (path.parent / path.name[1:-4]).exists()] == []


@pytest.mark.parametrize(("first", "second"), WRITERS)
def test_stale_bases_are_refused(lakes, frame, first, second):
    one, other = lakes[first], lakes[second]
    one.append("amod_pairs", frame(*PAIRS), job="test")
    base = one.version("amod_pairs")
    one.replace("amod_pairs", frame(("uk", "x", "y", 1)), {"corpus": "uk"}, job="replacer")
    for mode in ("append", "replace"):
        with pytest.raises(LakeConflict, match="by replacer"):
            write(other, mode, frame(("uk", "late", "row", 1)), base=base)
    assert write(other, "append", frame(("de", "late", "row", 1)), base=base).version == 2
    check(lakes, ("uk", "x", "y", 1), PAIRS[2], ("de", "late", "row", 1))


@pytest.mark.parametrize(("first", "second"), WRITERS)
def test_a_transaction_is_known_to_the_other_engine(lakes, frame, first, second):
    lakes[first].append("amod_pairs", frame(*PAIRS), job="test", transaction=("app", 3))
    for number in (2, 3):
        commit = lakes[second].append(
            "amod_pairs", frame(*PAIRS), job="test", transaction=("app", number)
        )
        assert commit.skipped
    assert lakes[second].transaction_version("amod_pairs", "app") == 3
    check(lakes, *PAIRS)


def test_checkpoints_of_one_engine_are_read_by_the_other(lakes, frame):
    rows = [("Zürich", "a", "b", number) for number in range(12)]
    for number, row in enumerate(rows):
        lakes[ENGINES[(number + 1) % 2]].append("amod_pairs", frame(row), job="test")
    folder = Path(lakes["delta-rs"].root, "amod_pairs", "_delta_log")
    assert list(folder.glob("*.checkpoint*.parquet"))
    check(lakes, *rows)
    lakes["delta-rs"].replace("amod_pairs", frame(rows[0]), {"corpus": "Zürich"}, job="test")
    check(lakes, rows[0])
    assert [record.mode for record in lakes["delta-spark"].history("amod_pairs", 2)] == [
        "replace",
        "append",
    ]


WRITER = """
import sys
from adnominal.etl.lake import arrow
from adnominal.etl.lake.errors import LakeConflict
from tests.etl.lake.literals import pairs
root, mode, corpus = sys.argv[1:]
for number in range(6):
    rows = pairs((corpus, mode, "key", number))
    try:
        if mode == "append":
            arrow.append(root, "amod_pairs", rows, job=mode)
        else:
            arrow.replace(root, "amod_pairs", rows, {"corpus": corpus}, job=mode)
    except LakeConflict:
        assert mode == "replace"
"""


def test_processes_of_both_kinds_write_at_once(lakes, frame, tmp_path):
    """Appends and replacements by delta-rs in other processes, by the connector in this one."""
    root = str(tmp_path / "lake")
    other = [("append", "uk"), ("replace", "Zürich"), ("append", "de")]
    command = [sys.executable, "-c", WRITER, root]
    children = [subprocess.Popen([*command, *words], cwd=ROOT) for words in other]
    lake = lakes["delta-spark"]
    for number in range(4):
        lake.append("amod_pairs", frame(("uk", "connector", "key", number)), job="connector")
        row = ("fr", "connector", "key", number)
        lake.replace("amod_pairs", frame(row), {"corpus": "fr"}, job="connector")
    assert [child.wait(300) for child in children] == [0, 0, 0]
    expected = [("uk", "connector", "key", number) for number in range(4)]
    expected += [(corpus, "append", "key", n) for corpus in ("uk", "de") for n in range(6)]
    expected += [("Zürich", "replace", "key", 5), ("fr", "connector", "key", 3)]
    check(lakes, *expected)
    commits = lake.history("amod_pairs")
    assert [record.version for record in commits] == list(range(len(commits)))[::-1]


def test_a_row_outside_the_partition_is_refused_in_one_line(lakes, frame):
    lake = lakes["delta-spark"]
    lake.append("amod_pairs", frame(*PAIRS), job="test")
    for root_has_table in (True, False):
        partition = {"corpus": "uk" if root_has_table else "fr"}
        with pytest.raises(LakeFailed, match=r"outside corpus=\w+; this write replaces only") as e:
            lake.replace("amod_pairs", frame(*PAIRS), partition, job="test")
        assert "\n" not in str(e.value)
    check(lakes, *PAIRS)


def test_the_first_replacement_is_checked_as_well(lakes, frame):
    lake = lakes["delta-spark"]
    with pytest.raises(LakeFailed, match="outside corpus=uk"):
        lake.replace("amod_pairs", frame(*PAIRS), {"corpus": "uk"}, job="test")
    assert not lake.exists("amod_pairs")


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_partition_value_that_delta_stores_as_null_is_refused(lakes, frame, value):
    lake = lakes["delta-spark"]
    with pytest.raises((PySparkException, Py4JJavaError)) as error:
        lake.append("amod_pairs", frame((value, "a", "b", 1)), job="test")
    assert "column corpus: a partition value is the empty string" in str(
        engine.failure(error.value)
    )
    assert not lake.exists("amod_pairs")


def test_the_reason_of_a_java_error_is_reported_in_one_line(lakes, frame, tmp_path, spark):
    lake = lakes["delta-spark"]
    broken = frame(*PAIRS).withColumn("noun", F.raise_error(F.lit("no such word")).cast("string"))
    with pytest.raises((PySparkException, Py4JJavaError)) as error:
        lake.append("amod_pairs", broken, job="test")
    assert "no such word" in str(engine.failure(error.value))
    (tmp_path / "file").write_text("")
    with pytest.raises((PySparkException, Py4JJavaError)) as error:
        spark.range(1).write.parquet(str(tmp_path / "file" / "folder"))
    line = str(engine.failure(error.value))
    assert "\n" not in line and "java.lang.Thread" not in line and "Exception: " in line


def test_rows_of_a_replacement_are_computed_once(lakes, spark, tmp_path):
    places = tmp_path / "computed"
    places.mkdir()

    def rows(batches):
        import uuid

        (places / uuid.uuid4().hex).touch()
        for batch in batches:
            data = {"corpus": "uk", "adjective": "a", "noun": "b", "count": 1}
            yield pa.RecordBatch.from_pylist([data] * batch.num_rows, DECLARED.schema)

    frame = spark.range(5, numPartitions=1).mapInArrow(rows, spark_schema(DECLARED.schema))
    lakes["delta-spark"].replace("amod_pairs", frame, {"corpus": "uk"}, job="test")
    assert len(list(places.iterdir())) == 1
    assert arrow.row_count(lakes["delta-rs"].root, "amod_pairs") == 5


def sql_table(spark, lakes, frame, name, value):
    """The table amod_pairs, as another program makes it: with a property set."""
    path = hadoop_location(table_uri(lakes["delta-rs"].root, "amod_pairs"))
    writer = frame(*PAIRS).write.format("delta").partitionBy("corpus").option(name, value)
    writer.save(path)
    return path


def test_tables_with_deletion_vectors_are_read_by_the_connector_alone(spark, lakes, frame):
    path = sql_table(spark, lakes, frame, "delta.enableDeletionVectors", "true")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE noun = 'moon'")
    expected = [row for row in PAIRS if row[2] != "moon"]
    assert_same_rows(lakes["delta-spark"].read("amod_pairs"), pairs(*expected))
    for read in (lakes["delta-rs"].read, lambda name: arrow.read(lakes["delta-rs"].root, name)):
        with pytest.raises(LakeError, match=r"unset delta\.enableDeletionVectors"):
            read("amod_pairs")


def test_tables_with_column_mapping_are_read_by_the_connector_alone(spark, lakes, frame):
    path = sql_table(spark, lakes, frame, "delta.columnMapping.mode", "name")
    assert spark.read.format("delta").load(path).count() == 3
    assert_same_rows(lakes["delta-spark"].read("amod_pairs"), pairs(*PAIRS))
    with pytest.raises(LakeError, match=r"olumn ?[mM]apping"):
        lakes["delta-rs"].read("amod_pairs")


def test_a_connector_that_is_too_old_is_refused():
    first = versions.CONNECTORS[versions.SPARK[:2]][1]
    for version, is_refused in (("1.0.0", True), (first, False), ("99.0.0", False)):
        package = SimpleNamespace(VERSION=lambda version=version: version)
        jvm = SimpleNamespace(io=SimpleNamespace(delta=SimpleNamespace(package=package)))
        if is_refused:
            with pytest.raises(UserError, match=rf"delta-spark 1.0.0 .* needs {first} or later"):
                versions.check_connector(jvm)
        else:
            versions.check_connector(jvm)


def test_versions_are_those_of_the_running_jvm(spark):
    jvm = spark.sparkContext._jvm
    versions.check_connector(jvm)
    hadoop = jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    assert hadoop_aws(jvm) == f"org.apache.hadoop:hadoop-aws:{hadoop}"
    assert versions.delta_coordinates().split(":")[1] in spark.conf.get("spark.jars")
