"""``xcid report``: one HTML file to look at what decides each row of a table."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli import _reasons, _rules, _subjects, _ways
from xcid.cli._explained import explained
from xcid.cli._terminal import ROWS_OF_A_SAMPLE, apart, progress, record, sentences

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation
    from xcid.io.readers import Background
    from xcid.subject import Subject
    from xcid.table import Constraints
    from xcid.whatif import Counterfactuals

ROWS_AT_A_TIME = 16  # with the samples behind them
EXTENSIONS = (".html", ".htm")


class Options(NamedTuple):
    """What was typed."""

    subject: _subjects.Subject
    workers: int
    out: Path
    title: str | None
    redact: bool
    paper: bool
    reasons: _reasons.Wanted | None
    wanted: str | None
    rules: _rules.Rules
    quiet: bool


@dataclass(frozen=True, slots=True)
class Search:
    """How counterfactuals of the page are searched for, and what is counted of them."""

    subject: Subject
    outcome: Any
    target: Any
    seed: int
    tally: _ways.Tally

    def __call__(self, frames: Sequence[Any], piece: Explanation) -> Counterfactuals | None:
        """Counterfactuals of explained rows, which are the last of some tables; none if the model fails."""
        from xcid import whatif
        from xcid.errors import ModelError
        from xcid.table import met

        space, cells, unseen = met(self.subject.space, frames[-1])
        subject = self.subject.with_room(space) if unseen.any() else self.subject
        try:
            found = whatif.find_counterfactuals(subject, self.outcome, cells, piece.index, self.target, seed=self.seed)
        except ModelError:
            return None
        self.tally.count(found, subject, cells)
        return found


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _subjects.add_workers(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page: .html")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument(
        "--redact", action="store_true", help="no value of the tables in the page: names and scores only"
    )
    _subjects.add_paper(parser)
    _reasons.add(parser, "a line with reasons for every row")
    _ways.add_wanted(parser)
    _rules.add(parser)
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    subject = _subjects.subject_of(options, parser)
    reasons = _reasons.wanted_of(options, parser)
    with apart(options.quiet):
        run(record(Options, options, subject=subject, reasons=reasons, rules=_rules.typed(options)))


def run(options: Options) -> None:
    """Explain the rows some at a time, and write the page."""
    from xcid.explainer import Explainer
    from xcid.io import writers
    from xcid.show.report import report

    subject, line = options.subject, progress("rows", options.quiet)
    read = subject.background, subject.data, subject.model, options.rules.rules
    writers.check(options.out, *read, extensions=EXTENSIONS)
    reasons, constraints = None if options.reasons is None else options.reasons.made(), options.rules.made()
    notes = [options.rules.in_words()] if any(options.rules) and not options.redact else []  # rules may quote cells
    inputs = _read(options, constraints, notes.append)
    for note in notes:
        line.note(note)
    make = Explainer.paper if options.paper else Explainer
    more = _subjects.settings(subject, inputs.background)
    explainer = make(inputs.model, inputs.background.features, **more)
    _reasons.check(options.reasons, explainer.subject.output_names)
    search, frames = _search(options, constraints, explainer, inputs), deque[Any](maxlen=1)
    work = explainer, inputs.rows, subject.seed, ROWS_AT_A_TIME, options.workers, line
    found = explained(*work, frames.append, _unsaid if options.redact else str)
    report(
        found,
        options.out,
        title=f"What decides {subject.target}" if options.title is None and subject.target else options.title,
        notes=sentences(notes),
        values="hidden" if options.redact else "shown",
        reasons=reasons,
        search=partial(search, frames),
    )
    for note in search.tally.notes():
        line.note(note)
    line.note(f"{options.out} is written ({options.out.stat().st_size / 1e6:.1f} MB): open it in a browser")


def _read(options: Options, constraints: Constraints, note: Callable[[str], None]) -> _subjects.Inputs:
    """Read the tables and the model; what was typed is checked before a model is trained."""
    from xcid.io.rows import Unseen

    def check(background: Background) -> None:
        names = _subjects.answers(options.subject, background)
        _rules.check(constraints, background)
        _reasons.check(options.reasons, names)
        _ways.target_of(options.wanted, names)

    said = Unseen.redacted if options.redact else Unseen.said
    return _subjects.read(options.subject, note, ROWS_OF_A_SAMPLE, check, said)


def _search(options: Options, constraints: Constraints, explainer: Explainer, inputs: _subjects.Inputs) -> Search:
    """The search for counterfactuals, which alone obeys rules: what may not change still decides."""
    from xcid.explainer import Explainer

    subject = explainer.subject
    if any(options.rules):
        more = _subjects.settings(options.subject, inputs.background)
        subject = Explainer(inputs.model, inputs.background.features, **more, constraints=constraints).subject
    target = _ways.target_of(options.wanted, subject.output_names)
    return Search(subject, explainer.setup.outcome, target, options.subject.seed, _ways.Tally())


def _unsaid(reason: str) -> str:
    """Nothing: what a model says of a row that it fails for may quote the row."""
    return ""
