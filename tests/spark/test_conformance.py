"""Every job that uses an engine gives the same tables on Sail, Spark and Spark Connect."""

import contextlib
import gzip
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from pyspark.sql import SparkSession

from adnominal import conf
from adnominal.conf import ROOT
from adnominal.etl.amod.kernel import NO_KERNEL
from adnominal.etl.jobs import JOBS, Settings, run_steps
from adnominal.etl.lake import arrow
from tests.commands import SECONDS, run_python, without_module
from tests.etl.amod.corpus import write_part
from tests.etl.knowledge import wordnet_files
from tests.ports import LOOPBACK, free_port

SCRIPT = ROOT / "etl" / "pipeline.py"
DEMO = ROOT / "conf" / "demo"
# Columns that depend on the run or on names in the engine.
IGNORED_COLUMNS = {"amod_files": {"path", "modified"}, "dropped": {"sample"}}
# Tables whose rows have no defined order.
UNORDERED = {"amod_seen", "sentences", "plane_association", "asp_splits", "sygns_splits"}
# Jobs that read and write small files without an engine.
WITHOUT_ENGINE = {"import_published", "import_pairs", "import_predictions"}

RELATIONS = ["amod", "predicative", "compound", "obj", "advmod"]
TEXT = """A red apple fell from the old tree. Small houses stand near a quiet river.
The dead flower has a sweet smell, and the fake gun is a dangerous thing.

An angry dog chased the young cat. Old houses need new roofs.
"""


def write_wordnet(folder: Path) -> Path:
    """Write a WordNet of the demo's words, which is read in a fraction of the whole one's time."""
    part = gzip.decompress((DEMO / "depcc-part.gz").read_bytes()).decode()
    edges = (DEMO / "conceptnet.csv").read_text(encoding="utf-8")
    words = sorted(set(re.findall("[a-z]{3,}", f"{part} {edges} {TEXT}".lower())))
    nouns: list[wordnet_files.Synset] = [
        ("entity", ()),
        ("object", (("@", 0),)),
        ("artifact thing", (("@", 1),)),
        ("person being", (("@", 1),)),
    ]
    nouns += [(word, (("@", 2 + number % 2),)) for number, word in enumerate(words)]
    others = {**wordnet_files.OTHER_LEMMAS, "a": words}
    return wordnet_files.write(folder, nouns=nouns, other_lemmas=others)


def pipeline(folder: Path) -> list[dict[str, Any]]:
    """Steps that together run every job and every way of reading, on small inputs."""
    (folder / "texts").mkdir(parents=True)
    for number, part in enumerate(TEXT.split("\n\n")):
        (folder / "texts" / f"{number}.txt").write_text(part, encoding="utf-8")
    parsed = {"source": "depcc", "input": [str(DEMO / "depcc-part.gz")]}
    raw = {"source": "text", "input": [str(folder / "texts" / "*.txt")]}
    text_options = {"examples": 2, "keep_text": True}
    rows = pa.table({"text": TEXT.split("\n\n"), "url": ["http://a/", "http://b/"]})
    pq.write_table(rows, folder / "rows.parquet", row_group_size=1)
    columns = {"source": "text", "input": [str(folder / "rows.parquet")], "language": "en"}
    knowledge = {
        "conceptnet": [str(DEMO / "conceptnet.csv")],
        "wordnet": str(write_wordnet(folder / "wordnet")),
    }
    return [
        {"extract_amod": {**parsed, "corpus": "counted"}},
        {"extract_amod": {**parsed, "corpus": "relations", "relations": RELATIONS}},
        {
            "extract_amod": {
                **parsed,
                "corpus": "by-sentence",
                "deduplicate": "sentence",
                **text_options,
            }
        },
        {"extract_amod": {**raw, "corpus": "text", **text_options}},
        {"extract_amod": {**columns, "corpus": "columns"}},
        {"import_knowledge": knowledge},
        {"build_adept": {"preset": "demo"}},
        {"build_plane": {"preset": "demo", "two_shot": 3}},
        {"build_asp": {"preset": "demo", "entailment": 100, "degree": 80}},
        {"build_sygns": {"preset": "demo"}},
    ]


def run_elsewhere(steps: list[dict[str, Any]], lake: Path, engine: str, **variables: str) -> str:
    """Run the pipeline as a command in another process; its messages."""
    file = lake.with_suffix(".yaml")
    file.write_text(yaml.safe_dump({"steps": steps}), encoding="utf-8")
    words = (f"lake={lake}", f"engine={engine}")
    return run_python(SCRIPT, file, *words, timeout=SECONDS, variables=variables).stderr


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return pipeline(tmp_path_factory.mktemp("input"))


@pytest.fixture(scope="module")
def spark_lake(
    spark: SparkSession, steps: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The lake that the pipeline writes on Spark."""
    lake = tmp_path_factory.mktemp("lakes") / "spark"
    run_steps(conf.from_dict(Settings, {"steps": steps, "lake": str(lake), "engine": "spark"}))
    return lake


def files_of(lake: Path, table: str) -> list[pa.Table]:
    """The rows of each file of a table in their order, with the columns that are compared."""
    files = []
    for file in arrow.files(str(lake), table):
        rows = pq.ParquetFile(lake / table / file.path).read()
        names = [name for name in rows.column_names if name not in IGNORED_COLUMNS.get(table, ())]
        rows = rows.select(names).replace_schema_metadata()
        for name, value in file.partition:
            rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
        files.append(rows)
    return files


def without_equal_files(
    one: list[pa.Table], other: list[pa.Table]
) -> tuple[list[pa.Table], list[pa.Table]]:
    """The files of two lists that no file of the other list is equal to."""
    others = list(other)
    different = []
    for file in one:
        equal = [number for number, rows in enumerate(others) if rows.equals(file)]
        if equal:
            del others[equal[0]]
        else:
            different.append(file)
    return different, others


def without_fractions(value: Any) -> Any:
    """A value without its floats, which may differ in the last units."""
    if isinstance(value, dict):
        return {key: without_fractions(one) for key, one in value.items()}
    if isinstance(value, list):
        return [without_fractions(one) for one in value]
    return None if isinstance(value, float) else value


def assert_equal(one: Any, other: Any, where: str) -> None:
    """Check that values are equal; floats may differ in the last two units."""
    if isinstance(one, float) and isinstance(other, float):
        assert math.isclose(one, other, rel_tol=4.5e-16), f"{where}: {one!r} and {other!r}"
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), where
        for number, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_equal(a, b, f"{where}[{number}]")
    elif isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            assert_equal(one[key], other[key], f"{where}.{key}")
    else:
        assert one == other, f"{where}: {one!r} and {other!r}"


def assert_same_lake(one: Path, other: Path, *, all_tables: bool = True) -> None:
    """Check that two lakes have the same tables and rows; by default also that `other` has no more.

    Engines may divide a table into different files, so files are not compared as a whole; but rows
    that share a file in both lakes must have the same order in it.
    """
    tables = sorted(arrow.tables(str(one)))
    if all_tables:
        assert tables == sorted(arrow.tables(str(other)))
    for table in tables:
        schemas = [arrow.dataset(str(lake), table).schema for lake in (one, other)]
        assert schemas[0] == schemas[1], table
        places: defaultdict[str, deque[tuple[int, int, dict[str, Any]]]] = defaultdict(deque)
        files = without_equal_files(files_of(one, table), files_of(other, table))
        for number, rows in enumerate(files[1]):
            for place, row in enumerate(rows.to_pylist()):
                places[repr(without_fractions(row))].append((number, place, row))
        for rows in files[0]:
            last: dict[int, int] = {}
            for row in rows.to_pylist():
                matching = places[repr(without_fractions(row))]
                assert matching, f"{table}: only one engine has {row}"
                number, place, expected = matching.popleft()
                assert_equal(row, expected, table)
                if table not in UNORDERED:
                    assert last.get(number, -1) < place, f"{table}: another order at {row}"
                last[number] = place
        unmatched = [row for matching in places.values() for _, _, row in matching]
        if all_tables or table != "dropped":
            assert not unmatched, f"{table}: only the other engine has {unmatched[:3]}"


def test_every_job_that_uses_an_engine_is_compared(steps):
    assert {name for step in steps for name in step} == JOBS.keys() - WITHOUT_ENGINE


@pytest.mark.slow
def test_sail_gives_the_tables_of_spark(spark_lake, steps, tmp_path):
    log_text = run_elsewhere(steps, tmp_path / "sail", "sail")
    assert "engine: sail" in log_text
    assert_same_lake(tmp_path / "sail", spark_lake)


@pytest.fixture(scope="module")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server in a separate JVM."""
    port = free_port()
    folder = tmp_path_factory.mktemp("server")
    log = folder / "server.log"
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOOPBACK,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    command = ["spark-submit", "--master", "local[2]"]
    for key, value in (
        ("spark.connect.grpc.binding.port", str(port)),
        ("spark.connect.grpc.binding.address", LOOPBACK),
        ("spark.sql.shuffle.partitions", "2"),
        ("spark.ui.enabled", "false"),
    ):
        command += ["--conf", f"{key}={value}"]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + SECONDS
        while not re.search("Spark Connect server started", log.read_text(errors="replace")):
            assert process.poll() is None, log.read_text(errors="replace")[-4000:]
            assert time.monotonic() < deadline, "no server in time"
            time.sleep(0.1)
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
def test_a_connect_server_gives_the_tables_of_spark(spark_lake, steps, tmp_path, connect_server):
    selected_steps = [step for step in steps if step.keys() & {"extract_amod", "import_knowledge"}]
    selected_steps.append({"build_adept": {"preset": "demo"}})
    log_text = run_elsewhere(
        selected_steps, tmp_path / "connect", "auto", SPARK_REMOTE=connect_server
    )
    assert "engine: connect" in log_text
    assert_same_lake(tmp_path / "connect", spark_lake, all_tables=False)


@pytest.mark.slow
def test_without_the_compiled_kernel_spark_and_connect_say_so_once(tmp_path, connect_server):
    (tmp_path / "parts").mkdir()
    write_part(tmp_path / "parts" / "a.gz", [("false", "key"), ("old", "coin")])
    steps = [{"extract_amod": {"source": "depcc", "input": [str(tmp_path / "parts")]}}]
    variables = without_module("adnominal.etl.amod._kernel", tmp_path / "hidden")
    for engine, address in (("spark", {}), ("connect", {"SPARK_REMOTE": connect_server})):
        lake = tmp_path / engine
        log_text = run_elsewhere(steps, lake, engine, **variables, **address)
        assert f"engine: {engine}" in log_text
        assert log_text.count(NO_KERNEL) == 1
        assert arrow.row_count(str(lake), "amod_pairs") == 2
