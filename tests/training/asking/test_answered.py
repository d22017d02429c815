import json
import math
import sqlite3
import subprocess

import pytest

from adnominal.conf import JobFailed, UserError
from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.outcomes import LENGTH, REFUSED, Outcome
from tests import fork_server

IDENTITY = {"backend": "local-chat-completions", "model": "a", "address": "http://x/v1"}
YES = Outcome("yes", "stop", "reasons", 11, 3)
KEYS = [request_key("generate_until", (f"question {n}", {"until": []})) for n in range(2000)]


def test_the_key_depends_on_every_part_of_a_request():
    keys = [
        request_key("generate_until", ("a", {"until": []})),
        request_key("generate_until", ("a", {"until": ["."]})),
        request_key("generate_until", ("b", {"until": []})),
        request_key("loglikelihood", ("a", "b")),
        request_key("loglikelihood", ("ab", "")),
        request_key("loglikelihood_rolling", ("a",)),
    ]
    assert len(set(keys)) == len(keys)
    first = request_key("generate_until", ("a", {"until": [], "temperature": 0}))
    assert first == request_key("generate_until", ("a", {"temperature": 0, "until": []}))


def test_stored_outcomes_are_found_again(tmp_path):
    scored = Outcome(likelihood=(-12.345678901234567, True), tokens_in=3)
    with Answered(tmp_path, **IDENTITY) as answered:
        answered.add(KEYS[0], YES)
        answered.add(KEYS[1], scored)
        assert answered.lookup(KEYS) == {KEYS[0]: YES, KEYS[1]: scored}
    with Answered(tmp_path, **IDENTITY) as answered:
        assert answered.lookup(KEYS) == {KEYS[0]: YES, KEYS[1]: scored}
        assert answered.lookup([KEYS[2]]) == {}


@pytest.mark.parametrize("name", IDENTITY)
def test_another_model_server_or_setting_has_another_database(tmp_path, name):
    with Answered(tmp_path, **IDENTITY) as answered:
        answered.add(KEYS[0], YES)
    with Answered(tmp_path, **{**IDENTITY, name: "another"}) as answered:
        assert answered.lookup(KEYS) == {}
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_only_answered_requests_are_stored(tmp_path):
    outcomes = {
        KEYS[0]: Outcome(error="503 Service Unavailable"),
        KEYS[1]: Outcome(None, "stop", error="the server returned null content"),
        KEYS[2]: Outcome(None, "stop"),
        KEYS[3]: Outcome("", "stop"),
        KEYS[4]: Outcome(None, LENGTH, "reasons"),
        KEYS[5]: Outcome(None, REFUSED),
    }
    with Answered(tmp_path, **IDENTITY) as answered:
        for key, outcome in outcomes.items():
            answered.add(key, outcome)
        assert set(answered.lookup(KEYS)) == set(KEYS[3:6])


def test_the_first_outcome_of_a_request_stays(tmp_path):
    with Answered(tmp_path, **IDENTITY) as answered:
        answered.add(KEYS[0], YES)
        answered.add(KEYS[0], Outcome("no"))
        assert answered.lookup(KEYS) == {KEYS[0]: YES}


def test_more_requests_than_a_statement_has_parameters(tmp_path):
    with Answered(tmp_path, **IDENTITY) as answered:
        for key in KEYS:
            answered.add(key, YES)
        assert len(answered.lookup(KEYS)) == len(KEYS)


def database_below(folder):
    """The path of the only database, which is new."""
    with Answered(folder, **IDENTITY) as answered:
        return answered.path


def test_the_database_says_what_it_belongs_to(tmp_path):
    path = database_below(tmp_path)
    with sqlite3.connect(path) as database:
        [[text]] = database.execute("SELECT settings FROM identity").fetchall()
    assert json.loads(text) == IDENTITY


def test_a_file_that_is_no_database_is_the_users_mistake(tmp_path):
    path = database_below(tmp_path)
    for further in tmp_path.glob(f"{path.name}-*"):
        further.unlink()
    path.write_bytes(b"no database" * 200)
    with pytest.raises(UserError, match=r"not a database.*delete the file"):
        Answered(tmp_path, **IDENTITY)


def test_a_database_that_cannot_be_written_fails_the_job(tmp_path):
    path = database_below(tmp_path)
    with Answered(tmp_path, **IDENTITY) as answered:
        with sqlite3.connect(path) as database:
            database.execute("DROP TABLE answers")
        with pytest.raises(JobFailed, match="run again"):
            answered.add(KEYS[0], YES)


def test_nan_is_no_likelihood():
    # JSON has no NaN that other readers accept; nothing with it reaches a store.
    from adnominal.training.asking.caching import as_outcome

    assert as_outcome((math.nan, False)).error
    assert as_outcome((-1.5, True)) == Outcome(likelihood=(-1.5, True))
    assert as_outcome("yes") == Outcome("yes")


WRITER = """
import sys, time
from pathlib import Path
from adnominal.training.asking.answered import Answered, request_key
from adnominal.training.asking.outcomes import Outcome
folder, first, last, pause = sys.argv[1], *map(int, sys.argv[2:4]), float(sys.argv[4])
answered = Answered(Path(folder), model="m")
for n in range(first, last):
    answered.add(request_key("generate_until", (n,)), Outcome(str(n)))
    print(n, flush=True)
    time.sleep(pause)
"""


def write(folder, first, last, pause="0"):
    return subprocess.Popen(
        [fork_server.python(), "-c", WRITER, str(folder), str(first), str(last), pause],
        stdout=subprocess.PIPE,
        text=True,
    )


def test_several_processes_share_a_database(tmp_path):
    processes = [write(tmp_path, first, first + 500) for first in (0, 250, 500)]
    for process in processes:
        process.communicate()
        assert process.returncode == 0
    with Answered(tmp_path, model="m") as answered:
        keys = {n: request_key("generate_until", (n,)) for n in range(1000)}
        outcomes = answered.lookup(keys.values())
    assert {n: outcomes[key].text for n, key in keys.items()} == {n: str(n) for n in range(1000)}


def test_a_killed_process_loses_no_answer(tmp_path):
    process = write(tmp_path, 0, 100_000, "0.0001")
    assert process.stdout is not None
    while process.stdout.readline() != "50\n":
        pass
    process.kill()
    printed = [int(line) for line in process.stdout if line.endswith("\n")]
    last = max(printed, default=50)
    with Answered(tmp_path, model="m") as answered:
        keys = [request_key("generate_until", (n,)) for n in range(last + 1)]
        assert len(answered.lookup(keys)) == last + 1
