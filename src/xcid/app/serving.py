"""A server on this machine alone, until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from typing import Any

from xcid._require import require
from xcid.app.workshop import Workshop
from xcid.errors import InvalidParameter

HOST = "127.0.0.1"
PATIENCE = 1  # seconds that a request at work has when the server ends


def serve(workshop: Workshop, *, port: int = 0, ready: Callable[[str], Any]) -> None:
    """Answer the pages of a workshop until Ctrl-C, on a port or, with 0, on one that is free.

    ``ready`` gets the address, with the token without which nothing is answered, as soon as it can be opened.
    """
    uvicorn = require("uvicorn", extra="app")
    require("starlette", extra="app")
    from xcid.app.server import application

    workshop.describe()  # what cannot work says so before there is a page
    token = secrets.token_urlsafe(24)
    with _bound(port) as listener:
        port = listener.getsockname()[1]
        app = application(workshop, token, [f"{HOST}:{port}", f"localhost:{port}"])
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",  # the application reports what goes wrong
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        listener.listen()  # from here on a browser that is too early waits
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
