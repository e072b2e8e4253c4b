"""The page: one HTML file that needs nothing else, runs nothing but its own script, and shows or hides values."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, Literal, TypeAlias

import numpy as np

from xcid._numbers import format_number
from xcid.errors import InvalidParameter
from xcid.records import Array
from xcid.show.wording.names import clean

SHARED = ("dom.js", "bars.js", "evidence.js", "row.js", "changes.js")  # what the app has too
STYLES = ("look.css", "page.css")
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; form-action 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
Name: TypeAlias = Literal["shown", "hidden"]
MOST_LETTERS = 80  # of a value
_ESCAPES = {letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def read_asset(name: str, room: str = "xcid.show.report") -> str:
    """Text of a file that ships with the package."""
    return (files(room) / "assets" / name).read_text(encoding="utf-8")


def fill_frame(frame: str, parts: Mapping[str, str]) -> str:
    """Put parts in the places of a frame that are named ``@@name@@``, and those that all pages share in theirs."""
    _, *shared = read_asset("parts.html").split("@@")  # name, text, name, text, ...
    known = {name: text.strip() for name, text in zip(shared[::2], shared[1::2], strict=True)} | dict(parts)
    pieces = frame.split("@@")  # text, name, text, name, ..., text: what is put in is not read again
    return "".join(known[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def assemble_page(title: str, data: str) -> str:
    """Put a page together from a title and the data in JSON that is safe within HTML."""
    script, style = ("\n".join(map(read_asset, names)) for names in ((*SHARED, "report.js"), STYLES))
    parts = {
        "policy": POLICY.format(script=fingerprint(script), style=fingerprint(style)),
        "title": html.escape(clean(title)),
        "style": style,
        "data": data,
        "script": script,
    }
    return fill_frame(read_asset("report.html"), parts)


def fingerprint(text: str) -> str:
    """What a Content-Security-Policy calls a script or a style by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def encode_json(value: Any) -> str:
    r"""Write strict JSON without spaces, and without the letters that could end or open an element.

    Examples
    --------
    >>> encode_json(["</script>", 1])
    '["\\u003c/script\\u003e",1]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter, escape in _ESCAPES.items():  # quicker than one look at each letter
        text = text.replace(letter, escape)
    return text


def count_bytes(value: Any) -> int:
    """Bytes that it takes in a page."""
    return len(encode_json(value).encode())


@dataclass(frozen=True, slots=True)
class Values:
    """What becomes of each thing that comes from the table."""

    is_hidden: bool  # whether pictures have no values at their axes
    cell: Callable[[str], str]  # a value as text
    in_sentence: Callable[[str], str]  # a value behind the name of its feature
    number: Callable[[float], str]  # an output of a regression, or a limit measured on outputs
    row: Callable[[int, Any], str]  # the name of a row, from its position and its name in the table
    level: Callable[[int, str], str]  # the name of a level, from its place in a picture and its name in the table
    line: Callable[[float, float], Callable[[Array], Array]]  # places on an axis that goes from low to high
    setting: Callable[[str], str]  # a setting as it was written down


_cut = partial(clean, most=MOST_LETTERS)


def _from_0_to_1(low: float, high: float) -> Callable[[Array], Array]:
    width = high - low
    return lambda points: (points - low) / width if width > 0 else np.full(np.shape(points), 0.5)


def _name_alone(text: str) -> str:
    """The name of a setting without what it was made with, which may hold samples."""
    name, is_call, _ = text.partition("(")
    return f"{name}(…)" if is_call else text if text.lstrip("-").isdecimal() else "hidden"


SHOWN = Values(
    is_hidden=False,
    cell=_cut,
    in_sentence=_cut,
    number=format_number,
    row=lambda position, name: _cut(name),
    level=lambda position, name: _cut(name),
    line=lambda low, high: lambda points: points,
    setting=str,
)
# Names of features and classes, scores, probabilities and the shapes of pictures stay; an index may name a person, and
# that a cell is missing is no value.
HIDDEN = Values(
    is_hidden=True,
    cell=lambda text: "hidden",
    in_sentence=lambda text: "",
    number=lambda value: "a hidden number",
    row=lambda position, name: str(position),
    level=lambda position, name: name if name == "missing" else f"value {position + 1}",
    line=_from_0_to_1,
    setting=_name_alone,
)


def find_values(name: Name) -> Values:
    """Find the behaviour that a name stands for."""
    known: dict[str, Values] = {"shown": SHOWN, "hidden": HIDDEN}
    if name not in known:
        raise InvalidParameter(f"values are {' or '.join(map(repr, known))}, not {name!r}")
    return known[name]
