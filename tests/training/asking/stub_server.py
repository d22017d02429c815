"""A language model's server on loopback, for tests: it answers as a question tells it to.

It speaks OpenAI's chat and completions protocols and Anthropic's messages protocol. The last word
in brackets of a question names the behaviour (`BEHAVIOURS`): ``Is grass green? [null]``;
``[once 503]`` behaves so at the first time and then answers. Run as a program, it prints its
address and serves until it is killed.
"""

import json
import re
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"
REASONING = "Grass is green. The answer is yes."
_MARK = re.compile(r"\[([a-z0-9 -]+)\]")


@dataclass(frozen=True)
class Reply:
    """An answer in no protocol yet, or a failure.

    Attributes:
        text: the content; None for null.
        finish: ``stop``, ``length`` or ``refused``.
        reasoning: reasoning in a field of its own.
        status: the status of the response.
        message: the message of an error.
        code: the code of an error.
        headers: further headers.
        seconds: time until the answer.
        drop: whether the connection is closed instead.
        body: a body outside the protocol.
    """

    text: str | None = "yes"
    finish: str = "stop"
    reasoning: str | None = None
    status: int = 200
    message: str = ""
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    drop: bool = False
    body: str | None = None


BEHAVIOURS = {
    "answer": Reply(),
    "reasoning": Reply(reasoning=REASONING),
    "reasoning in text": Reply(f"<think>{REASONING}</think>\n\nyes"),
    "null": Reply(None, reasoning=REASONING),
    "null cut off": Reply(None, "length", reasoning=REASONING),
    "refusal": Reply("I cannot answer that.", "refused"),
    "filter": Reply(None, "refused"),
    "filter 400": Reply(status=400, message="filtered", code="content_filter"),
    "unparsable": Reply("It depends on the season."),
    "cut off": Reply("Let me think about gr", "length"),
    "empty": Reply(""),
    "400": Reply(status=400, message="max_tokens is too large"),
    "401": Reply(status=401, message="Incorrect API key provided: {key}"),
    "403": Reply(status=403, message="the key has no access to this model"),
    "404": Reply(status=404, message="the model does not exist"),
    "429": Reply(status=429, message="rate limit", headers={"Retry-After": "0.3"}),
    "429 tomorrow": Reply(status=429, message="daily limit", headers={"Retry-After": "86400"}),
    "quota": Reply(status=429, message="you exceeded your quota", code="insufficient_quota"),
    "503": Reply(status=503, message="overloaded"),
    "200 error": Reply(body='{"error": {"message": "upstream failed", "code": 502}}'),
    "html": Reply(body="<html>A login page</html>"),
    "elsewhere": Reply(body='{"choices": []}'),
    "redirect": Reply(status=307, headers={"Location": "http://127.0.0.1:9/"}),
    "slow": Reply(seconds=3.0),
    "drop": Reply(drop=True),
}
"""What the server can do, by the word in a question."""


def behaviour(text: str, time_asked: int) -> str:
    """Return the name of the behaviour for a question.

    Args:
        text: the question.
        time_asked: 1 when it is asked for the first time.
    """
    marks = _MARK.findall(text)
    if not marks:
        return "answer"
    name = str(marks[-1])
    if not name.startswith("once "):
        return name
    return name.removeprefix("once ") if time_asked == 1 else "answer"


class StubServer:
    """The server, in a ``with`` block.

    Attributes:
        address: its address up to ``/v1``.
        questions: the text of each question, in the order of arrival.
        headers: the headers of the last question.
        payloads: the body of each question.
        most_at_once: the greatest number of questions that it had at a time.
    """

    def __init__(
        self,
        behave: Callable[[str, int], str] = behaviour,
        *,
        seconds: float = 0.0,
        echoes: bool = True,
    ) -> None:
        """Args:
        behave: gives the behaviour for a question and how often it has been asked.
        seconds: time for each answer.
        echoes: whether log-probabilities of the prompt are returned.
        """
        self.questions: list[str] = []
        self.payloads: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.most_at_once = 0
        self._behave = behave
        self._seconds = seconds
        self._echoes = echoes
        self._at_once = 0
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _HTTPServer((LOOPBACK, 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.address = f"http://{LOOPBACK}:{self._server.server_port}/v1"

    def __enter__(self) -> "StubServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def count(self, text: str) -> int:
        """Return how many questions contained the text."""
        return sum(text in question for question in self.questions)

    def reply(self, path: str, headers: dict[str, str], payload: dict[str, Any]) -> Reply:
        """Count a question and return its reply, in its protocol."""
        text = _question(payload)
        with self._lock:
            self.questions.append(text)
            self.payloads.append(payload)
            self.headers = headers
            self._counts[text] += 1
            time_asked = self._counts[text]
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            reply = BEHAVIOURS[self._behave(text, time_asked)]
            time.sleep(reply.seconds or self._seconds)
        finally:
            with self._lock:
                self._at_once -= 1
        if reply.drop or reply.body is not None:
            return reply
        if reply.status != 200:
            key = headers.get("x-api-key") or headers.get("authorization", "").partition(" ")[2]
            error = {"message": reply.message.replace("{key}", key), "code": reply.code}
            return _with_body(reply, {"error": error})
        protocol = PROTOCOLS.get(path)
        if protocol is None:
            return Reply(status=404, body='{"detail": "Not Found"}')
        return _with_body(reply, protocol(self, payload, reply))

    def _chat(self, payload: dict[str, Any], reply: Reply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        finish = reply.finish
        if reply.finish == "refused" and reply.text:
            # As OpenAI: the refusal has a field of its own.
            message |= {"content": None, "refusal": reply.text}
            finish = "stop"
        elif reply.finish == "refused":
            finish = "content_filter"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 3}}

    def _completions(self, payload: dict[str, Any], reply: Reply) -> dict[str, Any]:
        finish = {"refused": "content_filter"}.get(reply.finish, reply.finish)
        choice: dict[str, Any] = {"index": 0, "text": reply.text, "finish_reason": finish}
        if payload.get("echo"):
            choice["logprobs"] = self._echo(payload["prompt"]) if self._echoes else None
        return {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}

    def _echo(self, prompt: list[int] | list[list[int]]) -> dict[str, Any]:
        """Return the log-probabilities of a prompt of token ids, and of a token after it."""
        tokens = prompt[0] if isinstance(prompt[0], list) else prompt
        values: list[float | None] = [logprob(int(token)) for token in [*tokens, 0]]
        best = [{"best": max(value or 0.0, -1.5)} for value in values]
        return {
            "token_logprobs": [None, *values[1:]],
            "top_logprobs": [None, *best[1:]],
        }

    def _messages(self, payload: dict[str, Any], reply: Reply) -> dict[str, Any]:
        blocks = []
        if reply.reasoning:
            blocks.append({"type": "thinking", "thinking": reply.reasoning})
        if reply.text is not None:
            blocks.append({"type": "text", "text": reply.text})
        finish = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}[reply.finish]
        usage = {"input_tokens": 5, "cache_read_input_tokens": 6, "output_tokens": 3}
        return {"content": blocks, "stop_reason": finish, "usage": usage}


PROTOCOLS = {
    "/v1/chat/completions": StubServer._chat,
    "/v1/completions": StubServer._completions,
    "/v1/messages": StubServer._messages,
}


def logprob(token: int) -> float:
    """Return the log-probability that the server gives every occurrence of a token."""
    return -(token % 5) - 0.5


def _question(payload: dict[str, Any]) -> str:
    """Return the text of the last message, or the prompt."""
    if "messages" not in payload:
        return str(payload["prompt"])
    content = payload["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _with_body(reply: Reply, body: dict[str, Any]) -> Reply:
    return Reply(status=reply.status, headers=reply.headers, body=json.dumps(body))


class _HTTPServer(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False


def _handler(stub: StubServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = stub.reply(self.path, headers, payload)
            if reply.drop:
                self._reset()
                return
            content = (reply.body or "").encode()
            try:
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except OSError:
                # A client that was killed, or whose time was over.
                self.close_connection = True

        def _reset(self) -> None:
            """Close the connection at once, without the usual farewell."""
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


if __name__ == "__main__":
    with StubServer(seconds=float(sys.argv[1]) if len(sys.argv) > 1 else 0.0) as server:
        print(server.address, flush=True)
        threading.Event().wait()
