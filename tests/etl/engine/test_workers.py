"""Functions in worker processes: what goes in and out, what fails, what dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import cloudpickle
import pyarrow as pa
import pytest

from etl.engine import progress
from etl.engine.workers import LocalFunction, Pool, WorkerFailed, from_message, to_message


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(values)})


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool(2)
    yield pool
    pool.close()


def run(pool: Pool, function, *batches: pa.RecordBatch) -> list[dict[str, list[int]]]:
    name = f"{id(function)}-{time.monotonic()}"
    results = pool.run(name, cloudpickle.dumps(function), iter(batches))
    return [out.to_pydict() for out in results]


def doubled(batches):
    for one in batches:
        yield pa.RecordBatch.from_pydict({"n": [2 * n for n in one.column(0).to_pylist()]})


def process_of(batches):
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"n": [os.getpid()]})


def test_messages_come_back_as_they_were():
    words = pa.RecordBatch.from_pydict(
        {"w": pa.array(["a", None, "ü"]).dictionary_encode(), "l": [[1], None, []]}
    )
    assert from_message(to_message(words)).equals(words)


def test_batches_go_in_and_out_one_by_one(pool):
    assert run(pool, doubled, batch(1, 2), batch(), batch(3)) == [
        {"n": [2, 4]},
        {"n": []},
        {"n": [6]},
    ]
    assert run(pool, doubled) == []


def test_input_is_taken_only_as_it_is_asked_for(pool):
    numbers_read = []

    def batches():
        for number in range(5):
            numbers_read.append(number)
            yield batch(number)

    def first(batches):
        yield next(batches)

    results = list(pool.run("first", cloudpickle.dumps(first), batches()))
    assert [out.to_pydict() for out in results] == [{"n": [0]}]
    assert numbers_read == [0]


def test_functions_run_in_as_many_other_processes_as_the_pool_has(pool):
    process_ids: list[int] = []

    def task():
        process_ids.extend(row["n"][0] for row in run(pool, process_of, batch(1)))

    threads = [threading.Thread(target=task) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(process_ids) == 8
    assert os.getpid() not in process_ids
    assert len(set(process_ids)) <= 2


def test_a_task_may_wait_for_another_one_of_the_same_worker():
    pool = Pool(1)
    try:
        inner = pool.run("doubled", cloudpickle.dumps(doubled), iter([batch(1), batch(2)]))
        outer = pool.run("again", cloudpickle.dumps(doubled), inner)
        assert [out.to_pydict()["n"] for out in outer] == [[4], [8]]
    finally:
        pool.close()


def test_an_error_names_its_type_and_text_in_a_line_and_the_log_has_the_traceback(pool, caplog):
    def fails(batches):
        if list(batches):
            raise ValueError("got 3\nexpected 4")
        yield

    with pytest.raises(WorkerFailed, match=r"^ValueError: got 3 expected 4$"):
        run(pool, fails, batch(1))
    assert "in fails" in caplog.text
    assert run(pool, doubled, batch(1)) == [{"n": [2]}]  # the worker goes on


def test_a_worker_that_is_killed_fails_its_task_and_says_so():
    def dies(batches):
        list(batches)
        os.kill(os.getpid(), signal.SIGKILL)
        yield

    pool = Pool(1)
    try:
        with pytest.raises(WorkerFailed, match="a worker process died"):
            run(pool, dies, batch(1))
    finally:
        pool.close()


def test_workers_end_with_the_pool_and_a_closed_pool_starts_new_ones():
    pool = Pool(1)
    first = run(pool, process_of, batch(1))[0]["n"][0]
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert run(pool, process_of, batch(1))[0]["n"][0] != first
    pool.close()


def test_progress_of_workers_is_counted_here(pool):
    def advancing(batches):
        for one in batches:
            progress.advance(one.num_rows)
            yield one

    old_progress = progress.bytes_read()
    run(pool, advancing, batch(1, 2, 3), batch(4))
    assert progress.bytes_read() - old_progress == 4


def test_a_local_function_is_pickled_as_a_name():
    big = list(range(100_000))

    def uses(batches):
        yield from ([len(big)] for _ in batches)

    local = LocalFunction(uses, None)
    pickled = cloudpickle.dumps(local)
    assert len(pickled) < 1000
    assert list(cloudpickle.loads(pickled)([1])) == [[100_000]]


def test_progress_of_a_task_that_another_one_overtook_is_counted():
    pool = Pool(1)
    old_progress = progress.bytes_read()

    def advancing(batches):
        for one in batches:
            progress.advance(one.num_rows)
            yield one

    def batches():
        yield batch(1)
        run(pool, advancing, batch(1, 2))  # begins and ends in the same worker meanwhile
        yield batch(1, 2, 3)

    try:
        assert len(list(pool.run("slow", cloudpickle.dumps(advancing), batches()))) == 2
        assert progress.bytes_read() - old_progress == 6
    finally:
        pool.close()
