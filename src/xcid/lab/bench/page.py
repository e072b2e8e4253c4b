"""A run as Markdown: what the command prints, and the page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from xcid.lab.bench.record import Figure, Record
from xcid.lab.markdown import Table, aligned, number

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


def page(record: Record) -> str:
    """The page of the documentation."""
    introduction = (files("xcid.lab.bench") / "speed.md").read_text(encoding="utf-8")
    return f"{introduction}\n{printed(record)}"


def printed(record: Record, more: Sequence[Table] = ()) -> str:
    """Targets, what bounds those that are missed, and tables."""
    first, *others = (_table(table) for table in (_targets(record.figures), *record.tables, *more))
    about = "\n".join(f"- {name}: {value}" for name, value in record.about.items() if value)
    return "\n\n".join([first, *_missed(record.figures), *others, about]) + "\n"


def _targets(figures: Sequence[Figure]) -> Table:
    wanted = [figure for figure in figures if figure.target is not None]
    lines, group = [], ""
    for one in wanted:
        met = {True: "met", False: "NOT MET", None: ""}[one.met]
        lines.append((one.group if one.group != group else "", one.what, _target(one), _value(one), met, one.detail))
        group = one.group
    note = f"{sum(figure.met is True for figure in wanted)} of {len(wanted)} targets met."
    return Table("targets", ("", "what", "target", "measured", "", "on what"), tuple(lines), note)


def _missed(figures: Sequence[Figure]) -> list[str]:
    points = []
    for one in figures:
        if one.met is False:
            bounds = [text for key, text in BOUNDS.items() if one.key.startswith(key)]
            points.append(f"- {one.what}: {_value(one)} where {_target(one)} is wanted. {''.join(bounds[-1:])}")
    return ["\n".join(["## What bounds what is not met", "", *points])] if points else []


def _target(figure: Figure) -> str:
    return f"{'≥' if figure.better == 'higher' else '≤'} {number(figure.target)}{_unit(figure)}"


def _value(figure: Figure) -> str:
    return "not measured" if figure.value is None else f"{number(figure.value)}{_unit(figure)}"


def _unit(figure: Figure) -> str:
    return figure.unit if figure.unit in ("x", "") else f" {figure.unit}"


def _table(table: Table) -> str:
    lines = [[number(cell).replace("|", "\\|") for cell in line] for line in table.lines]
    parts = [f"## {table.title[:1].upper()}{table.title[1:]}", aligned(table.head, lines) if lines else "", table.note]
    return "\n\n".join(filter(None, parts))
