"""A run as Markdown: what the command prints, and the page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence

from xcid.lab.bench.record import Cell, Figure, Record, Table

TITLE = "# Speed"
INTRODUCTION = """\
What xcid costs beside its peers and beside the model itself. This page is the output of one command,

```
xcid bench --page docs/speed.md
```

which needs `pip install -e ".[bench]"` and takes some minutes; `--quick` takes half a minute, `--full` adds wide
tables, large m and a million streamed rows. `xcid bench --against out/bench.json` shows what became slower since a
run.

All contestants run in one process, with one thread, warmed up and in turns; figures are medians over rounds of the
processor's time (two workers, and starts: by the clock). So a busy machine slows all of them alike, and ratios stay.
Peers have their default settings: KernelSHAP and PermutationSHAP with 100 background rows, LIME with 5,000 samples,
dice-ml with its post-hoc sparsity. The model's own time is what passes inside its function for the same calls."""
BOUNDS = {
    "stack": "The model's answers, which xcid asks for as long as samples are missing.",
    "peers": "The model's 1,000 answers for each row.",
    "overhead": "The model: the cheaper its answers are, the more it counts to make samples and to read answers.",
    "density/paper": "No single step: every pair has a grid of its own, and counting samples, smoothing and comparing "
    "cells take about as long as each other.",
    "growth/rows": "Memory: what is kept of many rows does not stay in the cache.",
    "growth/m": "More samples of each kind take more than proportionally many evaluations where flips are rare.",
    "workers": "What holds Python's lock, and a second core that others use too.",
}


def printed(record: Record, more: Sequence[Table] = ()) -> str:
    """Targets, other figures and tables."""
    blocks = [_targets(record.figures), *_missed(record.figures)]
    blocks += [_table(table) for table in (*record.tables, *more)]
    blocks.append("\n".join(f"- {name}: {value}" for name, value in record.about.items() if value))
    return "\n\n".join(blocks) + "\n"


def page(record: Record) -> str:
    """The page of the documentation."""
    return f"{TITLE}\n\n{INTRODUCTION}\n\n{printed(record)}"


def summary(figures: Sequence[Figure]) -> str:
    """How many targets are met."""
    wanted = [figure for figure in figures if figure.target is not None]
    met = sum(figure.met is True for figure in wanted)
    return f"{met} of {len(wanted)} targets met"


def _targets(figures: Sequence[Figure]) -> str:
    wanted = [figure for figure in figures if figure.target is not None]
    lines = tuple(
        (
            figure.group if figure.group != before else "",
            figure.what,
            _target(figure),
            _value(figure),
            _met(figure),
            figure.detail,
        )
        for figure, before in zip(wanted, ["", *(figure.group for figure in wanted)], strict=False)
    )
    return _table(Table("targets", ("", "what", "target", "measured", "", "on what"), lines, summary(figures) + "."))


def _missed(figures: Sequence[Figure]) -> list[str]:
    missed = [figure for figure in figures if figure.met is False]
    if not missed:
        return []
    points = [
        f"- {figure.what}: {_value(figure)} where {_target(figure)} is wanted. {_bound(figure)}" for figure in missed
    ]
    return ["\n".join(["## What bounds what is not met", "", *points])]


def _bound(figure: Figure) -> str:
    found = [text for key, text in BOUNDS.items() if figure.key.startswith(key)]
    return found[-1] if found else ""


def _target(figure: Figure) -> str:
    sign = "≥" if figure.better == "higher" else "≤"
    return f"{sign} {_number(figure.target)}{_unit(figure)}"


def _value(figure: Figure) -> str:
    return "not measured" if figure.value is None else f"{_number(figure.value)}{_unit(figure)}"


def _met(figure: Figure) -> str:
    return {True: "met", False: "NOT MET", None: ""}[figure.met]


def _unit(figure: Figure) -> str:
    return {"x": "x", "": ""}.get(figure.unit, f" {figure.unit}")


def _number(value: Cell) -> str:
    """Three digits, or as many as there are before the point.

    Examples
    --------
    >>> _number(1234.5), _number(12.34), _number(0.000123), _number(None)
    ('1,234', '12.3', '0.000123', '')
    """
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _table(table: Table) -> str:
    lines = [[_number(cell).replace("|", "\\|") for cell in line] for line in table.lines]
    widths = [max(len(line[at]) for line in ([*table.head], *lines)) for at in range(len(table.head))]
    rows = [[*table.head], ["-" * width for width in widths], *lines]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    parts = [f"## {table.title[:1].upper()}{table.title[1:]}"]
    parts += ["\n".join(text)] if lines else []
    parts += [table.note] if table.note else []
    return "\n\n".join(parts)
