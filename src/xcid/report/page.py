"""The page: one HTML file that needs nothing else, and runs nothing but its own script."""

from __future__ import annotations

import base64
import hashlib
import html
import secrets
from importlib.resources import files
from pathlib import Path

from xcid.errors import InvalidFile
from xcid.report._text import clean

SCRIPTS = ("dom.js", "bars.js", "evidence.js", "page.js")  # the first three know nothing of the page
STYLES = ("look.css", "page.css")
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def asset(name: str) -> str:
    """Text of a file that ships with the package."""
    return (files("xcid.report") / "assets" / name).read_text(encoding="utf-8")


def assembled(title: str, data: str) -> str:
    """Put a page together from a title and the data in JSON that is safe within HTML."""
    script, style = ("\n".join(asset(name) for name in names) for names in (SCRIPTS, STYLES))
    parts = {
        "policy": POLICY.format(script=fingerprint(script), style=fingerprint(style)),
        "title": html.escape(clean(title)),
        "style": style,
        "data": data,
        "script": script,
    }
    pieces = asset("frame.html").split("@@")  # text, name, text, name, ..., text: what is put in is not read again
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def fingerprint(text: str) -> str:
    """What a Content-Security-Policy calls a script or a style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def write(text: str, path: Path) -> None:
    """Write a file that appears under its name only when it is complete."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise InvalidFile(f"{path} cannot be written: {error.strerror}; check the folder and its free space") from error
    finally:
        temporary.unlink(missing_ok=True)
