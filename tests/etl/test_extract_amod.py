"""The job as users start it: exit codes, errors of one line, damaged files, and a kill."""

import dataclasses
import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from adnominal.conf import ROOT
from adnominal.etl.amod.settings import Settings
from adnominal.etl.extract_amod import main
from adnominal.etl.lake import arrow
from tests import fork_server
from tests.commands import run_python
from tests.etl.amod.corpus import contents, depcc_part, depcc_sentence, write_part

SCRIPT = ROOT / "etl" / "extract_amod.py"
ODD = depcc_sentence("odd", "key").encode()
# Damage to a part with (old, key) and (odd, key), the reason that it is counted under, and whether
# (odd, key) is still a pair. (old, key) always is.
DAMAGE: dict[str, tuple[bytes, str | None, bool]] = {
    "crlf": (ODD.replace(b"\n", b"\r\n"), None, True),
    "utf8": (ODD.replace(b"\todd\todd", b"\todd\xff\todd"), "utf8", False),
    "nul": (ODD.replace(b"\todd\todd", b"\to\0d\todd"), "nul", False),
    "few_columns": (ODD.replace(b"\todd\todd", b"\todd odd"), "columns", False),
    "many_columns": (ODD.replace(b"\todd\todd", b"\todd\t\todd"), "columns", False),
    "head_beyond": (ODD.replace(b"\t2\tamod", b"\t77\tamod"), "head_missing", False),
    "head_itself": (ODD.replace(b"\t2\tamod", b"\t1\tamod"), "self_head", False),
    "head_no_number": (ODD.replace(b"\t2\tamod", b"\t-2\tamod"), "head", False),
    "twice_an_id": (ODD.replace(b"\n3\t", b"\n1\t"), "duplicate_id", False),
    "no_id": (ODD.replace(b"\n1\t", b"\nx\t"), "id", False),
    "noun_lost": (ODD.replace(b"2\tkey\tkey", b"2 key key"), "columns", False),
    "no_last_newline": (ODD.rstrip(b"\n"), None, True),
}


def run(*words: str) -> int:
    """Run the command in this process, on the running session."""
    return main(words)


def test_every_kind_of_damage_is_counted_and_gives_no_wrong_pair(spark, tmp_path, capsys, caplog):
    parts = tmp_path / "parts"
    parts.mkdir()
    for name, (damaged, _, _) in DAMAGE.items():
        (parts / f"{name}.gz").write_bytes(gzip.compress(depcc_part([("old", "key")]) + damaged))
    lake = str(tmp_path / "lake")
    words = ("source=depcc", f"input={parts}", f"lake={lake}")
    caplog.set_level("INFO")
    assert run(*words, "max_rejected=1") == 0
    assert f"next: adnominal explore lake={lake}" in caplog.text
    pairs = {
        (row["adjective"], row["noun"]): row["count"]
        for row in arrow.read(lake, "amod_pairs").to_pylist()
    }
    undamaged = sum(is_pair for _, _, is_pair in DAMAGE.values())
    assert pairs == {("old", "key"): len(DAMAGE), ("odd", "key"): undamaged}
    dropped = {row["reason"]: row for row in arrow.read(lake, "dropped").to_pylist()}
    for name, (_, reason, _) in DAMAGE.items():
        if reason:
            assert reason in dropped, name
            assert ".gz, line " in dropped[reason]["sample"]
    assert capsys.readouterr().err.count("error:") == 0

    # With the default max_rejected= of 0.1 %, exactly the files with a reason fail.
    assert run(*words, "corpus=strict") == 1
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert len([line for line in error.splitlines() if line.startswith("error:")]) == 1
    failed = {
        Path(row["path"]).name.removesuffix(".gz"): row["reason"]
        for row in arrow.read(lake, "amod_files").to_pylist()
        if row["corpus"] == "strict" and row["status"] == "failed"
    }
    expected = {name: reason for name, (_, reason, _) in DAMAGE.items() if reason}
    assert failed.keys() == expected.keys()
    assert all(f"most often {expected[name]} (" in reason for name, reason in failed.items())


def test_mistakes_are_reported_before_spark_starts(tmp_path):
    empty = tmp_path / "empty.gz"
    empty.write_bytes(b"")
    part = write_part(tmp_path / "part.gz", [("old", "key")])
    text = tmp_path / "a.txt"
    text.write_text("An old key.\n")
    cases = {
        ("source=depcc", "input=/no/such/file"): "no such file",
        ("source=depcc", f"input={empty}"): "empty",
        ("source=depc", f"input={part}"): "expected one of depcc, conllu",
        ("source=depcc", f"inptu={part}"): "did you mean 'input'",
        ("source=depcc", f"input={part}", "max_rejected=2"): "share from 0 to 1",
        ("source=depcc", f"input={part}", "partitions=0"): "expected 1 or more",
        ("source=text", f"input={text}", "parser_model=no_such"): "no_such",
        ("source=text", f"input={text}", "parser=stanza", "parser_model=/no"): "stanza",
        ("source=text", f"input={part}"): "looks like a parsed corpus in the layout depcc",
        ("source=depcc", "input=nosuch://bucket/x"): "nosuch",
    }
    code = (
        "import json, sys\n"
        "from adnominal import conf\n"
        "from adnominal.etl.amod.job import extract\n"
        "from adnominal.etl.amod.settings import Settings\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    print(conf.run(Settings, extract, words), flush=True)\n"
        "    print('---', file=sys.stderr, flush=True)\n"
        "from adnominal.etl import engine\n"
        "print(engine._running is None)\n"
    )
    words = ("-c", code, json.dumps(list(cases)))
    process = run_python(*words, python=fork_server.python("libraries"), timeout=120)
    assert process.stdout.split() == ["2"] * len(cases) + ["True"]
    assert "Traceback" not in process.stderr
    for message, expected in zip(process.stderr.split("---"), cases.values(), strict=False):
        errors = [line for line in message.splitlines() if line.startswith("error:")]
        assert len(errors) == 1, message
        assert expected in errors[0]


def test_help_lists_every_setting_from_any_folder(tmp_path):
    text = run_python(SCRIPT, "--help", cwd=tmp_path).stdout
    for name in (field.name for field in dataclasses.fields(Settings)):
        assert f"\n  {name}  (" in text


def start(*words: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [fork_server.python("libraries"), str(SCRIPT), *words],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


@pytest.mark.slow
def test_a_killed_run_is_resumed_with_the_same_tables(spark, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    for i in range(2):
        write_part(parts / f"{i:02}.gz", [("old", "key"), (f"a{i}", "key"), ("red", f"n{i}")])
    words = ("source=depcc", f"input={parts}", "wave_bytes=1", "examples=1")
    assert run(*words, f"lake={tmp_path / 'whole'}") == 0

    lake = tmp_path / "lake"
    log = lake / "amod_counts" / "_delta_log"
    job = start(*words, f"lake={lake}", folder=tmp_path)
    deadline = time.monotonic() + 120
    while not (log.is_dir() and list(log.glob("*.json"))):
        assert job.poll() is None, job.communicate()[0].decode()
        assert time.monotonic() < deadline, "no wave within two minutes"
        time.sleep(0.02)
    os.killpg(job.pid, signal.SIGKILL)
    job.communicate()
    fork_server.settle(fork_server.python("libraries"))
    ledger = {row["path"]: row for row in arrow.read(str(lake), "amod_files").to_pylist()}
    assert {row["status"] for row in ledger.values()} >= {"planned"}

    assert run(*words, f"lake={lake}") == 0
    assert contents(lake) == contents(tmp_path / "whole")
