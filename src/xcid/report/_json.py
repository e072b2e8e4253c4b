"""JSON that can stand within a script element: no letter in it has a meaning to HTML."""

from __future__ import annotations

import json
from typing import Any

_ESCAPES = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"})


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
