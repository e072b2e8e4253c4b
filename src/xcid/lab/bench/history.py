"""Keep a run in a file, and see what became slower since."""

from __future__ import annotations

import json
from pathlib import Path

from xcid.errors import InvalidFile
from xcid.lab.bench.record import Figure, Record, Table

TOLERANCE = 0.2  # what two runs on one machine differ by, and more where it is busy


def save(record: Record, path: Path) -> None:
    """Write JSON."""
    write(path, json.dumps(record.as_dict(), indent=1, ensure_ascii=False) + "\n")


def write(path: Path, text: str) -> None:
    """Write a text; the folder is made where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidFile(f"{path} cannot be written: {error.strerror or error}") from error


def load(path: Path) -> Record:
    """Read what :func:`save` wrote."""
    try:
        return Record.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFile(f"{path} is no record of `xcid bench`: {error!r}; write one by --out") from error


def slower(before: Record, now: Record, tolerance: float = TOLERANCE) -> Table:
    """Figures that got worse by more than the tolerance, the worst first."""
    known = {figure.key: figure for figure in before.figures}
    both = [(known[figure.key], figure) for figure in now.figures if figure.key in known]
    pairs = [(old, new) for old, new in both if old.value and new.value and old.what == new.what]  # of one size
    worse = sorted(((loss(old, new), old, new) for old, new in pairs), key=lambda found: -found[0])
    lines = tuple((new.what, old.value, new.value, f"{lost:.2f}") for lost, old, new in worse if lost > 1 + tolerance)
    note = (
        f"{len(pairs)} figures compared with the run of {before.about.get('date', '?')} "
        f"({before.about.get('extent', '?')}); {len(lines)} are worse by more than {tolerance:.0%}."
    )
    return Table("what became slower", ("what", "then", "now", "times worse"), lines, note)


def loss(old: Figure, new: Figure) -> float:
    """How many times worse a figure got."""
    if not old.value or not new.value:
        return 1.0
    return old.value / new.value if new.better == "higher" else new.value / old.value
