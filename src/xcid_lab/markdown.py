"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Cell: TypeAlias = str | float | None
Pad: TypeAlias = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under a head, with a title above and perhaps a note below."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    note: str = ""


def table(head: Sequence[str], lines: Sequence[Sequence[Cell]]) -> str:
    """Columns as they come, their text taken literally."""
    rows: list[Sequence[Cell]] = [head, ["---"] * len(head), *lines]
    return "\n".join(_line([escaped(number(cell)) for cell in row]) for row in rows)


def aligned(head: Sequence[str], lines: Sequence[Sequence[str]], pad: Pad = str.ljust, gap: str = " ") -> str:
    """Columns as wide as their widest cell: the first padded on the right, the others by ``pad``.

    Examples
    --------
    >>> print(aligned(["", "ms"], [["xcid", "1.5"], ["lime", "12.0"]], str.rjust, gap="-"))
    |      |   ms |
    |------|------|
    | xcid |  1.5 |
    | lime | 12.0 |
    """
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    pads = [str.ljust, *[pad] * (len(widths) - 1)]
    rows = [head, ["-" * width for width in widths], *lines]
    padded = [[fill(cell, width) for fill, cell, width in zip(pads, row, widths, strict=True)] for row in rows]
    first, rule, *rest = map(_line, padded)
    return "\n".join([first, rule.replace(" ", gap), *rest])


def number(cell: Cell) -> str:
    """Text as it is; of a number three digits, or as many as there are before the point.

    Examples
    --------
    >>> number(1234.5), number(12.34), number(0.000123), number(None), number("n")
    ('1,234', '12.3', '0.000123', '', 'n')
    """
    if cell is None or isinstance(cell, str):
        return cell or ""
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"


def escaped(text: str) -> str:
    """Text that Markdown takes literally, but for what nothing here needs to escape."""
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
