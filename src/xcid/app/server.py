"""A thin application in front of a workshop: it reads bytes, lets a thread do the work, and sends JSON.

It imports Starlette, and is imported where it is needed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from xcid.app.serving import Gate
from xcid.app.workshop import MOST_LETTERS, Workshop
from xcid.errors import XcidError
from xcid.show.report.page import SHARED, STYLES, encode_json, fill_frame, read_asset
from xcid.show.wording.names import clean

MOST_BYTES = 2**20  # of a request
MOST_WAITING = 8  # requests, with the one at work and those that are still being sent; a page has one at a time
MOST_OPEN = 256  # connections: beyond that the oldest that waits for its client gives way
LATEST = 10.0  # seconds that a client may take to send a request, or to read the answer
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
OURS = ("app.css", "icon.svg", "controls.js", "steps.js", "code.js", "whatif.js", "app.js")


def application(workshop: Workshop, token: str, hosts: Iterable[str]) -> Gate:
    """Put a workshop behind a guard; everything is below ``/token/``."""
    desk = Desk()
    texts = {name: read_asset(name) for name in (*SHARED, *STYLES)} | {
        name: read_asset(name, "xcid.app") for name in OURS
    }
    routes = [_file(name, text, KINDS[name.rpartition(".")[2]]) for name, text in texts.items()]
    routes.append(_file("", fill_frame(read_asset("app.html", "xcid.app"), {}), "text/html"))
    works = {
        "description": lambda body: workshop.describe(),
        "answer": workshop.answer,
        "search": workshop.search,
        "code": workshop.code,
    }
    for name, work in works.items():
        methods = ["GET"] if name == "description" else ["POST"]
        routes.append(Route(f"/{{token}}/{name}", _desk(desk, work), methods=methods))
    handlers: Any = dict.fromkeys((HTTPException, XcidError, ClientDisconnect, Exception), _complaint)
    return Gate(Starlette(routes=routes, exception_handlers=handlers), token, hosts)


class Connection(H11Protocol):
    """A connection that ends where its client is slow, and where there are too many: none keeps others out."""

    def connection_made(self, transport: Any) -> None:
        """Begin, in the place of the oldest that is not at work where all places are taken."""
        others: list[Any] = list(self.connections) if len(self.connections) >= MOST_OPEN else []
        if idle := [one for one in others if not one.at_work()]:
            min(idle, key=lambda one: one.since).drop()
        super().connection_made(transport)
        self.since = self.loop.time()
        self.loop.call_later(LATEST, self.check)

    def on_response_complete(self) -> None:
        """Give the client its time anew."""
        self.since = self.loop.time()
        super().on_response_complete()

    def at_work(self) -> bool:
        """Whether it is our turn: a request is complete, and has no answer yet."""
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def check(self) -> None:
        """End the connection where its client has had all its time; else look again later."""
        if self in self.connections:
            left = LATEST if self.at_work() else self.since + LATEST - self.loop.time()
            if left > 0:
                self.loop.call_later(left, self.check)
            else:
                self.drop()

    def drop(self) -> None:
        """End the connection at once, whatever is left to send."""
        self.connections.discard(self)
        self.transport.abort()


class Desk:
    """Where work is done: by one thread at a time, and with a short queue.

    The threads are daemons: a server that shuts down does not wait for a slow model.
    """

    def __init__(self) -> None:
        self.lock, self.waiting = threading.Lock(), 0

    async def __call__(self, work: Callable[[bytes], Any], request: Request) -> Any:
        """Read the request, and do the work when its turn comes."""
        if self.waiting >= MOST_WAITING:
            raise HTTPException(503, "too many requests are waiting: try again in a moment")
        self.waiting += 1
        done: Future[Any] = Future()
        try:
            body = await _body(request)
            threading.Thread(target=self._do, args=(work, body, done), daemon=True).start()
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            raise HTTPException(503, "xcid app is shutting down") from None
        finally:
            self.waiting -= 1

    def _do(self, work: Callable[[bytes], Any], body: bytes, done: Future[Any]) -> None:
        with self.lock:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(work(body))
            except Exception as error:  # the request that waits for it says what it was
                done.set_exception(error)


def _desk(desk: Desk, work: Callable[[bytes], Any]) -> Any:
    async def respond(request: Request) -> Response:
        return _json(await desk(work, request))

    return respond


async def _body(request: Request) -> bytes:
    """What was sent, if it is JSON and short."""
    if request.method == "GET":
        return b""
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "a request is JSON: its content type must be application/json")
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > MOST_BYTES:
            raise HTTPException(413, f"a request has at most {MOST_BYTES:,} bytes")
    return bytes(read)


def _file(path: str, text: str, kind: str) -> Route:
    async def respond(request: Request) -> Response:
        return Response(text, media_type=kind)

    return Route(f"/{{token}}/{path}", respond, methods=["GET"])


def _json(record: Any, status: int = 200) -> Response:
    return Response(encode_json(record), status, media_type="application/json")


async def _complaint(request: Request, error: Exception) -> Response:
    """Say what is wrong: with the address, with what was asked, or here; of the last the terminal has all."""
    if isinstance(error, HTTPException):
        return _json({"error": clean(error.detail, MOST_LETTERS)}, error.status_code)
    if isinstance(error, XcidError | ClientDisconnect):  # nobody reads what is said of the second
        return _json({"error": clean(error, MOST_LETTERS)}, 400)
    logging.getLogger("xcid.app").error("a request failed", exc_info=error)
    return _json({"error": clean(f"{type(error).__name__}: {error}", MOST_LETTERS)}, 500)
