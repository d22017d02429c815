"""Progress is a bar on a terminal, lines in a log, or nothing in a silent process."""

import io
import logging
import time

import pytest

from adnominal.conf import progress
from adnominal.conf.progress import Progress, duration, report_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (47, "47 s"), (190, "3 min 10 s"), (7500, "2 h 05 min")]
)
def test_durations_have_suitable_units(seconds, text):
    assert duration(seconds) == text


def test_a_bar_has_share_rate_and_time_left():
    terminal = Terminal()
    with Progress("work", 4, stream=terminal) as bar:
        time.sleep(0.11)
        bar.advance(1, "step 1")
        time.sleep(0.11)
        bar.advance(2)
    text = terminal.getvalue()
    assert "work:  75% |" in text and "3 of 4" in text
    assert "samples/s" in text and " left" in text and "step 1" in text


def test_logs_get_lines(monkeypatch, caplog):
    monkeypatch.setattr(progress, "_LOG_INTERVAL", 0.05)
    with caplog.at_level(logging.INFO), Progress("work", 4, 1, unit="rows") as lines:
        lines.advance(0)
        time.sleep(0.06)
        lines.advance(1)
        lines.advance(1)  # too soon for another line
    assert [record.message for record in caplog.records if "2 of 4" in record.message]
    assert not [record for record in caplog.records if "3 of 4" in record.message]
    assert all("\r" not in record.message for record in caplog.records)


def test_the_share_of_bytes_is_reported(monkeypatch, caplog):
    monkeypatch.setattr(progress, "_LOG_INTERVAL", 0.01)
    with caplog.at_level(logging.INFO), report_progress("reading", 2_000_000, lambda: 0.5):
        time.sleep(1.2)
    assert "reading:  50%  1.00M of 2.00M" in caplog.text and "B/s" in caplog.text


def test_progress_stays_in_range_and_never_decreases():
    terminal = Terminal()
    with Progress("work", 10, stream=terminal) as bar:
        bar.reach(20)
        bar.reach(3)
        assert bar._bar.n == 10


def test_a_silent_process_writes_nothing(caplog):
    terminal = Terminal()
    with caplog.at_level(logging.INFO), Progress("work", 2, silent=True, stream=terminal) as bar:
        bar.advance(2)
    assert terminal.getvalue() == "" and caplog.text == ""
