"""Which engine is chosen, and what is refused before work starts."""

import logging
import socket

import pyarrow as pa
import pytest

from adnominal.conf import UserError, load, settings_hash
from adnominal.etl import engine
from adnominal.etl.amod.settings import Settings
from adnominal.etl.engine import (
    EMBEDDED_ROWS,
    EngineSettings,
    choose,
    connect,
    map_arrow,
    sail,
    versions,
)
from adnominal.etl.engine import spark as spark_engine


@pytest.fixture(autouse=True)
def no_engine_in_the_environment(monkeypatch):
    for name in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_plain_python_uses_the_embedded_engine(caplog):
    caplog.set_level(logging.INFO)
    assert choose("auto") == "sail"
    assert "engine: sail (embedded" in caplog.text


def test_spark_submit_uses_spark(monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert choose("auto") == "spark"
    assert choose("sail") == "sail"


def test_an_address_selects_the_server_there(monkeypatch):
    with pytest.raises(UserError, match="SPARK_REMOTE is not set; expected the address"):
        choose("connect")
    monkeypatch.setenv("SPARK_REMOTE", "sc://host:1")
    assert choose("auto") == choose("connect") == "connect"


def test_an_address_without_a_server_is_reported_quickly(monkeypatch):
    monkeypatch.setattr(connect, "_PATIENCE", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        for port in (1, silent.getsockname()[1]):
            monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{port}")
            with pytest.raises(UserError, match=r"answers there \(no connection within 0.5 s\)"):
                connect.start("test")
    monkeypatch.setenv("SPARK_REMOTE", "host:1")
    with pytest.raises(UserError, match="The URL must start with 'sc://'"):
        connect.start("test")


def test_parsers_that_need_a_jvm_use_spark():
    assert choose("auto", needs_jvm="parser=sparknlp") == "spark"


def test_an_old_pyspark_has_spark_alone(monkeypatch):
    monkeypatch.setattr(versions, "HAS_CONNECT", False)
    assert choose("auto") == choose("spark") == "spark"
    for setting_value in ("sail", "connect"):
        monkeypatch.setenv("SPARK_REMOTE", "sc://host:1")
        with pytest.raises(UserError, match=rf"engine={setting_value}: pyspark .* needs 4.0"):
            choose(setting_value)
    with pytest.raises(UserError, match="engine=connect"):
        choose("auto")


def test_large_tables_use_spark_if_java_is_available(monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(spark_engine, "java_fault", lambda: None)
    assert choose("auto", rows=EMBEDDED_ROWS + 1) == "spark"
    assert choose("auto", rows=EMBEDDED_ROWS) == "sail"
    monkeypatch.setattr(spark_engine, "java_fault", lambda: "no java is on the PATH")
    assert choose("auto", rows=EMBEDDED_ROWS + 1) == "sail"
    assert "spark would be taken, but no java is on the PATH" in caplog.text


def test_one_process_has_one_engine(spark):
    assert engine.start("again").spark is spark
    with pytest.raises(UserError, match="this process runs sail already"):
        engine.start("again", EngineSettings(engine="spark"))
    with pytest.raises(UserError, match="parser=sparknlp runs in a JVM, which engine=sail does"):
        engine.start("again", needs_jvm="parser=sparknlp")


def test_the_engine_does_not_change_the_hash_of_settings():
    words = ["source=text", "input=x"]
    plain = load(Settings, words)
    other = load(Settings, [*words, "engine=spark", "memory=1GB"])
    assert settings_hash(plain) == settings_hash(other)
    assert settings_hash(plain) != settings_hash(load(Settings, [*words, "seed=3"]))


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GB", 8 << 30), ("500m", 500 << 20), ("1.5 GiB", 3 << 29), ("100000000", 100_000_000)],
)
def test_memory_is_given_in_usual_units(text, size):
    assert sail.memory_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "8X", "63MB", "-1GB", "1.2.3GB"])
def test_other_amounts_of_memory_are_refused(text):
    with pytest.raises(UserError, match="expected 64MB or more, as memory=8GB"):
        sail.memory_bytes(text)


def test_functions_give_the_same_in_worker_processes_and_in_the_engine(spark):
    def squares(batches):
        for batch in batches:
            values = [n * n for n in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"n": values})

    numbers = spark.range(0, 100, 1, 3)
    squares_below_100 = [n * n for n in range(100)]
    for compiled in (True, False):
        rows = map_arrow(numbers, squares, "n long", compiled=compiled).collect()
        assert sorted(row["n"] for row in rows) == squares_below_100


def test_the_failure_of_a_task_is_reported_in_one_line(spark):
    def fails(batches):
        if list(batches):
            raise ValueError("got 3, expected 4")
        yield

    for compiled in (True, False):
        with pytest.raises(Exception, match="got 3") as error:
            map_arrow(spark.range(1), fails, "n long", compiled=compiled).collect()
        line = engine.failure(error.value)
        assert line is not None and line.endswith("ValueError: got 3, expected 4")
    assert engine.failure(ValueError("ours")) is None


class JavaError(Exception):
    """An error of py4j, by its text."""

    __module__ = "py4j.protocol"


@pytest.mark.parametrize(
    "text",
    [
        "An error occurred while calling o99.save.\n: java.io.IOException: No space left\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n",
        "An error occurred while calling o99.save.\n: a.SparkException: [X] failed.\n"
        "\tat org.apache.spark.sql.Y$.z(Y.scala:3)\n"
        "Caused by: java.io.IOException: No space left\n\t... 40 more\n",
        "[X] failed.\n\nJVM stacktrace:\na.SparkException\n\tat a.B.<init>(B.java:1)\n"
        "Caused by: java.io.IOException: No space left\n\tat app//a.B.c(B.java:1)\n",
    ],
)
def test_the_reason_of_a_java_error_is_its_last_cause(text):
    assert engine.failure(JavaError(text)) == "java.io.IOException: No space left"
