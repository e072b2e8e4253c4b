"""A page on this machine where rows are edited, and what decides them is seen at once.

``requests.py`` reads what a page sends, and checks it, ``session.py`` says what can be edited, keeps the explainers and
gives plain numbers, sentences and Python code for it, and ``answers.py`` picks what a request wants. ``server.py``
puts Starlette and a guard in front, ``cell.py`` a notebook. What draws is in ``assets/`` and in those of the report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xcid._require import require
from xcid.app.cell import widget
from xcid.app.session import Session

__all__ = ["Session", "serve", "widget"]


def serve(session: Session, *, port: int = 0, ready: Callable[[str], Any]) -> None:
    """Serve the pages of a session until Ctrl-C, on a port or, with 0, on one that is free.

    ``ready`` gets the address, with the token without which every request is refused, as soon as it can be opened.
    """
    for package in ("uvicorn", "starlette"):
        require(package, extra="app")
    from xcid.app.server import run_server

    run_server(session, port, ready)
