"""One line every few seconds: the share of a Spark job that is done, its rate, the time left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

log = logging.getLogger("adnominal")


def duration(seconds: float) -> str:
    """``47 s``, ``3 min 10 s`` or ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def line(label: str, share: float, size: int, seconds: float) -> str:
    """The progress line of a job over `size` bytes of which `share` (0 to 1) is done."""
    speed = size * share / seconds / 1e6 if seconds > 0 else 0.0
    left = f"{duration(seconds * (1 - share) / share)} left" if share > 0 else "starting"
    return (
        f"{label}: {share:4.0%}  {size * share / 1e6:.1f} of {size / 1e6:.1f} MB  "
        f"{speed:.2f} MB/s  {left}"
    )


@contextmanager
def watched(spark: SparkSession, label: str, size: int, every: float = 5.0) -> Iterator[None]:
    """Log the progress of the Spark jobs started inside the block, by their finished tasks.

    `size` is the input's size in bytes, for the rate. A task counts when it is done, so a job of
    few tasks moves in leaps.
    """
    context = spark.sparkContext
    context.setJobGroup(label, label)
    stop = threading.Event()
    started = time.monotonic()

    def report() -> None:
        tracker = context.statusTracker()
        while not stop.wait(every):
            done = total = 0
            for job in tracker.getJobIdsForGroup(label):
                info = tracker.getJobInfo(job)
                for stage in info.stageIds if info else ():
                    state = tracker.getStageInfo(stage)
                    if state:
                        done += state.numCompletedTasks
                        total += state.numTasks
            share = done / total if total else 0.0
            log.info("%s", line(label, share, size, time.monotonic() - started))

    thread = threading.Thread(target=report, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
