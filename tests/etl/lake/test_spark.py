import datetime
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from adnominal.conf import JobFailed, UserError
from adnominal.etl.engine import running
from adnominal.etl.engine.versions import ENGINE_ERRORS
from adnominal.etl.lake import arrow, log
from adnominal.etl.lake.blocks import blocks_of, stage
from adnominal.etl.lake.columns import Table
from adnominal.etl.lake.delta_spark import condition
from adnominal.etl.lake.errors import LakeConflict, LakeError, LakeFailed
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.staging import begin
from adnominal.etl.lake.storage import filesystem, table_uri
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.lake.writing import clean
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import DAY, KINDS, MOMENT, PAIRS, pairs


def data_files(lake: Lake, table: str) -> list[Path]:
    return sorted(Path(lake.root, table).glob("data/**/*.parquet"))


def test_appended_rows_are_read_back(lake, frame):
    commit = lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    assert (commit.table, commit.version, commit.rows, commit.files) == ("amod_pairs", 0, 3, 2)
    assert commit.bytes > 0
    assert not commit.skipped
    assert_same_rows(lake.read("amod_pairs"), pairs(*PAIRS))
    assert lake.read("amod_pairs").columns == ["corpus", "adjective", "noun", "count"]
    assert lake.exists("amod_pairs")
    assert lake.version("amod_pairs") == 0


def test_a_missing_table_is_reported(lake):
    assert not lake.exists("amod_pairs")
    assert lake.version("amod_pairs") is None
    assert lake.transaction_version("amod_pairs", "a") is None
    with pytest.raises(LakeError, match=r"no table amod_pairs in lake=.*extract_amod\.py"):
        lake.read("amod_pairs")
    assert not Path(lake.root).exists(), "reading created a folder"


def test_errors_belong_to_the_user_or_to_the_job():
    assert issubclass(LakeError, UserError)
    assert issubclass(LakeFailed, JobFailed)
    assert issubclass(LakeConflict, LakeFailed)


def test_an_undeclared_table_is_refused(lake):
    with pytest.raises(LakeError, match="no table 'pairs'; did you mean 'amod_pairs'"):
        lake.read("pairs")


def test_a_commit_records_its_metadata(lake, frame):
    metadata = {"settings": "abc", "input": "d'é"}
    lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="extract_amod", metadata=metadata)
    record = lake.history("amod_pairs")[0]
    assert (record.job, record.rows, record.mode) == ("extract_amod", 3, "append")
    assert record.metadata == metadata
    assert record.code_version
    assert datetime.datetime.now(datetime.UTC) - record.when < datetime.timedelta(minutes=5)


def test_metadata_cannot_replace_recorded_fields(plain_lake, frame):
    rows = frame("amod_pairs", PAIRS)
    with pytest.raises(ValueError, match="rows"):
        plain_lake.append("amod_pairs", rows, job="t", metadata={"rows": "many"})


def test_replace_changes_only_its_partition(lake, frame):
    lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    commit = lake.replace(
        "amod_pairs", frame("amod_pairs", [("uk", "old", "sea", 9)]), {"corpus": "uk"}, job="test"
    )
    assert (commit.version, commit.rows) == (1, 1)
    assert_same_rows(
        lake.read("amod_pairs"),
        pairs(("uk", "old", "sea", 9), ("de", "new", "key", 2)),
    )
    assert lake.history("amod_pairs")[0].partition == {"corpus": "uk"}


def test_replace_creates_a_missing_table(lake, frame):
    rows = [("uk", "old", "sea", 9)]
    assert lake.replace("amod_pairs", frame("amod_pairs", rows), {"corpus": "uk"}, job="t").rows
    assert_same_rows(lake.read("amod_pairs"), pairs(*rows))


def test_replace_needs_a_value_of_every_partition_column(lake, frame):
    rows = frame("amod_pairs", PAIRS)
    with pytest.raises(LakeError, match="replace needs a value of corpus"):
        lake.replace("amod_pairs", rows, {}, job="test")
    with pytest.raises(LakeError, match="not partitioned by 'noun'"):
        lake.replace("amod_pairs", rows, {"noun": "key"}, job="test")
    with pytest.raises(LakeError, match="one or more"):
        lake.replace("amod_pairs", rows, {"corpus": ""}, job="test")
    table = TABLES["amod_pairs"].schema.empty_table()
    with pytest.raises(LakeError, match="not partitioned by 'noun'"):
        lake.replace("amod_pairs", table, {"noun": "key"}, job="test", allow_empty=True)


def test_replace_refuses_rows_outside_the_partition(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    with pytest.raises(LakeFailed, match=r"corpus=de; this write replaces only corpus=uk"):
        plain_lake.replace("amod_pairs", frame("amod_pairs", PAIRS), {"corpus": "uk"}, job="test")
    assert_same_rows(plain_lake.read("amod_pairs"), pairs(*PAIRS))
    assert len(data_files(plain_lake, "amod_pairs")) == 2, "staged files remain"


def test_replace_by_no_rows_needs_allow_empty(lake, frame):
    lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    no_rows = frame("amod_pairs", [])
    with pytest.raises(LakeFailed, match="no rows"):
        lake.replace("amod_pairs", no_rows, {"corpus": "uk"}, job="test")
    lake.replace("amod_pairs", no_rows, {"corpus": "uk"}, job="test", allow_empty=True)
    assert_same_rows(lake.read("amod_pairs"), pairs(*PAIRS[2:]))


def test_an_empty_append_records_its_transaction(lake, frame):
    lake.append("amod_pairs", frame("amod_pairs", []), job="test", transaction=("a", 4))
    assert lake.transaction_version("amod_pairs", "a") == 4
    assert lake.read("amod_pairs").count() == 0
    assert lake.read("amod_pairs").schema == frame("amod_pairs", []).schema


def test_a_repeated_transaction_is_skipped(lake, spark, frame):
    rows = frame("amod_pairs", PAIRS)
    lake.append("amod_pairs", rows, job="test", transaction=("wiki", 0))
    fresh = Lake(spark, lake.root, lake.engine)  # as another process would see it
    commit = fresh.append("amod_pairs", rows, job="test", transaction=("wiki", 0))
    assert commit.skipped
    assert (commit.version, commit.rows) == (0, 0)
    assert fresh.append("amod_pairs", rows, job="test", transaction=("wiki", 1)).version == 1
    assert fresh.append("amod_pairs", rows, job="test", transaction=("wiki", 0)).skipped
    assert fresh.append("amod_pairs", rows, job="test", transaction=("other", 0)).version == 2
    assert lake.transaction_version("amod_pairs", "wiki") == 1
    assert lake.read("amod_pairs").count() == 9


def test_rows_of_a_finished_transaction_are_not_computed(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="t", transaction=("a", 0))
    broken = frame("amod_pairs", PAIRS).withColumn(
        "noun", F.raise_error(F.lit("computed")).cast("string")
    )
    assert plain_lake.append("amod_pairs", broken, job="t", transaction=("a", 0)).skipped


def test_an_earlier_version_can_be_read(lake, frame):
    lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    lake.replace("amod_pairs", frame("amod_pairs", PAIRS[:1]), {"corpus": "uk"}, job="test")
    assert_same_rows(lake.read("amod_pairs", version=0), pairs(*PAIRS))
    assert lake.read("amod_pairs", version=1).count() == 2
    with pytest.raises(LakeError, match="no version 2; expected 0 to 1"):
        lake.read("amod_pairs", version=2)
    with pytest.raises(LakeError, match="version=-1 of amod_pairs: expected 0 or more"):
        lake.read("amod_pairs", version=-1)


def test_where_selects_a_partition(lake, frame):
    lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    assert_same_rows(lake.read("amod_pairs", where={"corpus": "de"}), pairs(*PAIRS[2:]))
    assert lake.read("amod_pairs", where={"corpus": "fr"}).count() == 0
    with pytest.raises(LakeError, match="not partitioned by 'noun'"):
        lake.read("amod_pairs", where={"noun": "key"})


CORPORA = ["a/b", "100%2F", "k=v ü", "o'brien", "_", 'q"\\[x]{y}*?\n', "10", None]


def test_partition_values_are_read_back(lake, frame):
    rows = [(corpus, "red", "moon", place) for place, corpus in enumerate(CORPORA)]
    lake.append("amod_pairs", frame("amod_pairs", rows), job="test")
    assert_same_rows(lake.read("amod_pairs"), pairs(*rows))


def test_a_partition_with_unusual_characters_is_replaced(lake, frame):
    corpus = "a/b'c\\%20 ü\"[*]=+"
    other = (corpus + "x", "red", "moon", 1)
    lake.append("amod_pairs", frame("amod_pairs", [(corpus, "a", "b", 1), other]), job="test")
    rows = [(corpus, "x", "y", 7)]
    lake.replace("amod_pairs", frame("amod_pairs", rows), {"corpus": corpus}, job="test")
    assert_same_rows(lake.read("amod_pairs", where={"corpus": corpus}), pairs(*rows))
    assert_same_rows(lake.read("amod_pairs"), pairs(*rows, other))


def test_nulls_are_read_back(lake, frame):
    rows = [(None, "red", None, 1), ("uk", None, "key", None), ("uk", "", "x", 0)]
    lake.append("amod_pairs", frame("amod_pairs", rows), job="test")
    assert_same_rows(lake.read("amod_pairs"), pairs(*rows))


@pytest.mark.parametrize("value", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_partition_value_that_delta_stores_as_null_is_refused(plain_lake, frame, value):
    with pytest.raises(LakeError, match="column corpus: a partition value is the empty string"):
        plain_lake.append("amod_pairs", frame("amod_pairs", [(value, "a", "b", 1)]), job="test")
    assert not plain_lake.exists("amod_pairs")


def test_columns_of_every_type_are_read_back(lake, frame, monkeypatch):
    monkeypatch.setitem(TABLES, "kinds", KINDS)
    rows = [
        ("a", 1, True, MOMENT, DAY, [1.0, float("nan"), None], [("red", 1)], b"\x00\xff", 0.5),
        ("a", -2, False, None, None, None, None, None, None),
        (None, None, None, MOMENT, DAY, [], [], b"", float("nan")),
    ]
    frame = frame("kinds", rows)
    lake.append("kinds", frame, job="test")
    assert_same_rows(lake.read("kinds"), frame)
    assert lake.read("kinds").schema == frame.schema
    assert lake.read("kinds", where={"depth": "-2", "last": "false"}).count() == 1
    lake.replace(
        "kinds", frame.where("depth = 1"), {"edition": "a", "depth": "1", "last": "true"}, job="t"
    )
    assert lake.read("kinds").count() == 3


def test_a_table_without_partitions_is_replaced_whole(lake, spark, monkeypatch):
    declared = Table("lemmas", "Lemmas.", pa.schema([("lemma", pa.string()), ("pos", pa.string())]))
    monkeypatch.setitem(TABLES, "lemmas", declared)
    old = spark.createDataFrame([("dog", "n")], "lemma string, pos string")
    new = spark.createDataFrame([("cat", "n")], "lemma string, pos string")
    lake.append("lemmas", old, job="test")
    lake.append("lemmas", new, job="test")
    assert_same_rows(lake.read("lemmas"), old.union(new))
    with pytest.raises(LakeError, match="replace needs a value of no column"):
        lake.replace("lemmas", new, {"pos": "n"}, job="test")
    lake.replace("lemmas", new, {}, job="test")
    assert_same_rows(lake.read("lemmas"), new)


def test_columns_may_be_in_any_order(lake, frame):
    reordered = frame("amod_pairs", PAIRS).select("count", "noun", "corpus", "adjective")
    lake.append("amod_pairs", reordered, job="test")
    assert_same_rows(lake.read("amod_pairs"), pairs(*PAIRS))


def test_errors_name_all_differences_from_the_schema(lake, frame):
    wrong = (
        frame("amod_pairs", PAIRS)
        .drop("noun")
        .withColumn("count", F.col("count").cast("int"))
        .withColumn("extra", F.lit(1.5))
    )
    with pytest.raises(LakeError) as error:
        lake.append("amod_pairs", wrong, job="test")
    for part in (
        "missing: noun (string)",
        "not declared: extra (double)",
        "of another type: count is int, declared bigint",
    ):
        assert part in str(error.value)
    assert not Path(lake.root).exists()


def test_a_column_given_twice_is_refused(lake, frame):
    rows = frame("amod_pairs", PAIRS)
    with pytest.raises(LakeError, match="given twice: noun"):
        lake.append("amod_pairs", rows.select("*", "noun"), job="test")


def test_a_failing_job_does_not_change_the_table(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    bad = frame("amod_pairs", PAIRS).withColumn(
        "noun",
        F.when(F.col("corpus") == "de", F.raise_error(F.lit("boom"))).otherwise(F.col("noun")),
    )
    with pytest.raises(Exception, match="boom"):
        plain_lake.append("amod_pairs", bad, job="test")
    assert plain_lake.version("amod_pairs") == 0
    assert len(data_files(plain_lake, "amod_pairs")) == 2
    assert not list(Path(plain_lake.root, "amod_pairs", "_staging").iterdir())


def test_parallel_writers_all_commit(plain_lake, frame):
    """Also the first commit, when they write to different partitions."""
    rows = {corpus: frame("amod_pairs", [(corpus, "a", "b", 1)]) for corpus in ("uk", "de", "fr")}

    def replace(corpus):
        return plain_lake.replace("amod_pairs", rows[corpus], {"corpus": corpus}, job="t")

    with ThreadPoolExecutor(3) as pool:
        commits = list(pool.map(replace, rows))
    assert sorted(commit.version for commit in commits) == [0, 1, 2]
    assert plain_lake.read("amod_pairs").count() == 3


def test_files_of_a_killed_write_are_deleted_after_a_new_one(plain_lake, frame):
    files = filesystem(table_uri(plain_lake.root, "amod_pairs"))
    rows = blocks_of(frame("amod_pairs", PAIRS), TABLES["amod_pairs"])
    stage(rows, TABLES["amod_pairs"], plain_lake.root, begin(files))
    assert not plain_lake.exists("amod_pairs")
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    assert_same_rows(plain_lake.read("amod_pairs"), pairs(*PAIRS))
    assert len(data_files(plain_lake, "amod_pairs")) == 4
    place = (table_uri(plain_lake.root, "amod_pairs"), TABLES["amod_pairs"])
    assert clean(*place) == []
    assert len(clean(*place, datetime.timedelta(0))) == 1
    assert len(data_files(plain_lake, "amod_pairs")) == 2


def test_the_log_has_statistics_of_files_that_spark_wrote(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    text = Path(plain_lake.root, "amod_pairs", "_delta_log", f"{0:020}.json").read_text()
    adds = [json.loads(line)["add"] for line in text.splitlines() if '"add"' in line]
    stats = {add["partitionValues"]["corpus"]: json.loads(add["stats"]) for add in adds}
    assert stats["uk"] == {
        "numRecords": 2,
        "minValues": {"adjective": "false", "noun": "key", "count": 1},
        "maxValues": {"adjective": "red", "noun": "moon", "count": 3},
        "nullCount": {"adjective": 0, "noun": 0, "count": 0},
    }


def test_spark_and_arrow_read_each_others_tables(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    assert_same_rows(arrow.read(plain_lake.root, "amod_pairs"), pairs(*PAIRS))
    more = arrow.read(plain_lake.root, "amod_pairs", where=[("corpus", "=", "de")])
    arrow.append(plain_lake.root, "amod_pairs", more, job="test")
    assert_same_rows(plain_lake.read("amod_pairs"), pairs(*PAIRS, PAIRS[2]))


def test_conditions_escape_their_values():
    assert condition({"a": "o'b\\", "n": "1"}) == "`a` = 'o\\'b\\\\' AND `n` = '1'"


def test_roots_may_have_unusual_characters(spark, frame, tmp_path):
    root = tmp_path / "a b[x]*ü"
    Lake(spark, str(root), "delta-rs").append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    for name in (str(root), root.as_uri()):
        assert Lake(spark, name, "delta-rs").read("amod_pairs").count() == 3
    handle = log.open_table(table_uri(str(root), "amod_pairs"), TABLES["amod_pairs"])
    assert handle is not None and len(log.history(handle)) == 1
    for name in ("a%20b", "a#b"):
        with pytest.raises(LakeError, match="choose another folder"):
            Lake(spark, str(tmp_path / name), "delta-rs").read("amod_pairs")


def test_a_file_deleted_after_its_commit_is_reported(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    data_files(plain_lake, "amod_pairs")[0].unlink()
    with pytest.raises(LakeFailed, match="a file that the log names is gone"):
        plain_lake.read("amod_pairs")


def test_rows_of_a_file_that_is_deleted_before_they_are_computed_are_not_lost(plain_lake, frame):
    plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
    rows = plain_lake.read("amod_pairs")
    data_files(plain_lake, "amod_pairs")[0].unlink()
    # Spark itself finds that a file is gone.
    if running().name == "spark":
        errors: tuple[type[Exception], ...] = ENGINE_ERRORS
        message = "FILE_NOT_EXIST|does not exist"
    else:
        errors, message = (LakeFailed,), "was deleted while this job read it"
    with pytest.raises(errors, match=message):
        plain_lake.append("amod_pairs", rows, job="test")
    assert plain_lake.version("amod_pairs") == 0


def test_unknown_engines_are_refused(spark, tmp_path):
    assert Lake(spark, str(tmp_path)).engine in ("delta-rs", "delta-spark")
    with pytest.raises(LakeError, match="expected one of auto, delta-rs, delta-spark"):
        Lake(spark, str(tmp_path), "iceberg")


def write_log(folder: Path, protocol: Any, properties: Any, columns: Any) -> None:
    (folder / "_delta_log").mkdir(parents=True)
    actions = [
        {"protocol": protocol},
        {
            "metaData": {
                "id": "00000000-0000-0000-0000-000000000000",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": columns}),
                "partitionColumns": ["corpus"],
                "configuration": properties,
                "createdTime": 0,
            }
        },
    ]
    text = "\n".join(json.dumps(action) for action in actions)
    (folder / "_delta_log" / f"{0:020}.json").write_text(text)


def delta_columns(mapped: bool = False) -> list[Any]:
    kinds = [("corpus", "string"), ("adjective", "string"), ("noun", "string"), ("count", "long")]
    return [
        {
            "name": name,
            "type": kind,
            "nullable": True,
            "metadata": {
                "delta.columnMapping.id": place,
                "delta.columnMapping.physicalName": f"c{place}",
            }
            if mapped
            else {},
        }
        for place, (name, kind) in enumerate(kinds, 1)
    ]


VECTORS = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors"],
}


@pytest.mark.parametrize(
    ("protocol", "properties", "mapped", "message"),
    [
        (VECTORS, {}, False, "deletionVectors"),
        (VECTORS, {"delta.enableDeletionVectors": "true"}, False, "deletionVectors"),
        (
            {"minReaderVersion": 2, "minWriterVersion": 5},
            {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"},
            True,
            "columnMapping",
        ),
        (
            {"minReaderVersion": 2, "minWriterVersion": 5},
            {"delta.columnMapping.mode": "name"},
            False,
            "column mapping",
        ),
    ],
)
def test_features_that_change_the_rows_of_files_are_refused(
    plain_lake, frame, protocol, properties, mapped, message
):
    folder = Path(plain_lake.root, "amod_pairs")
    write_log(folder, protocol, properties, delta_columns(mapped))
    with pytest.raises(LakeError, match=message):
        plain_lake.read("amod_pairs")
    with pytest.raises(LakeError, match=message):
        plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")


def test_unknown_writer_features_prevent_only_writing(plain_lake, frame):
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    write_log(Path(plain_lake.root, "amod_pairs"), protocol, {}, delta_columns())
    assert plain_lake.read("amod_pairs").count() == 0
    with pytest.raises(LakeError, match="rowTracking, which the delta-rs engine does not write"):
        plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")


def test_a_table_of_another_schema_is_refused(plain_lake, frame):
    columns = [*delta_columns()[:3], {**delta_columns()[3], "type": "integer"}]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    write_log(Path(plain_lake.root, "amod_pairs"), protocol, {}, columns)
    with pytest.raises(LakeError, match="count is int32, declared int64"):
        plain_lake.read("amod_pairs")
    with pytest.raises(LakeError, match="count is int32, declared int64"):
        plain_lake.append("amod_pairs", frame("amod_pairs", PAIRS), job="test")
