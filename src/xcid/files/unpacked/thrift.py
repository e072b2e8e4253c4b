"""Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

pyarrow reads them too, but a footer that is damaged in some places ends the whole process there.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
MOST_DEPTH = 32


class Reader:
    """Reads values from the beginning of some bytes; ``at`` is the place behind what was read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read values by the number of their field: whole numbers, structs and lists; None for all else."""
        found: dict[int, Any] = {}
        number = 0
        while kind := (head := self._byte()) & 0x0F:
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(kind, depth + 1)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MOST_DEPTH or kind == MAP or kind > STRUCT:
            raise ValueError("the metadata are nested too deep, or hold fields of an unknown kind")
        if kind == STRUCT:
            return self.struct(depth)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind in (TRUE, FALSE):
            return None
        if kind in (BINARY, DOUBLE, BYTE):
            length = self._plain() if kind == BINARY else 8 if kind == DOUBLE else 1
            self.at += length
            return None
        return self._signed()

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._plain()
        if count > len(self.data) - self.at:  # each takes a byte at least
            raise ValueError("the metadata hold a list without end")
        kind = BYTE if head & 0x0F in (TRUE, FALSE) else head & 0x0F
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        if not 0 <= self.at < len(self.data):
            raise ValueError("the metadata have no end")
        self.at += 1
        return self.data[self.at - 1]

    def _plain(self) -> int:
        """A number in groups of seven bits."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if shift > 63:
                raise ValueError("the metadata hold a number without end")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._plain()
        return (value >> 1) ^ -(value & 1)
