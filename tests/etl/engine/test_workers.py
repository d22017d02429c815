"""Functions in worker processes: their batches, errors, kills and progress."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import cloudpickle
import pyarrow as pa
import pytest

from adnominal.etl.engine import progress
from adnominal.etl.engine.workers import LocalFunction, Pool, WorkerFailed, from_message, to_message


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(values)})


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool(2)
    yield pool
    pool.close()


@pytest.fixture
def one_worker() -> Iterator[Pool]:
    pool = Pool(1)
    yield pool
    pool.close()


def test_a_worker_has_the_folder_of_the_job_but_not_its_modules(tmp_path, monkeypatch):
    (tmp_path / "model").touch()
    (tmp_path / "colorsys.py").write_text("raise RuntimeError")  # no library here imports it
    monkeypatch.chdir(tmp_path)

    def lengths(_):
        import colorsys  # noqa: F401

        yield batch(os.path.getsize("model"))

    pool = Pool(1)
    try:
        (answer,) = results(pool, lengths, iter([]))
    finally:
        pool.close()
    assert answer.to_pydict() == {"n": [0]}


def results(pool: Pool, function, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    name = f"{id(function)}-{time.monotonic()}"
    return pool.run(name, cloudpickle.dumps(function), batches)


def run(pool: Pool, function, *batches: pa.RecordBatch) -> list[dict[str, list[int]]]:
    return [out.to_pydict() for out in results(pool, function, iter(batches))]


def double_rows(batches):
    for numbers in batches:
        yield pa.RecordBatch.from_pydict({"n": [2 * n for n in numbers.column(0).to_pylist()]})


def process_of(batches):
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"n": [os.getpid()]})


def advance_progress(batches):
    for numbers in batches:
        progress.advance(numbers.num_rows)
        yield numbers


def test_messages_keep_their_batches():
    words = pa.RecordBatch.from_pydict(
        {"w": pa.array(["a", None, "ü"]).dictionary_encode(), "l": [[1], None, []]}
    )
    assert from_message(to_message(words)).equals(words)


def test_batches_are_processed_one_by_one(pool):
    answers = run(pool, double_rows, batch(1, 2), batch(), batch(3))
    assert [answer["n"] for answer in answers] == [[2, 4], [], [6]]
    assert run(pool, double_rows) == []


def test_input_is_read_only_on_demand(pool):
    numbers_read = []

    def batches():
        for number in range(5):
            numbers_read.append(number)
            yield batch(number)

    def first_batch(batches):
        yield next(batches)

    assert [out.to_pydict() for out in results(pool, first_batch, batches())] == [{"n": [0]}]
    assert numbers_read == [0]


def test_functions_run_in_the_processes_of_the_pool(pool):
    with ThreadPoolExecutor(8) as threads:
        tasks = threads.map(lambda _: run(pool, process_of, batch(1)), range(8))
        process_ids = [row["n"][0] for rows in tasks for row in rows]
    assert len(process_ids) == 8
    assert os.getpid() not in process_ids
    assert len(set(process_ids)) <= 2


def test_a_task_may_wait_for_another_one_of_the_same_worker(one_worker):
    inner = results(one_worker, double_rows, iter([batch(1), batch(2)]))
    outer = results(one_worker, double_rows, inner)
    assert [out.to_pydict()["n"] for out in outer] == [[4], [8]]


def test_a_task_whose_reports_nobody_reads_does_not_stop_the_others(one_worker, tmp_path):
    def reporting(_):
        yield batch(0)
        (tmp_path / "resumed").touch()
        for _ in range(2000):  # more messages than a socket holds
            progress.advance(1)

    unread = results(one_worker, reporting, iter([]))
    next(unread)
    while not (tmp_path / "resumed").exists():
        time.sleep(0.01)
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(run, one_worker, double_rows, batch(1))
        try:
            assert other.result(timeout=20) == [{"n": [2]}]
        except TimeoutError:
            one_worker.close()  # ends the other task too
            raise
    assert list(unread) == []


def test_an_error_is_one_line_and_its_traceback_is_in_the_log(pool, caplog):
    def fail(batches):
        if list(batches):
            raise ValueError("got 3\nexpected 4")
        yield

    with pytest.raises(WorkerFailed, match=r"^ValueError: got 3 expected 4$"):
        run(pool, fail, batch(1))
    assert "in fail" in caplog.text
    assert run(pool, double_rows, batch(1)) == [{"n": [2]}]  # the worker still runs


def test_a_killed_worker_fails_its_task_with_a_reason(one_worker):
    def kill_worker(batches):
        list(batches)
        os.kill(os.getpid(), signal.SIGKILL)
        yield

    with pytest.raises(WorkerFailed, match="a worker process died"):
        run(one_worker, kill_worker, batch(1))


def test_workers_end_with_the_pool_and_a_closed_pool_starts_new_ones(one_worker):
    first_process = run(one_worker, process_of, batch(1))[0]["n"][0]
    one_worker.close()
    with pytest.raises(ProcessLookupError):
        os.kill(first_process, 0)
    assert run(one_worker, process_of, batch(1))[0]["n"][0] != first_process


def test_progress_of_workers_is_counted_in_the_job(pool):
    old_progress = progress.bytes_read()
    run(pool, advance_progress, batch(1, 2, 3), batch(4))
    assert progress.bytes_read() - old_progress == 4


def test_a_unit_that_failed_takes_no_later_reports():
    with pytest.raises(OSError, match="gone"), progress.unit_in_work(0, 10):
        progress.reached(4)
        raise OSError("gone")
    old_progress = progress.bytes_read()
    progress.reached(9)  # of another file
    assert progress.bytes_read() == old_progress


def test_a_local_function_is_pickled_as_a_name():
    big = list(range(100_000))

    def uses_list(batches):
        yield from ([len(big)] for _ in batches)

    local = LocalFunction(uses_list, None)
    pickled = cloudpickle.dumps(local)
    assert len(pickled) < 1000
    assert list(cloudpickle.loads(pickled)([1])) == [[100_000]]


def test_progress_of_overlapping_tasks_is_counted(one_worker):
    old_progress = progress.bytes_read()

    def batches():
        yield batch(1)
        run(one_worker, advance_progress, batch(1, 2))  # runs in the same worker in between
        yield batch(1, 2, 3)

    assert len(list(results(one_worker, advance_progress, batches()))) == 2
    assert progress.bytes_read() - old_progress == 6
