import json
import re
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from adnominal.etl.lake import arrow
from adnominal.etl.lake.errors import LakeConflict, LakeError, LakeFailed
from adnominal.etl.lake.tables import TABLES
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import DAY, KINDS, MOMENT, PAIRS, pairs, rows


def test_appended_rows_are_read_back(root):
    commit = arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test", metadata={"run": "7"})
    assert (commit.version, commit.rows, commit.files, commit.skipped) == (0, 3, 2, False)
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(*PAIRS))
    assert arrow.read(root, "amod_pairs").schema == TABLES["amod_pairs"].schema
    assert arrow.version(root, "amod_pairs") == 0
    assert arrow.tables(root) == ["amod_pairs"]
    record = arrow.history(root, "amod_pairs")[0]
    assert (record.job, record.rows, record.metadata) == ("test", 3, {"run": "7"})


def test_the_rows_of_a_file_are_appended_in_one_commit(root, tmp_path, monkeypatch):
    # Each batch has rows of two partitions, and each partition becomes one file all the same.
    monkeypatch.setattr(arrow, "_FILE_BATCH", 2)
    file = tmp_path / "rows.parquet"
    many = [(corpus, "red", f"noun{number}", number) for number in range(5) for corpus in "ab"]
    pq.write_table(pairs(*many), file)
    transaction = ("test/7", 0)
    commit = arrow.append_file(root, "amod_pairs", file, job="test", transaction=transaction)
    assert (commit.version, commit.rows, commit.files) == (0, 10, 2)
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(*many))
    assert arrow.append_file(root, "amod_pairs", file, job="test", transaction=transaction).skipped
    pq.write_table(pairs(*many).drop_columns("count"), file)
    with pytest.raises(LakeError, match="missing: count"):
        arrow.append_file(root, "amod_pairs", file, job="test")


def test_replace_leaves_other_partitions_alone(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    new = pairs(("uk", "blue", "moon", 4))
    commit = arrow.replace(root, "amod_pairs", new, {"corpus": "uk"}, job="test")
    assert (commit.version, commit.rows) == (1, 1)
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(("uk", "blue", "moon", 4), PAIRS[2]))
    with pytest.raises(LakeFailed, match="replaces only corpus=de"):
        arrow.replace(root, "amod_pairs", new, {"corpus": "de"}, job="test")
    with pytest.raises(LakeFailed, match="no rows to replace corpus=uk with"):
        arrow.replace(root, "amod_pairs", pairs(), {"corpus": "uk"}, job="test")
    for partition, fault in (
        ({}, "needs a value of corpus, got"),
        ({"noun": "moon"}, "not partitioned by 'noun'"),
    ):
        with pytest.raises(LakeError, match=fault):
            arrow.replace(root, "amod_pairs", new, partition, job="test")
    with pytest.raises(LakeConflict, match="changed by another writer"):
        arrow.replace(root, "amod_pairs", new, {"corpus": "uk"}, job="test", base=0)
    arrow.replace(root, "amod_pairs", pairs(), {"corpus": "uk"}, job="test", allow_empty=True)
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(PAIRS[2]))


@pytest.mark.parametrize(
    ("where", "item_ids"),
    [
        ([("extrapolated", "=", True)], ["a"]),
        ([("alpha", ">", 1.5)], ["b"]),
        ([("alpha", "<", 0.0)], []),
        (pc.field("unit").is_null(), ["b", "c"]),
        (pc.field("gold").is_null(), ["a", "b", "c"]),
        ([("group", ">=", 3)], ["b"]),
        ([("group", ">", 3)], []),
        (pc.field("group").is_null(), ["c"]),
        ([("test", "=", "ordering"), ("edition", "=", "mine")], ["a", "b"]),
        ([("test", "=", "negation")], ["c"]),
        (pc.field("test") != "negation", ["a", "b"]),
        ([("unit", "in", [])], []),
        ([("group", "not in", [])], ["a", "b", "c"]),
        ([[("group", "in", [])], [("item_id", "=", "b")]], ["b"]),
    ],
)
def test_filters_on_columns_of_every_type(root, where, item_ids):
    """Booleans and numbers have no bounds in the log; other columns have bounds, and nulls."""
    schema = TABLES["asp_degree"].schema
    nulls: dict[str, object] = dict.fromkeys(schema.names) | {"edition": "mine", "test": "ordering"}
    rows: list[dict[str, object]] = [
        {"item_id": "a", "extrapolated": True, "alpha": 1.0, "unit": "m", "group": 1},
        {"item_id": "b", "extrapolated": False, "alpha": 2.0, "group": 3},
        {"item_id": "c", "test": "negation"},
    ]
    table = pa.Table.from_pylist([nulls | row for row in rows], schema)
    arrow.append(root, "asp_degree", table, job="test")
    filtered = arrow.read(root, "asp_degree", where=where, columns=["item_id"])
    assert sorted(filtered.column("item_id").to_pylist()) == item_ids


def test_a_filter_skips_files_by_their_statistics(root):
    arrow.append(root, "amod_pairs", pairs(("uk", "false", "key", 3)), job="test")
    arrow.append(root, "amod_pairs", pairs(("uk", "new", "key", 9)), job="test")
    source = arrow.dataset(root, "amod_pairs")
    assert len(list(source.get_fragments(filter=pc.field("count") > 5))) == 1
    assert len(list(source.get_fragments(filter=pc.field("adjective") == "zany"))) == 0


def test_missing_and_undeclared_tables_are_reported(root):
    assert arrow.tables(root) == []
    assert arrow.version(root, "amod_pairs") is None
    for call in (arrow.read, arrow.dataset, arrow.history, arrow.files):
        with pytest.raises(LakeError, match=r"no table amod_pairs .*extract_amod\.py"):
            call(root, "amod_pairs")
    with pytest.raises(LakeError, match="no table 'pairs'; did you mean 'amod_pairs'"):
        arrow.read(root, "pairs")
    assert not Path(root).exists()


def test_reading_takes_filters_and_columns(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    table = arrow.read(root, "amod_pairs", where=[("corpus", "=", "uk")], columns=["noun"])
    assert_same_rows(table, pa.table({"noun": ["key", "moon"]}))
    either = [[("corpus", "=", "de")], [("count", ">", 2)]]
    assert arrow.read(root, "amod_pairs", where=either).num_rows == 2
    assert arrow.read(root, "amod_pairs", where=pc.field("noun") == "key").num_rows == 2
    assert arrow.read(root, "amod_pairs", where=[]).num_rows == 3
    with pytest.raises(LakeError, match="no column verb; it has corpus, adjective, noun, count"):
        arrow.read(root, "amod_pairs", columns=["verb", "noun"])


@pytest.mark.parametrize(
    "where",
    [
        [("nuon", "=", "key")],
        [("nuon", "in", [])],
        [("noun", "~", "key")],
        [("noun", "=", 5)],
        [("noun", "=")],
        [("noun", "in", "key")],
        ("noun", "=", "key"),
        5,
        pc.field("nuon") == "key",
    ],
)
def test_a_condition_that_does_not_fit_the_table_is_an_error(root, where):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    expected = re.escape("(column, operator, value) triples with the columns corpus (string), ")
    for read in (arrow.read, arrow.batches):
        with pytest.raises(LakeError, match=expected):
            read(root, "amod_pairs", where=where)
    with pytest.raises(LakeError, match="columns='noun': expected a list of names"):
        arrow.read(root, "amod_pairs", columns="noun")
    with pytest.raises(LakeError, match="expected one or more names"):
        arrow.read(root, "amod_pairs", columns=[])
    one_by_one = (name for name in ["noun", "count"])
    assert arrow.read(root, "amod_pairs", columns=one_by_one).column_names == ["noun", "count"]


def test_rows_are_read_in_batches_of_limited_size(root):
    thousand_rows = pairs(*[("uk", "a", f"n{i}", i) for i in range(1000)])
    arrow.append(root, "amod_pairs", thousand_rows, job="test")
    batches = list(arrow.batches(root, "amod_pairs", batch_size=64))
    assert all(0 < batch.num_rows <= 64 for batch in batches)
    assert_same_rows(pa.Table.from_batches(batches), thousand_rows)
    assert not list(arrow.batches(root, "amod_pairs", where=[("noun", "=", "none")]))


def test_an_earlier_version_can_be_read(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    arrow.append(root, "amod_pairs", pairs(("uk", "x", "y", 1)), job="test")
    assert_same_rows(arrow.read(root, "amod_pairs", version=0), pairs(*PAIRS))
    with pytest.raises(LakeError, match="no version 2; expected 0 to 1"):
        arrow.read(root, "amod_pairs", version=2)


def test_queries_in_sql_are_answered(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    sql = 'SELECT noun, sum("count") AS n FROM amod_pairs GROUP BY noun ORDER BY n DESC'
    table = pa.Table.from_batches(arrow.query(root, "amod_pairs", sql))
    assert table.to_pydict() == {"noun": ["key", "moon"], "n": [5, 1]}
    assert table.schema.field("noun").type == pa.string()
    with pytest.raises(LakeError, match=r"failed: .*verb"):
        list(arrow.query(root, "amod_pairs", "SELECT verb FROM amod_pairs"))


def test_unusual_partition_values_and_nulls_are_read_back(root):
    corpora = ["a/b", "100%", "a b", "k=v", "ü", "o'brien", "_", "..", '"[*]', "~+&#", " ", None]
    odd_rows = pairs(*[(corpus, None, "", place) for place, corpus in enumerate(corpora)])
    arrow.append(root, "amod_pairs", odd_rows, job="test")
    assert_same_rows(arrow.read(root, "amod_pairs"), odd_rows)
    for place, corpus in enumerate(corpora[:-1]):
        table = arrow.read(root, "amod_pairs", where=[("corpus", "=", corpus)])
        assert table.column("count").to_pylist() == [place]
    sql = "SELECT * FROM amod_pairs WHERE corpus = 'o''brien'"
    assert pa.Table.from_batches(arrow.query(root, "amod_pairs", sql)).num_rows == 1
    with pytest.raises(LakeError, match="empty string"):
        arrow.append(root, "amod_pairs", pairs(("", "a", "b", 1)), job="test")


def test_partition_values_are_listed_from_the_log(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    arrow.append(root, "amod_pairs", pairs(("fr", "blue", "moon", 4)), job="test")
    assert arrow.partition_values(root, "amod_pairs", "corpus") == ["de", "fr", "uk"]
    of_one = arrow.partition_values(root, "amod_pairs", "corpus", {"corpus": "fr"})
    assert of_one == ["fr"]
    assert arrow.partition_values(root, "amod_pairs", "noun") == []
    with pytest.raises(LakeError):
        arrow.partition_values(root, "amod_files", "corpus")


def test_columns_of_every_type_are_read_back(root, monkeypatch):
    monkeypatch.setitem(TABLES, "kinds", KINDS)
    entry = {"adjective": "red", "count": 1}
    kinds = rows(
        "kinds",
        [
            ("a", 1, True, MOMENT, DAY, [1.0, None], [entry], b"\x00\xff", 0.5),
            ("a", -2, False, None, None, None, None, None, None),
            (None, None, None, MOMENT, DAY, [], [], b"", None),
        ],
    )
    arrow.append(root, "kinds", kinds, job="test")
    assert_same_rows(arrow.read(root, "kinds"), kinds)
    assert arrow.read(root, "kinds", where=[("when", "=", MOMENT)]).num_rows == 2
    assert arrow.read(root, "kinds", where=[("depth", "=", -2)]).num_rows == 1
    large = kinds.cast(kinds.schema.set(7, pa.field("digest", pa.large_binary())))
    arrow.append(root, "kinds", large, job="test")


def test_errors_name_all_differences_from_the_schema(root):
    wrong = pairs(*PAIRS).drop_columns(["noun"]).append_column("extra", [[1, 2, 3]])
    with pytest.raises(LakeError, match=r"missing: noun \(string\); not declared: extra \(int64\)"):
        arrow.append(root, "amod_pairs", wrong, job="test")
    mistyped = pairs(*PAIRS).set_column(3, "count", [[1.0, 2.0, 3.0]])
    with pytest.raises(LakeError, match="count is double, declared int64"):
        arrow.append(root, "amod_pairs", mistyped, job="test")
    assert not Path(root).exists()


def test_parallel_writers_all_commit(root):
    """Eight writers start at once on a table that does not exist yet."""
    barrier = threading.Barrier(8)

    def work(place):
        barrier.wait()
        for turn in range(3):
            record = pairs((f"c{place}", "a", f"n{turn}", 1))
            arrow.append(root, "amod_pairs", record, job="t", transaction=(f"c{place}", turn))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert arrow.version(root, "amod_pairs") == 23
    table = arrow.read(root, "amod_pairs")
    assert table.num_rows == 24
    assert len(set(table.column("corpus").to_pylist())) == 8


def test_parallel_writers_commit_a_transaction_once(root):
    barrier = threading.Barrier(6)

    def work(_):
        barrier.wait()
        return arrow.append(root, "amod_pairs", pairs(*PAIRS), job="t", transaction=("one", 0))

    with ThreadPoolExecutor(6) as pool:
        commits = list(pool.map(work, range(6)))
    assert sorted(commit.skipped for commit in commits) == [False] + [True] * 5
    assert arrow.read(root, "amod_pairs").num_rows == 3
    assert not list(Path(root, "amod_pairs", "_staging").iterdir())


def test_a_table_of_another_writer_with_escaped_folders_is_read(root):
    """Spark's connector escapes the names of folders, and once more in the log."""
    arrow.append(root, "amod_pairs", pairs(("a b%/", "x", "y", 1)), job="test")
    folder = Path(root, "amod_pairs")
    log_file = folder / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in log_file.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            data_file = folder / action["add"]["path"]
            moved = folder / "corpus=a b%25%2F" / data_file.name
            moved.parent.mkdir()
            shutil.move(data_file, moved)
            action["add"]["path"] = f"corpus=a%20b%2525%252F/{data_file.name}"
    log_file.write_text("\n".join(json.dumps(action) for action in actions))
    assert_same_rows(arrow.read(root, "amod_pairs"), pairs(("a b%/", "x", "y", 1)))
    assert arrow.files(root, "amod_pairs")[0].path == "corpus=a b%25%2F/part-0.parquet"


def test_statistics_prune_without_losing_rows(root):
    """Filters near the truncated bounds of long texts still find their rows."""
    long = "ü" * 40
    arrow.append(root, "amod_pairs", pairs(("uk", long, "z" * 33, 1)), job="test")
    assert arrow.read(root, "amod_pairs", where=[("adjective", "=", long)]).num_rows == 1
    assert arrow.read(root, "amod_pairs", where=[("noun", ">=", "z" * 33)]).num_rows == 1
    sql = f"SELECT * FROM amod_pairs WHERE adjective = '{long}' AND noun > 'zz'"
    assert pa.Table.from_batches(arrow.query(root, "amod_pairs", sql)).num_rows == 1


def test_parquet_files_have_the_columns_that_are_not_partitions(root):
    arrow.append(root, "amod_pairs", pairs(*PAIRS), job="test")
    path = arrow.files(root, "amod_pairs")[0].path
    assert pq.read_schema(Path(root, "amod_pairs", path)).names == ["adjective", "noun", "count"]
