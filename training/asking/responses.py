"""The responses of a server over HTTP: which are answers, which are worth another try."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

# 408, 409 and 425 concern one moment; Anthropic's 529 says "overloaded".
_BUSY = (408, 409, 425, 429)
_DENIED = (401, 402, 403, 404)
_FILTERS = ("content_filter", "content_policy_violation")
# A busy server's status, but no later try succeeds.
_NO_CREDIT = "insufficient_quota"
_LONGEST_MESSAGE = 300


class Busy(Exception):
    """The server cannot answer now; `pause` is the number of seconds that it asks to wait."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class Rejected(Exception):
    """The server refuses this question; asking it again is useless."""


class Denied(Exception):
    """The server refuses every question; `status` says why."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Filtered(Exception):
    """A filter of the server refuses to answer this question."""


def read_body(
    status: int, headers: Mapping[str, str], text: str, key: str = ""
) -> Mapping[str, Any]:
    """Return the body of a response that is an answer.

    Args:
        status: the status of the response.
        headers: its headers.
        text: its body.
        key: the key in the request, which an error may repeat; no message contains it.

    Raises:
        Busy: worth another try: 408, 409, 425, 429 and 5xx, or 200 with an error instead of an
            answer, as gateways send it for a failed server behind them.
        Denied: 401, 402, 403, 404, a redirection, or an account without credit.
        Filtered: a content filter refused, which some servers report by status 400.
        Rejected: 400 and every other status.
    """
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    error = _error(body)
    if status == HTTPStatus.OK and isinstance(body, dict) and not error:
        return body
    message = _message(status, str(error.get("message") or text), key)
    code = error.get("code") or error.get("type")
    if status == HTTPStatus.OK:
        raise Busy(message)
    if code in _FILTERS:
        raise Filtered(message)
    if status in _DENIED or code == _NO_CREDIT:
        raise Denied(message, 402 if code == _NO_CREDIT else status)
    if 300 <= status < 400:
        raise Denied(f"{message} {headers.get('Location', '')}".strip(), 404)
    if status in _BUSY or status >= 500:
        raise Busy(message, retry_after(headers))
    raise Rejected(message)


def retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that a response asks to wait (RFC 9110, section 10.2.3), or 0."""
    value = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


def _error(body: object) -> Mapping[str, Any]:
    """Return the error in a body, in the form of OpenAI's and Anthropic's protocols."""
    if not isinstance(body, dict):
        return {}
    error = body.get("error")
    if isinstance(error, dict):
        return error
    # FastAPI's servers say `detail`, earlier versions of vLLM `message` at the top.
    message = error or body.get("detail")
    if message is None and body.get("object") == "error":
        message = body.get("message")
    return {"message": message} if message else {}


def _message(status: int, text: str, key: str) -> str:
    """Return the status and the text of an error in one line, without the key."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    if key:
        text = text.replace(key, "[key]")
    content = " ".join(text.split())
    if len(content) > _LONGEST_MESSAGE:
        content = content[:_LONGEST_MESSAGE] + "…"
    return f"{status} {phrase}".strip() + (f": {content}" if content else "")
