"""A server on this machine alone, and a thin application in front of a session: bytes in, JSON out.

A middleware refuses every request without the token. It imports Starlette, and is imported where it is needed.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import Config, Server
from uvicorn.protocols.http.h11_impl import H11Protocol

from xcid.app.answers import describe_error, list_answers
from xcid.app.cell import SCRIPTS
from xcid.app.session import MOST_LETTERS, Session
from xcid.errors import InvalidParameter, XcidError
from xcid.show.report.page import SHARED, STYLES, encode_json, fill_frame, read_asset
from xcid.show.wording.names import clean

MOST_BYTES = 2**20  # of a request
MOST_WAITING = 8  # requests, with the one at work and those that are still being sent; a page has one at a time
MOST_OPEN = 256  # connections: beyond that the oldest that waits for its client gives way
LATEST = 10.0  # seconds that a client may take to send a request, or to read the answer
KINDS = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
OURS = ("app.css", "icon.svg", *SCRIPTS, "page.js")
HOST = "127.0.0.1"
BACKLOG = 32  # connections that are taken at a time: a flood must not take all file descriptors at once
PATIENCE = 1  # seconds that a request at work has when the server ends
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
REFUSAL = b"This page needs the address that xcid app has printed, with the token in it.\n"


def run_server(session: Session, port: int, ready: Callable[[str], Any]) -> None:
    """Serve the pages of a session until Ctrl-C."""
    session.describe()  # what cannot work says so before there is a page
    token = secrets.token_urlsafe(24)
    with _listen(port) as listener:
        port = listener.getsockname()[1]
        config = Config(
            application(session, token, [f"{HOST}:{port}", f"localhost:{port}"]),
            http=Connection,
            ws="none",
            backlog=BACKLOG,
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",  # the application reports what goes wrong
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        listener.listen(BACKLOG)  # from here on a browser that is too early waits
        ready(f"http://{HOST}:{port}/{token}/")
        Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InvalidParameter(
            f"port {port} cannot be used: {error.strerror}; leave --port out for a free one"
        ) from error
    return listener


def application(session: Session, token: str, hosts: Iterable[str]) -> TokenMiddleware:
    """Put a session behind a guard; everything is below ``/token/``."""
    texts = {name: read_asset(name) for name in (*SHARED, *STYLES)} | {
        name: read_asset(name, "xcid.app") for name in OURS
    }
    routes = [_file_route(name, text, KINDS[name.rpartition(".")[2]]) for name, text in texts.items()]
    routes.append(_file_route("", fill_frame(read_asset("app.html", "xcid.app"), {}), "text/html"))
    queue = WorkQueue()
    for name, work in list_answers(session).items():
        routes.append(_work_route(name, queue, work, "GET" if name == "description" else "POST"))
    handlers: Any = dict.fromkeys((HTTPException, XcidError, ClientDisconnect, Exception), _complain)
    return TokenMiddleware(Starlette(routes=routes, exception_handlers=handlers), token, hosts)


class TokenMiddleware:
    """Lets a request through that names this host, comes from this page, and has the token in its path.

    A page of another site can make a browser ask 127.0.0.1, and with a name that it points there (DNS rebinding) even
    read what comes back. It knows no token, and its requests name another host or origin. ``hosts`` are what a browser
    may call this place, with the port; ``token`` is the first part of every path.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str]) -> None:
        self.app, self.token = app, token.encode()
        self.hosts = frozenset(host.encode() for host in hosts)
        self.origins = frozenset(b"http://" + host for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await (self.app if self._allows(scope) else _refuse)(scope, receive, _add_headers(send))
        else:
            await send({"type": "websocket.close"})

    def _allows(self, scope: Scope) -> bool:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        token = scope["path"].partition("/")[2].partition("/")[0].encode(errors="replace")
        has_token = hmac.compare_digest(token, self.token)
        return has_token and len(hosts) == 1 and hosts[0] in self.hosts and set(origins) <= self.origins


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(REFUSAL)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else REFUSAL})


def _add_headers(send: Send) -> Send:
    more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with


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


class WorkQueue:
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
            body = await _read_body(request)
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


def _work_route(name: str, queue: WorkQueue, work: Callable[[bytes], Any], method: str) -> Route:
    async def respond(request: Request) -> Response:
        return _to_json(await queue(work, request))

    return Route(f"/{{token}}/{name}", respond, methods=[method])


async def _read_body(request: Request) -> bytes:
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


def _file_route(path: str, text: str, kind: str) -> Route:
    async def respond(request: Request) -> Response:
        return Response(text, media_type=kind)

    return Route(f"/{{token}}/{path}", respond, methods=["GET"])


def _to_json(record: Any, status: int = 200) -> Response:
    return Response(encode_json(record), status, media_type="application/json")


async def _complain(request: Request, error: Exception) -> Response:
    """Say what is wrong: with the address, with what was asked, or here."""
    if isinstance(error, HTTPException):
        return _to_json({"error": clean(error.detail, MOST_LETTERS)}, error.status_code)
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    return _to_json(describe_error(error), 400 if isinstance(error, XcidError) else 500)
