"""Ways to another output in words: row by row, and what is noted of all of them."""

from __future__ import annotations

import argparse
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from xcid.records import Array
    from xcid.subject import Subject
    from xcid.whatif import Counterfactuals

_SHARE = re.compile(r"0?\.\d+")
_RANGE = re.compile(r"(?P<low>[^:]*):(?P<high>[^:]*)")


class Piece(NamedTuple):
    """Counterfactuals of some rows, and what the model answers for these rows as they are."""

    found: Counterfactuals
    answers: Sequence[str]


def block(piece: Piece, row: int, wish: str) -> str:
    """A row with the ways that there are for it, in lines."""
    from xcid.show.text import align_cells, format_outputs
    from xcid.whatif.record import ALREADY, FAILED, NOT_REACHED

    found, answer = piece.found, piece.answers[row]
    name, lines = f"row {found.index[row]}", [int(line) for line in (found.row == row).nonzero()[0]]
    if found.kind[lines[0]] == FAILED:
        return f"{name}: the model failed"
    if found.kind[lines[0]] == ALREADY:
        return f"{name}: predicted {answer}, which is what is wanted"
    said = [f"{name}: predicted {answer}; wanted {wish}"]
    for line in lines:
        changes, outputs = (*found.changes(line), *found.derived(line)), format_outputs(found, line)
        if found.kind[line] != NOT_REACHED:
            said.append(f"  {found.kind[line]}: {outputs}; {found.likeness[line]}")
        else:
            said.append(f"  not reached; the best that was found: {outputs}" if changes else "  not reached")
        cells = [(one.feature, f"{one.before} -> {one.after}") for one in changes]
        said += [f"    {line}" for line in align_cells(cells)]
    return "\n".join(said)


def add_wanted(parser: argparse.ArgumentParser) -> None:
    """Add the option that says which output is wanted."""
    parser.add_argument(
        "--wanted", metavar="OUTCOME",
        help="a class, or a class with its least probability such as good:0.9; for a number raise, lower (by a tenth) "
        "or a range such as 100:200 or 100: "
        "(default: any other class, or a move of the number either way)",
    )  # fmt: skip


def target_of(wanted: str | None, names: Sequence[str]) -> Any:
    """The target that was typed, for a model with these classes; a number has one name, and () is not known yet.

    Examples
    --------
    >>> target_of("good", ["bad", "good"]), target_of("good:0.9", ["bad", "good"])
    ('good', Within(low=0.9, high=inf, target='good'))
    >>> target_of("100:", ["output"]), target_of("higher", ["output"])
    (Within(low=100.0, high=inf, target=None), Raise(by=0.1, target=None))
    """
    from xcid._check import sign_of
    from xcid.errors import InvalidParameter
    from xcid.outcomes import Lower, Raise, Within
    from xcid.outcomes.classes import no_class

    if wanted is None or not names or (len(names) > 1 and wanted in names):
        return wanted
    if len(names) > 1:
        name, _, share = wanted.rpartition(":")
        if name in names and _SHARE.fullmatch(share):
            return Within(float(share), target=name)
        raise InvalidParameter(f"--wanted: {no_class(wanted, names)}")
    if sign_of(wanted):
        return Raise() if sign_of(wanted) > 0 else Lower()
    return _range(wanted)


def _range(wanted: str) -> Any:
    from xcid.errors import InvalidParameter
    from xcid.outcomes import Within

    parts = _RANGE.fullmatch(wanted)
    try:
        if parts is None:
            raise ValueError
        return Within(float(parts["low"] or "-inf"), float(parts["high"] or "inf"))
    except ValueError as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            f"--wanted {wanted}: the target is a number: give raise, lower, or a range such as 100:200 or 100:"
        ) from error


def wish_of(target: Any, names: Sequence[str]) -> str:
    """What is wanted of a model with these outputs, in words.

    Examples
    --------
    >>> from xcid.outcomes import Raise, Within
    >>> wish_of("good", ["bad", "good"]), wish_of(None, ["bad", "good"])
    ('good', 'another class')
    >>> wish_of(Raise(), ["output"]), wish_of(Within(100), ["output"])
    ('at least a tenth more', 'at least 100')
    """
    from xcid.outcomes import Question
    from xcid.show import wording
    from xcid.show.wording.names import format_number

    if target is None:
        return "another output" if len(names) == 1 else "another class"
    if isinstance(target, Question):
        return target.describe_goal(names, format_number)
    return wording.name_class(str(target))


@dataclass(slots=True)
class Tally:
    """What there is to know of all pieces: how often suspect features change, and which rules rows break."""

    changed: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    n_rows: int = 0
    n_failed: int = 0

    def count(self, found: Counterfactuals, subject: Subject, rows: Array) -> None:
        """Add the counterfactuals of some rows."""
        from xcid.whatif.engine import suspects
        from xcid.whatif.record import FAILED

        names = subject.features.names
        self.n_lines += int((found.n_changes > 0).sum())
        self.n_rows += len(rows)
        self.n_failed += int((found.kind == FAILED).sum())
        self.changed.update({names[at]: int(found.moved[:, at].sum()) for at in suspects(subject).nonzero()[0]})
        self.broken.update({name: int(is_broken.sum()) for name, is_broken in subject.rules.broken(rows)})

    def notes(self) -> Iterator[str]:
        """The same in words."""
        for name, count in (+self.changed).items():
            often = f"{name} changes in {count:,} of {self.n_lines:,} ways"
            yield f"{often}: if people cannot change it, add --frozen {shlex.quote(name)}"
        for name, count in (+self.broken).items():
            yield f"{count:,} of {self.n_rows:,} rows break the rule {name} themselves"
        if self.n_failed:
            yield f"the model failed for {self.n_failed:,} of {self.n_rows:,} rows"
