"""What a run leaves behind: figures with their targets, and tables; kept in a file, to see what became slower since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from xcid.errors import InvalidFile
from xcid.lab.markdown import Table
from xcid.lab.output import write

TOLERANCE = 0.2  # what two runs on one machine differ by, and more where it is busy


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
