"""A comparison in files: every figure with what made it, a table to paste into a paper, and a picture."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from xcid.errors import MissingDependency
from xcid.io.writers import replacing
from xcid.io.writers import write as write_columns
from xcid_lab import latex
from xcid_lab.comparison import Averaged, Comparison, draw, shown
from xcid_lab.output import describe_versions, now, write

PACKAGES = ("numpy", "scikit-learn", "shap", "lime", "dice-ml", "shapiq", "xgboost", "lightgbm")


def keep(comparison: Comparison, subject: str, command: str, out: Path, note: Callable[[str], None]) -> None:
    """Write the figures as CSV, JSON and LaTeX, and draw them where matplotlib is installed."""
    about = {
        "rows": comparison.n_rows,
        "seeds": ", ".join(map(str, comparison.seeds)),
        "date": now(),
        "versions": describe_versions(PACKAGES),
        "command": command,
    }
    names = ("method", "figure", *Averaged._fields)
    lines = list(_lines(comparison))
    columns = {name: np.array([line[at] for line in lines]) for at, name in enumerate(names)}
    same = {name: np.array([cell] * len(lines)) for name, cell in about.items()}
    write_columns(out / "figures.csv", [columns | same])
    report = {
        "subject": subject,
        **about,
        "figures": [
            {name: None if cell == float("inf") else cell for name, cell in zip(names, line, strict=True)}
            for line in lines
        ],  # strict JSON has no infinity
        "left_out": comparison.left_out,
    }
    write(out / "figures.json", json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False))
    comments = [f"{name}: {cell}" for name, cell in about.items()]
    write(out / "figures.tex", f"{_as_latex(comparison, subject, comments)}\n")
    try:
        picture = draw(comparison)
    except MissingDependency as error:
        note(f"no picture: {error}")
        return
    with replacing(out / "comparison.png") as path:
        picture.savefig(path, dpi=150, format="png")


def _lines(comparison: Comparison) -> Iterator[tuple[str | float, ...]]:
    """Method, figure and its numbers, one after the other."""
    for method, found in comparison.figures.items():
        yield from ((method, name, *one) for name, one in found.items())
    for (a, b), one in comparison.agreement.items():
        yield a, f"top {comparison.k} in common with {b}", *one


def _as_latex(comparison: Comparison, subject: str, comments: list[str]) -> str:
    """A line for each figure and a column for each method: methods are fewer, and a page is narrow."""
    cells: dict[str, list[str]] = {}
    for _, name, *figure in _lines(comparison):
        cells.setdefault(str(name), []).append(shown(Averaged(*map(float, figure))))
    seeds = ", ".join(map(str, comparison.seeds))
    each = f"seed {seeds}" if len(comparison.seeds) == 1 else f"each of them the mean of seeds {seeds}"
    note = (
        f"Mean ± two standard errors over {comparison.n_rows} rows (of ms: over blocks of them), {each}. "
        "Higher is better for comp, necessity and sufficiency, lower for suff."
    )
    left = "".join(f" Left out: {method} ({reason})." for method, reason in comparison.left_out.items())
    lines = [[name, *found] for name, found in cells.items()]
    return latex.table(["", *comparison.methods], lines, f"{subject}.", note + left, comments)
