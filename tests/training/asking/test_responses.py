import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from adnominal.training.asking.responses import (
    Busy,
    Denied,
    Filtered,
    Rejected,
    read_body,
    retry_after,
)


def failure(status, body="", headers=None, key=""):
    text = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises((Busy, Denied, Filtered, Rejected)) as raised:
        read_body(status, headers or {}, text, key)
    return raised.value


def test_an_answer_is_returned_as_it_is():
    assert read_body(200, {}, '{"choices": [], "error": null}') == {"choices": [], "error": None}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Rejected),
        (413, Rejected),
        (422, Rejected),
        (401, Denied),
        (402, Denied),
        (403, Denied),
        (404, Denied),
        (302, Denied),
        (408, Busy),
        (409, Busy),
        (425, Busy),
        (429, Busy),
        (500, Busy),
        (503, Busy),
        (529, Busy),
    ],
)
def test_the_status_decides_what_happens(status, kind):
    assert type(failure(status)) is kind


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "OpenAI and Anthropic", "type": "x"}}, "OpenAI and Anthropic"),
        ({"error": "a text"}, "a text"),
        ({"detail": "FastAPI"}, "FastAPI"),
        ({"object": "error", "message": "earlier vLLM"}, "earlier vLLM"),
        ("<html>\n a proxy </html>", "<html> a proxy </html>"),
        ("x" * 1000, "x" * 300 + "…"),
    ],
)
def test_the_servers_words_are_in_the_message(body, message):
    assert str(failure(503, body)) == f"503 Service Unavailable: {message}"


def test_a_key_is_in_no_message():
    error = failure(401, {"error": {"message": "wrong key: sk-1, use another"}}, key="sk-1")
    assert str(error) == "401 Unauthorized: wrong key: [key], use another"


def test_codes_go_before_the_status():
    assert type(failure(400, {"error": {"code": "content_filter"}})) is Filtered
    spent = failure(429, {"error": {"code": "insufficient_quota"}})
    assert isinstance(spent, Denied)
    assert spent.status == 402


def test_an_error_with_status_200_is_tried_again():
    assert type(failure(200, {"error": {"message": "upstream", "code": 502}})) is Busy
    assert type(failure(200, "no JSON")) is Busy
    assert type(failure(200, "[]")) is Busy


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0.25", 0.25), ("-1", 0.0), ("", 0.0), ("soon", 0.0), ("nan", 0.0)],
)
def test_seconds_to_wait(value, seconds):
    assert retry_after({"Retry-After": value}) == seconds


def test_a_date_to_wait_for():
    date = datetime.now(UTC) + timedelta(seconds=60)
    assert 50 < retry_after({"Retry-After": format_datetime(date, usegmt=True)}) <= 60
    past = datetime.now(UTC) - timedelta(seconds=60)
    assert retry_after({"Retry-After": format_datetime(past, usegmt=True)}) == 0.0
    assert retry_after({}) == 0.0
