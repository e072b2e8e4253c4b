"""From a request's name and body to a record, or to what is wrong in words: for a server and for a notebook."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from xcid.app.files import KINDS
from xcid.app.requests import Fields
from xcid.app.session import MOST_LETTERS, Session
from xcid.errors import InvalidParameter, XcidError
from xcid.show.report.page import encode_json
from xcid.show.wording.names import clean

MOST_IDS = 2**53  # whole numbers that JavaScript has


def list_answers(session: Session) -> dict[str, Callable[[bytes], Any]]:
    """All that a page can ask for, each with what makes a record of the body of a request."""
    return {
        "description": lambda body: session.describe(),
        "answer": session.explain,
        "search": session.search,
        "code": session.code,
        "rows": session.find,
        "comparison": session.compare,
        **{kind: partial(session.save, kind) for kind in KINDS},
    }


def describe_error(error: Exception) -> dict[str, str]:
    """Say what is wrong: with what was asked, or here; of the last the log has all."""
    if isinstance(error, XcidError):
        return {"error": clean(error, MOST_LETTERS)}
    logging.getLogger("xcid.app").error("a request failed", exc_info=error)
    return {"error": clean(f"{type(error).__name__}: {error}", MOST_LETTERS)}


def answer_message(session: Session, message: Any) -> dict[str, Any]:
    """Answer ``{"id", "name", "body"}``, the body being JSON or empty, by ``{"id", "record"}``, the record being JSON.

    Whatever the message is, there is an answer; its ``id`` is that of the message, or None where that has none.
    """
    number = None
    try:
        fields = Fields("the message", message)
        number = fields.position("id", MOST_IDS)
        fields.only("id", "name", "body")
        name, body, known = fields.get("name"), fields.get("body"), list_answers(session)
        if not isinstance(name, str) or name not in known:
            raise InvalidParameter(f"'name' of the message must be one of {list(known)}, not {name!r:.40}")
        if not isinstance(body, str):
            raise InvalidParameter(f"'body' of the message must be text, not {body!r:.40}")
        record = known[name](body.encode(errors="replace"))
    except KeyboardInterrupt:
        record = {"error": "the kernel was interrupted before it had an answer"}
    except Exception as error:
        record = describe_error(error)
    return {"id": number, "record": encode_json(record)}
