"""Ways to another output in words: row by row, and what is noted of all of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.whatif import Counterfactuals


class Piece(NamedTuple):
    """Counterfactuals of some rows, and what the model answers for these rows as they are."""

    found: Counterfactuals
    answers: Sequence[str]
    broken: Mapping[str, int]  # how many of the rows break which rule


def block(piece: Piece, row: int, wish: str) -> str:
    """A row with the ways that there are for it, in lines."""
    from xcid.text import aligned, moved_output
    from xcid.whatif.record import ALREADY, FAILED, NOT_REACHED

    found, answer = piece.found, piece.answers[row]
    name, lines = f"row {found.index[row]}", [int(line) for line in (found.row == row).nonzero()[0]]
    if found.kind[lines[0]] == FAILED:
        return f"{name}: the model failed"
    if found.kind[lines[0]] == ALREADY:
        return f"{name}: predicted {answer}, which is what is wanted"
    said = [f"{name}: predicted {answer}; wanted {wish}"]
    for line in lines:
        changes, outputs = (*found.changes(line), *found.derived(line)), moved_output(found, line)
        if found.kind[line] != NOT_REACHED:
            said.append(f"  {found.kind[line]}: {outputs}; {found.likeness[line]}")
        else:
            said.append(f"  not reached; the best that was found: {outputs}" if changes else "  not reached")
        cells = [(one.feature, f"{one.before} -> {one.after}") for one in changes]
        said += [f"    {line}" for line in aligned(cells)]
    return "\n".join(said)


def wish_of(target: Any, names: Sequence[str]) -> str:
    """What is wanted of a model with these outputs, in words.

    Examples
    --------
    >>> from xcid.whatif import Between, Raise
    >>> wish_of("good", ["bad", "good"]), wish_of(None, ["bad", "good"])
    ('good', 'another class')
    >>> wish_of(Raise(), ["output"]), wish_of(Between(100), ["output"])
    ('at least a tenth more', 'at least 100')
    """
    from math import isfinite

    from xcid import wording
    from xcid.whatif import Between, Raise

    is_number = len(names) == 1
    if target is None:
        return "another output" if is_number else "another class"
    if not is_number:
        return wording.of_class(str(target))
    if not isinstance(target, Between):
        return f"at least a tenth {'more' if isinstance(target, Raise) else 'less'}"
    low, high = (wording.number(end) if isfinite(end) else "" for end in (target.low, target.high))
    return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"


@dataclass(slots=True)
class Tally:
    """What there is to know of all pieces: how often suspect features change, and which rules rows break."""

    changed: Counter[str]
    broken: Counter[str]
    n_lines: int = 0
    n_rows: int = 0
    n_failed: int = 0

    def notes(self) -> Iterator[str]:
        """The same in words."""
        for name, count in (+self.changed).items():
            often = f"{name} changes in {count:,} of {self.n_lines:,} ways"
            yield f"{often}: if people cannot change it, add --frozen {shlex.quote(name)}"
        for name, count in (+self.broken).items():
            yield f"{count:,} of {self.n_rows:,} rows break the rule {name} themselves"
        if self.n_failed:
            yield f"the model failed for {self.n_failed:,} of {self.n_rows:,} rows"


def counted(pieces: Iterator[Piece], explainer: Explainer, tally: Tally) -> Iterator[Piece]:
    """The pieces, after they were counted."""
    from xcid.whatif.engine import suspects
    from xcid.whatif.record import FAILED

    subject = explainer.subject
    names, suspect = subject.features.names, suspects(subject)
    for piece in pieces:
        found = piece.found
        tally.n_lines += int((found.n_changes > 0).sum())
        tally.n_rows += len(found.data)
        tally.n_failed += int((found.kind == FAILED).sum())
        tally.changed.update({names[at]: int(found.moved[:, at].sum()) for at in suspect.nonzero()[0]})
        tally.broken.update(piece.broken)
        yield piece
