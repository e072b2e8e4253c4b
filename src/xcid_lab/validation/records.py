"""What a validation finds: checks with a figure and a threshold each, rows not to rely on, and what was validated."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from xcid.errors import InvalidFile

FORMAT = "xcid validation"
VERSION = 1
MOST_BYTES = 2**26  # of a record that is read
Verdict: TypeAlias = Literal["held", "failed", "not tried"]
HELD: Verdict = "held"
FAILED: Verdict = "failed"
NOT_TRIED: Verdict = "not tried"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried, what came out, and what was asked of it beforehand.

    A share fails where its whole 95% interval lies beyond the threshold, a figure without chance where it does itself.
    """

    name: str
    tried: str
    figure: float | None = None
    low: float | None = None
    high: float | None = None
    wanted: Literal["at least", "at most"] = "at most"
    threshold: float | None = None
    verdict: Verdict = NOT_TRIED
    meaning: str = ""

    @property
    def asked(self) -> str:
        """The threshold in words."""
        return "" if self.threshold is None else f"{self.wanted} {self.threshold:g}"

    @property
    def shown(self) -> str:
        """The figure with its interval."""
        if self.figure is None:
            return ""
        limits = "" if self.low is None or self.low == self.high else f" ({self.low:.3g} to {self.high:.3g})"
        return f"{self.figure:.3g}{limits}"


@dataclass(frozen=True, slots=True)
class Caution:
    """A row that is not to be relied on, and why."""

    row: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried; the same effort with the same seed gives the same figures."""

    rows: int = 40  # that are explained
    seeds: int = 5
    walked: int = 8  # rows whose truth is walked where it cannot be counted out
    walks: int = 1_000  # of each, in two directions
    parts: int = 10  # halves of the reference data

    def of(self, share: float) -> Effort:
        """Less of all of it, for models that take long."""
        one = min(1.0, math.sqrt(share))
        return Effort(
            max(10, round(self.rows * one)),
            max(3, round(self.seeds * one)),
            max(3, round(self.walked * one)),
            max(200, round(self.walks * one)),
            max(4, round(self.parts * one)),
        )


@dataclass(frozen=True, slots=True)
class Validation:
    """What was validated, by what, when, and what came out."""

    checks: tuple[Check, ...]
    cautions: tuple[Caution, ...]
    n_rows: int  # that were explained
    settings: Mapping[
        str, str
    ]  # of the explanation: digests of model and reference data, versions, parts of the method
    effort: Effort
    seed: int
    seconds: float
    date: str  # in UTC, ISO 8601
    command: str = ""
    inputs: Mapping[str, Any] | None = None  # of a command: its options and the digests of its files

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.verdict == FAILED)

    def check(self, name: str) -> Check:
        """The check of this name."""
        return next(check for check in self.checks if check.name == name)

    def __str__(self) -> str:
        from xcid_lab.validation import words

        return words.text(self)

    def report(self, path: str | Path) -> None:
        """Write one HTML page that needs nothing else."""
        from xcid_lab.output import write
        from xcid_lab.validation import page

        write(Path(path), page.page(self))

    def save(self, path: str | Path) -> None:
        """Write JSON that :func:`xcid_lab.validation.load` reads."""
        from xcid_lab.output import write

        text = json.dumps(to_document(self), indent=1, ensure_ascii=False, allow_nan=False)
        write(Path(path), f"{text}\n")


def to_document(found: Validation) -> dict[str, Any]:
    """The record as numbers, texts and lists."""
    return {"format": FORMAT, "version": VERSION, **asdict(found)}


def load(path: str | Path) -> Validation:
    """Read what :meth:`Validation.save` wrote; nothing in it is run."""
    path = Path(path)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.get("format") != FORMAT or document.get("version") != VERSION:
            raise ValueError(f"it is {document.get('format')!r:.60}, version {document.get('version')!r:.60}")
        return _from_document(document)
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = str(error)[:200]
        raise InvalidFile(
            f"{path} is not a validation of version {VERSION} ({why}): make one by xcid validate"
        ) from error


def _from_document(document: Mapping[str, Any]) -> Validation:
    known = {each.name: document[each.name] for each in fields(Validation)}
    parts: dict[str, Any] = {
        "checks": tuple(_checked(Check(**one)) for one in _list(known["checks"])),
        "cautions": tuple(
            Caution(str(one["row"]), tuple(map(str, one["reasons"]))) for one in _list(known["cautions"])
        ),
        "effort": Effort(**{name: int(size) for name, size in known["effort"].items()}),
        "settings": {str(name): str(text) for name, text in known["settings"].items()},
        "seed": int(known["seed"]),
        "inputs": None if known["inputs"] is None else dict(known["inputs"]),
    }
    return Validation(**known | parts)


def _list(part: Any) -> Sequence[Any]:
    if not isinstance(part, list):
        raise TypeError("a list is missing")
    return part


def _checked(check: Check) -> Check:
    """Refuse a check whose cells are not what they should be."""
    texts = (check.name, check.tried, check.meaning, check.wanted, check.verdict)
    numbers = (check.figure, check.low, check.high, check.threshold)
    if not all(isinstance(one, str) for one in texts) or check.verdict not in (HELD, FAILED, NOT_TRIED):
        raise TypeError("a check lacks its texts")
    if not all(one is None or isinstance(one, int | float) for one in numbers):
        raise TypeError("a check lacks its figures")
    return check
