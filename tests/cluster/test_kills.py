"""A job that writes through Delta's connector is killed at any moment; the same command ends it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow, upkeep, verify
from adnominal.etl.lake.tables import TABLES
from tests.cluster.submitting import submit_variables
from tests.etl.lake.compare import assert_same_rows
from tests.etl.lake.literals import pairs
from tests.jars import jars

DECLARED = TABLES["amod_pairs"]
SECONDS = 600
# From before the first commit to after the last one, in seconds after the session has started.
KILLS = (0.5, 2.0, 4.0, 7.0, 11.0, 16.0)
WRITER = """
import sys
from adnominal.etl import engine
from adnominal.etl.engine import EngineSettings
from adnominal.etl.lake.frames import spark_schema
from adnominal.etl.lake.spark import Lake
from adnominal.etl.lake.tables import TABLES
spark = engine.start("writer", EngineSettings(engine="spark")).spark
print("ready", flush=True)
lake = Lake(spark, sys.argv[1])
assert lake.engine == "delta-spark"
schema = spark_schema(TABLES["amod_pairs"].schema)
for number in range(4):
    for corpus in ("uk", "Zürich"):
        rows = spark.createDataFrame([(corpus, "a", f"n{number}", number)], schema)
        lake.append("amod_pairs", rows, job="t", transaction=(corpus, number))
rows = spark.createDataFrame([("Zürich", "new", "key", 1)], schema)
lake.replace("amod_pairs", rows, {"corpus": "Zürich"}, job="t", transaction=("replace", 0))
"""
ROWS = [("uk", "a", f"n{number}", number) for number in range(4)] + [("Zürich", "new", "key", 1)]


def writer(root: Path) -> subprocess.Popen[str]:
    variables = {**os.environ, **submit_variables(jars("delta"))}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root)],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_killed_writer_loses_and_doubles_nothing(tmp_path):
    root = tmp_path / "lake"
    for seconds in KILLS:
        process = writer(root)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        if arrow.tables(str(root)):
            assert verify.verify(str(root), DECLARED).faults == ()
    last = writer(root)
    last.communicate(timeout=SECONDS)
    assert last.returncode == 0
    assert_same_rows(arrow.read(str(root), "amod_pairs"), pairs(*ROWS))
    upkeep.compact(str(root), DECLARED)
    upkeep.vacuum(str(root), DECLARED, upkeep.age("0s"))
    assert_same_rows(arrow.read(str(root), "amod_pairs"), pairs(*ROWS))
    assert verify.verify(str(root), DECLARED).faults == ()
