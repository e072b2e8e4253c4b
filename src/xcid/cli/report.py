"""``xcid report``: one HTML file to look at what decides each row of a table."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli import _reasons, _subjects
from xcid.cli._explained import explained
from xcid.cli._terminal import ROWS_OF_A_SAMPLE, add_verb, apart, progress, record, sentences

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.records import Explanation
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
    quiet: bool


def add(subparsers: Any) -> None:
    """Add the verb."""
    parser = add_verb(subparsers, __doc__, "write a page to look at rows of a table")
    _subjects.add(parser)
    _subjects.add_workers(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page: .html")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument(
        "--redact", action="store_true", help="no value of the tables in the page: names and scores only"
    )
    _subjects.add_paper(parser)
    _reasons.add(parser, "a line with reasons for every row")
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    subject = _subjects.subject_of(options, parser)
    reasons = _reasons.wanted_of(options, parser)
    with apart(options.quiet):
        run(record(Options, options, subject=subject, reasons=reasons))


def run(options: Options) -> None:
    """Explain the rows some at a time, and write the page."""
    from xcid.explainer import Explainer
    from xcid.files import writers
    from xcid.files.rows import Unseen
    from xcid.report import report

    subject, line = options.subject, progress("rows", options.quiet)
    writers.check(options.out, subject.background, subject.data, subject.model, extensions=EXTENSIONS)
    reasons = None if options.reasons is None else options.reasons.made()
    notes: list[str] = []
    inputs = _subjects.read(
        subject,
        notes.append,
        ROWS_OF_A_SAMPLE,
        lambda found: _reasons.check(options.reasons, _subjects.answers(subject, found)),
        Unseen.redacted if options.redact else Unseen.said,
    )
    for note in notes:
        line.note(note)
    make = Explainer.paper if options.paper else Explainer
    more = _subjects.settings(subject, inputs.background)
    explainer = make(inputs.model, inputs.background.features, **more)
    _reasons.check(options.reasons, explainer.subject.output_names)
    frames = deque[Any](maxlen=1)
    work = explainer, inputs.rows, subject.seed, ROWS_AT_A_TIME, options.workers, line
    found = explained(*work, frames.append, _unsaid if options.redact else str)
    report(
        found,
        options.out,
        title=f"What decides {subject.target}" if options.title is None and subject.target else options.title,
        notes=sentences(notes),
        values="hidden" if options.redact else "shown",
        reasons=reasons,
        search=partial(_searched, explainer, subject.seed, frames),
    )
    line.note(f"{options.out} is written ({options.out.stat().st_size / 1e6:.1f} MB): open it in a browser")


def _unsaid(reason: str) -> str:
    """Nothing: what a model says of a row that it fails for may quote the row."""
    return ""


def _searched(explainer: Explainer, seed: int, frames: Sequence[Any], piece: Explanation) -> Counterfactuals | None:
    """Counterfactuals of explained rows, which are the last of some tables; none if the model fails."""
    from xcid import whatif
    from xcid.errors import ModelError
    from xcid.space import met

    space, cells, unseen = met(explainer.space, frames[-1])
    subject = explainer.subject.with_room(space) if unseen.any() else explainer.subject
    try:
        return whatif.counterfactuals(subject, explainer.setup.outcome, cells, piece.index, seed=seed)
    except ModelError:
        return None
