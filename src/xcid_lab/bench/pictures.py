"""How time and memory grow, as a picture."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from xcid._require import require
from xcid_lab.bench.sizes import HEAD, TITLE
from xcid_lab.markdown import Table

DPI = 100
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def draw_growth(tables: Sequence[Table]) -> bytes:
    """Draw what was found at each size, one above the other: a row, the first row with its set-up, and the peak."""
    found = [table for table in tables if table.title.startswith(TITLE)]
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(3 * max(1, len(found)), 2.2 * len(HEAD)), layout="constrained"
    )
    grid = figure.subplots(len(HEAD), max(1, len(found)), squeeze=False, sharex="col", sharey="row")
    for table, axes in zip(found, grid.T, strict=False):
        for at, (ax, what, colour) in enumerate(zip(axes, HEAD, COLOURS, strict=True), start=1):
            _draw_line(ax, table, at, colour)
            if ax in grid[:, 0]:
                ax.set_ylabel(what)
        axes[-1].set_xlabel(table.head[0])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def _draw_line(ax: Any, table: Table, at: int, colour: str) -> None:
    points = [(int(str(line[0]).replace(",", "")), line[at]) for line in table.lines if line[at] is not None]
    if points:
        ax.plot(*zip(*points, strict=True), marker="o", markersize=4, color=colour)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
