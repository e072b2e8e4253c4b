"""What a run leaves behind: figures with their targets, and tables; kept in a file, and shown as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from xcid.errors import InvalidFile
from xcid_lab.markdown import Table, aligned, number
from xcid_lab.output import write

TOLERANCE = 0.2  # what two runs on one machine differ by, and more where it is busy
BOUNDS = {
    "trees/": "The splits: xcid looks at every split once for all samples, TreeSHAP at every path once for a row, so "
    "that few deep paths, many short trees and many columns are to TreeSHAP's advantage.",
    "stack/diabetes": "No single step: drawing and dealing samples takes half of the time, densities two fifths.",
    "stack/heart": "The model: the forest's own predict_proba takes three fifths of the time, in 22 calls.",
    "whole/report": "No single step: pictures take two thirds of the time, eight for each row.",
    "peers": "The model's 1,000 answers for each row.",
    "overhead": "The model: the cheaper its answers are, the more it counts to make samples and to read answers.",
    "density/paper": "No single step: every pair has a grid of its own, and counting samples, smoothing and comparing "
    "cells take about as long as each other.",
    "growth/rows": "Memory: what is kept of many rows does not stay in the cache.",
    "growth/m": "More samples of each kind take more than proportionally many evaluations where flips are rare.",
    "workers": "What holds Python's lock, and a second core that others use too.",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number."""

    key: str  # known by this to later runs
    group: str  # heading that it belongs to
    what: str
    value: float | None  # None where it was not measured; ``detail`` says why
    unit: str = "x"  # "x" for a ratio, "s", "MB", or "" for an exponent
    better: Literal["higher", "lower"] = "higher"
    target: float | None = None  # the bound it has to keep
    detail: str = ""  # on what it was measured

    @property
    def met(self) -> bool | None:
        """Whether the target is kept; None where there is none, or nothing was measured."""
        if self.target is None or self.value is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


@dataclass(frozen=True, slots=True)
class Record:
    """All figures and tables of a run; ``about`` has date, extent, machine, versions and commit."""

    about: Mapping[str, str]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


def save(record: Record, path: Path) -> None:
    """Write JSON."""
    write(path, json.dumps(asdict(record), indent=1, ensure_ascii=False) + "\n")


def load(path: Path) -> Record:
    """Read what :func:`save` wrote."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        tables = [
            Table(table["title"], tuple(table["head"]), tuple(map(tuple, table["lines"])), table["note"])
            for table in plain["tables"]
        ]
        return Record(dict(plain["about"]), tuple(Figure(**figure) for figure in plain["figures"]), tuple(tables))
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{path} is no record of `xcid bench`: {error!r}; write one by --out") from error


def slower(before: Record, now: Record, tolerance: float = TOLERANCE) -> Table:
    """Figures that got worse by more than the tolerance, the worst first."""
    known = {figure.key: figure for figure in before.figures}
    both = [(known[figure.key], figure) for figure in now.figures if figure.key in known]
    losses = [
        (old.value / new.value if new.better == "higher" else new.value / old.value, old.value, new)
        for old, new in both
        if old.value and new.value and old.what == new.what  # of one size
    ]
    worse = sorted((loss for loss in losses if loss[0] > 1 + tolerance), key=lambda loss: -loss[0])
    note = (
        f"{len(losses)} figures compared with the run of {before.about.get('date', '?')} "
        f"({before.about.get('extent', '?')}); {len(worse)} are worse by more than {tolerance:.0%}."
    )
    lines = tuple((new.what, old, new.value, f"{lost:.2f}") for lost, old, new in worse)
    return Table("what became slower", ("what", "then", "now", "times worse"), lines, note)


def page(record: Record) -> str:
    """The page of the documentation."""
    introduction = (files("xcid_lab.bench") / "speed.md").read_text(encoding="utf-8")
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
