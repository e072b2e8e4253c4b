"""The page: one HTML file that needs nothing else, and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from xcid.show.wording.names import clean

SHARED = ("dom.js", "bars.js", "evidence.js", "row.js", "changes.js")  # what the app has too
STYLES = ("look.css", "page.css")
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_ESCAPES = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


def asset(name: str, room: str = "xcid.show.report") -> str:
    """Text of a file that ships with the package."""
    return (files(room) / "assets" / name).read_text(encoding="utf-8")


def filled(frame: str, parts: Mapping[str, str]) -> str:
    """Put parts in the places of a frame that are named ``@@name@@``, and those that all pages share in theirs."""
    _, *shared = asset("parts.html").split("@@")  # name, text, name, text, ...
    known = {name: text.strip() for name, text in zip(shared[::2], shared[1::2], strict=True)} | dict(parts)
    pieces = frame.split("@@")  # text, name, text, name, ..., text: what is put in is not read again
    return "".join(known[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def assembled(title: str, data: str) -> str:
    """Put a page together from a title and the data in JSON that is safe within HTML."""
    script, style = ("\n".join(map(asset, names)) for names in ((*SHARED, "report.js"), STYLES))
    parts = {
        "policy": POLICY.format(script=fingerprint(script), style=fingerprint(style)),
        "title": html.escape(clean(title)),
        "style": style,
        "data": data,
        "script": script,
    }
    return filled(asset("report.html"), parts)


def fingerprint(text: str) -> str:
    """What a Content-Security-Policy calls a script or a style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def encoded(value: Any) -> str:
    r"""Write strict JSON without spaces, and without the letters that could end or open an element.

    Examples
    --------
    >>> encoded(["</script>", 1])
    '["\\u003c/script\\u003e",1]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def size(value: Any) -> int:
    """Bytes that it takes in a page."""
    return len(encoded(value).encode())
