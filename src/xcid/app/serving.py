"""A server on this machine alone, until it is stopped, and the guard before every request."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from xcid._require import require
from xcid.app.workshop import Workshop
from xcid.errors import InvalidParameter

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def serve(workshop: Workshop, *, port: int = 0, ready: Callable[[str], Any]) -> None:
    """Answer the pages of a workshop until Ctrl-C, on a port or, with 0, on one that is free.

    ``ready`` gets the address, with the token without which nothing is answered, as soon as it can be opened.
    """
    uvicorn = require("uvicorn", extra="app")
    require("starlette", extra="app")
    from xcid.app.server import Connection, application

    workshop.describe()  # what cannot work says so before there is a page
    token = secrets.token_urlsafe(24)
    with _bound(port) as listener:
        port = listener.getsockname()[1]
        app = application(workshop, token, [f"{HOST}:{port}", f"localhost:{port}"])
        config = uvicorn.Config(
            app,
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
        uvicorn.Server(config).run(sockets=[listener])


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise InvalidParameter(
            f"port {port} cannot be used: {error.strerror}; leave --port out for a free one"
        ) from error
    return listener


class Gate:
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
            await (self.app if self._may(scope) else _refuse)(scope, receive, _with_headers(send))
        else:
            await send({"type": "websocket.close"})

    def _may(self, scope: Scope) -> bool:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        origins = [value for name, value in scope["headers"] if name == b"origin"]
        token = scope["path"].partition("/")[2].partition("/")[0].encode(errors="replace")
        has_token = hmac.compare_digest(token, self.token)
        return has_token and len(hosts) == 1 and hosts[0] in self.hosts and set(origins) <= self.origins


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(REFUSAL)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else REFUSAL})


def _with_headers(send: Send) -> Send:
    more = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return send_with
