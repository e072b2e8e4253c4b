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
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from xcid.app.serving import Gate
from xcid.app.workshop import MOST_LETTERS, Workshop
from xcid.errors import XcidError
from xcid.report.page import SHARED, STYLES, asset, encoded, filled
from xcid.wording.names import clean

MOST_BYTES = 2**20  # of a request
MOST_WAITING = 8  # requests, with the one at work; a page has one at a time
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
OURS = ("app.css", "icon.svg", "controls.js", "app.js")


def application(workshop: Workshop, token: str, hosts: Iterable[str]) -> Gate:
    """Put a workshop behind a guard; everything is below ``/token/``."""
    desk = Desk()
    texts = {name: asset(name) for name in (*SHARED, *STYLES)} | {name: asset(name, "xcid.app") for name in OURS}
    routes = [_file(name, text, KINDS[name.rpartition(".")[2]]) for name, text in texts.items()]
    routes.append(_file("", filled(asset("app.html", "xcid.app"), {}), "text/html"))
    works = {"description": lambda body: workshop.describe(), "answer": workshop.answer, "search": workshop.search}
    for name, work in works.items():
        methods = ["GET"] if name == "description" else ["POST"]
        routes.append(Route(f"/{{token}}/{name}", _desk(desk, work), methods=methods))
    handlers: Any = dict.fromkeys((HTTPException, XcidError, Exception), _complaint)
    return Gate(Starlette(routes=routes, exception_handlers=handlers), token, hosts)


class Desk:
    """Where work is done: by one thread at a time, and with a short queue.

    The threads are daemons: a server that shuts down does not wait for a slow model.
    """

    def __init__(self) -> None:
        self.lock, self.waiting = threading.Lock(), 0

    async def __call__(self, work: Callable[[bytes], Any], body: bytes) -> Any:
        """Do it when its turn comes."""
        if self.waiting >= MOST_WAITING:
            raise HTTPException(503, "too many requests wait already: try again in a moment")
        self.waiting += 1
        done: Future[Any] = Future()
        threading.Thread(target=self._do, args=(work, body, done), daemon=True).start()
        try:
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
        return _json(await desk(work, await _body(request)))

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
    return Response(encoded(record), status, media_type="application/json")


async def _complaint(request: Request, error: Exception) -> Response:
    """Say what is wrong: with the address, with what was asked, or here; of the last the terminal has all."""
    if isinstance(error, HTTPException):
        return _json({"error": clean(error.detail, MOST_LETTERS)}, error.status_code)
    if isinstance(error, XcidError):
        return _json({"error": clean(error, MOST_LETTERS)}, 400)
    logging.getLogger("xcid.app").error("a request failed", exc_info=error)
    return _json({"error": clean(f"{type(error).__name__}: {error}", MOST_LETTERS)}, 500)
