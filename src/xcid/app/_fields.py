"""An object of a request, read field by field; an error says what is not as it should be."""

from __future__ import annotations

import sys
from typing import Any

from xcid.errors import InvalidParameter


class Fields:
    """An object from JSON, and what it is called in messages."""

    def __init__(self, what: str, found: Any) -> None:
        if not isinstance(found, dict):
            raise InvalidParameter(f"{what} must be an object with names and values, not {found!r:.40}")
        self.what, self.found = what, found

    def only(self, *names: str) -> None:
        """Refuse all other fields, and ask for these."""
        if set(self.found) != set(names):
            raise InvalidParameter(f"{self.what} must have {list(names)}, not {sorted(map(str, self.found))!r:.200}")

    def get(self, name: str) -> Any:
        """A field as it is."""
        if name not in self.found:
            raise InvalidParameter(f"{self.what} has no {name!r}")
        return self.found[name]

    def text(self, name: str) -> str:
        """A field that is text."""
        value = self.get(name)
        if not isinstance(value, str):
            raise InvalidParameter(f"{name!r} of {self.what} must be text, not {value!r:.40}")
        return value

    def number(self, name: str) -> float:
        """A field that is a finite number."""
        return finite(self.get(name), f"{name!r} of {self.what}")

    def position(self, name: str, size: int) -> int:
        """A field that is a place in a list."""
        return place(self.get(name), size, f"{name!r} of {self.what}")

    def positions(self, name: str, size: int) -> tuple[int, ...]:
        """A field that is a list of places in another list, none twice; in order."""
        found, what = self.get(name), f"{name!r} of {self.what}"
        if not isinstance(found, list) or len(found) > size:
            raise InvalidParameter(f"{what} must be a list of at most {size} places")
        places = {place(value, size, what) for value in found}
        if len(places) != len(found):
            raise InvalidParameter(f"{what} names a place twice")
        return tuple(sorted(places))


def finite(value: Any, what: str) -> float:
    """A finite number; True is none, and an integer may be too large for one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) <= sys.float_info.max:
        return float(value)
    raise InvalidParameter(f"{what} must be a finite number, not {'empty' if value is None else f'{value!r:.40}'}")


def place(value: Any, size: int, what: str) -> int:
    """A place in a list of some size."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise InvalidParameter(f"{what} must be a whole number from 0 to {size - 1}, not {value!r:.40}")
    return value
