"""A lake in an object store, moto's S3 server, with the embedded engine."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pytest
import yaml

from adnominal.conf import ROOT
from adnominal.etl.lake import arrow
from adnominal.etl.lake.tables import TABLES
from adnominal.etl.looking.commands import main
from tests import fork_server
from tests.commands import run_python
from tests.etl.amod.corpus import contents
from tests.ports import LOOPBACK, free_port

pytestmark = pytest.mark.slow
DEPCC = str(ROOT / "conf" / "demo" / "depcc-part.gz")
LAKE = "s3://bucket/some/lake"


@contextmanager
def running_store() -> Iterator[dict[str, str]]:
    """A store with a bucket; the environment variables that give libraries access to it."""
    pytest.importorskip("moto")
    import boto3

    # In a separate process, as delta-rs holds the interpreter's lock while it waits for answers.
    host, port = LOOPBACK, free_port()
    command = [sys.executable, "-m", "moto.server", "-H", host, "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    variables = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        try:
            _wait_for(host, port)
            client = boto3.client("s3", endpoint_url=variables["AWS_ENDPOINT_URL"])
            client.create_bucket(Bucket="bucket")
            yield variables
        finally:
            server.kill()
            server.wait()


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """`running_store`, for the tests of a module."""
    with running_store() as variables:
        yield variables


def _wait_for(host: str, port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def lake(store: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A lake with the tables of an extraction and a build, written by another process."""
    steps = [
        {"extract_amod": {"source": "depcc", "input": [DEPCC], "examples": 1}},
        {"build_sygns": {"preset": "demo"}},
    ]
    file = tmp_path_factory.mktemp("pipeline") / "steps.yaml"
    file.write_text(yaml.safe_dump({"lake": LAKE, "steps": steps}))
    python = fork_server.python("libraries")
    words = ("etl/pipeline.py", file, "engine=sail")
    run_python(*words, python=python, timeout=200, variables=store)
    return LAKE


def call(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, f"lake={LAKE}"]) == 0
    return capsys.readouterr().out


def test_jobs_write_to_the_store_and_commands_read_from_it(lake, tmp_path, capsys):
    tables = ("amod_pairs", "amod_association", "amod_examples")
    assert {*tables, "sygns", "sygns_splits"} <= set(arrow.tables(lake))
    assert "A false key and a real key" in call(capsys, "why", "false", "key")
    call(capsys, "export", "amod_pairs", "format=tsv", f"out={tmp_path / 'pairs.tsv'}")
    rows = arrow.read(lake, "amod_pairs").num_rows
    assert len((tmp_path / "pairs.tsv").read_text().splitlines()) == rows + 1
    local = str(tmp_path / "lake")
    settings = ["source=depcc", f"input={DEPCC}", f"lake={local}", "examples=1"]
    python = fork_server.python("libraries")
    run_python("etl/extract_amod.py", *settings, python=python, timeout=200)
    assert contents(lake, tables) == contents(local, tables)


def test_concurrent_writers_and_upkeep(lake, capsys):
    schema = TABLES["graded_pairs"].schema

    def write(writer: int) -> None:
        for number in range(4):
            row = {"pair_id": f"{writer}-{number}", "source": "s", "score": 1.0, "split": "train"}
            table = pa.Table.from_pylist([{**row, "adjective": "a", "noun": "n"}], schema)
            arrow.append(lake, "graded_pairs", table, job="test", transaction=(f"{writer}", number))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(2)))
    assert arrow.read(lake, "graded_pairs").num_rows == 8
    assert call(capsys, "compact", "graded_pairs").split()[-2:] == ["8", "1"]
    assert arrow.read(lake, "graded_pairs").num_rows == 8
    vacuumed = call(capsys, "vacuum", "graded_pairs", "older_than=0s").splitlines()[-1]
    assert vacuumed.split()[1] == "8"
    assert arrow.read(lake, "graded_pairs").num_rows == 8
    call(capsys, "verify")


@pytest.mark.usefixtures("store")
def test_a_missing_bucket_is_reported_in_one_line(
    capsys,
):
    assert main(["list", "lake=s3://absent/lake"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "/absent): NoSuchBucket: " in line and "\x1b" not in line
