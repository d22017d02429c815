"""The explorer as a web application on loopback, and its rows as JSON and TSV."""

import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import uvicorn
from anyio.to_thread import current_default_thread_limiter
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from adnominal.analysis.exploring.pairs import pair
from adnominal.analysis.exploring.queries import CLASSES, MEASURES, Query
from adnominal.analysis.exploring.sketches import Sketches, tsv
from adnominal.analysis.exploring.thesaurus import similar_words
from adnominal.analysis.exploring.words import ROLES
from adnominal.conf import JobFailed, UserError
from adnominal.conf.help import spelling_hint

PAGE = Path(__file__).parent / "page"
HOSTS = ("127.0.0.1", "localhost")

# The page runs only its own scripts, whatever a corpus sentence contains.
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_OUTDATED = (
    "The pairs of this lake were changed after adnominal explore was started; end it with Ctrl-C "
    "and start it again."
)
_MOST_DIGITS = 18  # numbers with this many digits fit in 64 bits

log = logging.getLogger("adnominal")


def query_of(values: Mapping[str, str]) -> Query:
    """The query encoded in the parameters of a URL.

    Raises:
        UserError: an unknown value, or a value that is not a number.
    """
    return Query(
        role=values.get("role", "noun"),
        word=values.get("word", ""),
        other=values.get("other", ""),
        corpus=values.get("corpus", ""),
        other_corpus=values.get("other_corpus", ""),
        measure=values.get("measure", "log_dice"),
        floor=_number("floor", values["floor"]) if values.get("floor") else None,
        classes=tuple(one for one in values.get("classes", "").split(",") if one),
        limit=_number("limit", values.get("limit") or "100"),
        sort_corpus=values.get("sort_corpus", ""),
        hide_determiners=values.get("hide_determiners") == "true",
        fold=values.get("fold") == "true",
    )


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise UserError(
            f"{name}={text[:40]}: expected a whole number of at most {_MOST_DIGITS} digits"
        )
    return int(text)


class _Page:
    """The answers to the page's requests; each runs in its own thread."""

    def __init__(self, sketches: Sketches) -> None:
        self._sketches = sketches

    def about(self, _: Request) -> Response:
        about = {"lake": self._sketches.lake, "corpora": self._sketches.corpora}
        about["tokens"] = self._sketches.tokens
        return JSONResponse({**about, "measures": MEASURES, "classes": CLASSES})

    async def suggest(self, request: Request) -> Response:
        # Runs in the server's thread: it takes less time than waiting for another thread.
        role, word = request.query_params.get("role", "noun"), request.query_params.get("word", "")
        if role not in ROLES:
            raise UserError(
                f"role={role}: expected one of {', '.join(ROLES)}{spelling_hint(role, ROLES)}"
            )
        words = self._sketches.words[role].beginning(word, 12) if word else []
        return JSONResponse([asdict(one) for one in words])

    def rows(self, request: Request) -> Response:
        return JSONResponse(self._answer(request))

    def similar(self, request: Request) -> Response:
        query = query_of({"limit": "30", **request.query_params})
        answer = similar_words(self._sketches, query.role, query.word, query.corpus, query.limit)
        return JSONResponse(answer)

    def table(self, request: Request) -> Response:
        return Response(
            tsv(self._answer(request)["rows"]),
            media_type="text/tab-separated-values; charset=utf-8",
            headers={"Content-Disposition": "attachment"},  # the page names the file
        )

    def _answer(self, request: Request) -> dict[str, Any]:
        return self._sketches.view(query_of(request.query_params))

    def pair(self, request: Request) -> Response:
        """The details of a pair, with its rows in all corpora."""
        adjective, noun = (request.query_params.get(name, "") for name in ("adjective", "noun"))
        details = pair(self._sketches.lake, adjective, noun)
        rows = [
            row
            for row in self._sketches.sketch(Query("noun", noun, floor=1, limit=0))["rows"]
            # A sketch may be of another spelling of the noun.
            if (row["adjective"], row["noun"]) == (adjective, noun)
        ]
        return JSONResponse({**details, "rows": rows})


@asynccontextmanager
async def _few_at_once(_: Starlette) -> AsyncIterator[None]:
    """Limit the concurrent answers to the CPU count; more would only wait while holding rows."""
    current_default_thread_limiter().total_tokens = os.cpu_count() or 1
    yield


def application(sketches: Sketches) -> Starlette:
    """The explorer of a lake as an ASGI application."""
    page = _Page(sketches)

    def refuse_if_outdated(answer: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """The answer, refused if the pairs were changed since the start, or cannot be read."""

        def answer_from_current_lake(request: Request) -> Response:
            try:
                response = answer(request)
                is_outdated = sketches.is_outdated()
            except FileNotFoundError:  # removed by vacuum, together with its version
                is_outdated = True
            except (OSError, JobFailed) as error:
                text = f"The lake cannot be read: {' '.join(str(error).split())}"
                return PlainTextResponse(text, status_code=503)
            return PlainTextResponse(_OUTDATED, status_code=503) if is_outdated else response

        return answer_from_current_lake

    return Starlette(
        routes=[
            Route("/api/about", refuse_if_outdated(page.about)),
            Route("/api/suggest", page.suggest),
            Route("/api/rows", refuse_if_outdated(page.rows)),
            Route("/api/rows.tsv", refuse_if_outdated(page.table)),
            Route("/api/similar", refuse_if_outdated(page.similar)),
            Route("/api/pair", refuse_if_outdated(page.pair)),
            Mount("/", _Files(directory=PAGE, html=True)),
        ],
        lifespan=_few_at_once,
        exception_handlers={UserError: _refusal},
        middleware=[
            # Prevents DNS rebinding: a page of another site must not read the corpus.
            Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS)),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=1),
        ],
    )


class _Files(StaticFiles):
    """The page's files, with the headers that isolate it."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_HEADERS)
        return response


def _refusal(_: Request, error: Exception) -> Response:
    return PlainTextResponse(" ".join(str(error).split()), status_code=400)


def bound(port: int) -> socket.socket:
    """A socket bound to the port on loopback.

    Raises:
        UserError: an invalid port, or one that another program uses.
    """
    if not 0 <= port <= 65535:
        raise UserError(f"port={port}: expected 1 to 65535, or 0 for any free port")
    # With the protocol given, answers do not wait for the client to acknowledge their headers.
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOSTS[0], port))
    except OSError as error:
        listener.close()
        raise UserError(
            f"port={port}: {error.strerror}; choose another one, or port=0 for any free port"
        ) from error
    return listener


def give_memory_back() -> None:
    """Make Arrow return memory to the system after each answer; must be called first.

    The memory that it would keep for the next answer equals all that the server holds.
    """
    if "jemalloc" in pa.supported_memory_backends():
        pa.set_memory_pool(pa.jemalloc_memory_pool())
        pa.jemalloc_set_decay_ms(0)


def serve(sketches: Sketches, port: int, on_start: Callable[[str], None]) -> None:
    """Serve until interrupted; `on_start` gets the address once requests are accepted.

    Raises:
        UserError: as `bound`.
    """
    listener = bound(port)
    listener.listen(256)
    config = uvicorn.Config(application(sketches), log_level="warning", access_log=False)
    on_start(f"http://{HOSTS[0]}:{listener.getsockname()[1]}/")
    with suppress(KeyboardInterrupt):  # uvicorn ends first, then raises it again
        uvicorn.Server(config).run(sockets=[listener])
