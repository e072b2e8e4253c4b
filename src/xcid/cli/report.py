"""``xcid report``: one HTML file to look at what decides each row of a table."""

from __future__ import annotations

import argparse
from collections import deque
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli import _refits, _subjects, _wanted, _work
from xcid.cli._terminal import ROWS_OF_A_SAMPLE, Progress, keep_streams_apart, to_sentences

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.records import Explanation
    from xcid.table import Constraints
    from xcid.whatif import Counterfactuals

ROWS_AT_A_TIME = 16  # with the samples behind them
WAYS = 3  # to another output, of a row
EXTENSIONS = (".html", ".htm")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _wanted.add_workers(parser)
    _wanted.add_method(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page: .html")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument(
        "--redact", action="store_true", help="no value of the tables in the page: names and scores only"
    )
    parser.add_argument(
        "--letter", metavar="LANGUAGE", help="in place of the report, a letter for the person whom each row is about: "
        "en, de, es, or a translation of your own in a .json file",
    )  # fmt: skip
    _refits.add_limits(parser)
    _wanted.add_reasons(parser, "a line with reasons for every row")
    _wanted.add_outcome_and_rules(parser)
    parser.set_defaults(run=partial(_check_and_run, parser))


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.refits = _refits.refits_of(options, parser)
    options.subject, options.reasons = _subjects.subject_of(options, parser), _wanted.reasons_of(options, parser)
    options.rules, options.cid = _wanted.RuleOptions.of(options), _wanted.cid_of(options, parser)
    _refits.check_refits(options, parser)
    if options.letter is not None and options.redact:
        parser.error("--letter is for a person who may see the values: leave out --redact")
    with keep_streams_apart(options.quiet):
        run(options)


def run(options: argparse.Namespace) -> None:
    """Explain the rows some at a time, and write the page."""
    from xcid.io import writers
    from xcid.io.rows import Unseen
    from xcid.show.report import report
    from xcid.show.report.letter import read_words, write_letters

    subject, line = options.subject, Progress("rows", options.quiet)
    read = subject.reference, subject.data, subject.model, options.rules.rules, *options.refits.files
    writers.check(options.out, *read, extensions=EXTENSIONS)
    words = None if options.letter is None else read_words(options.letter)
    reasons, constraints = None if options.reasons is None else options.reasons.read(), options.rules.read()
    notes = [options.rules.describe()] if any(options.rules) and not options.redact else []  # rules may quote cells
    describe, check = (
        Unseen.describe_redacted if options.redact else Unseen.describe,
        partial(_check, options, constraints),
    )
    model, background, rows = _work.read_inputs(subject, notes.append, ROWS_OF_A_SAMPLE, check, describe)
    for note in notes:
        line.note(note)
    compared = _wanted.compare_settings(options.reasons)
    refits = options.refits.make(subject, model, background, line.note)
    limits = _refits.limit_settings(options.limits, refits)
    explainer = _work.make_explainer(subject, model, background, options.cid, note=line.note, **compared, **limits)
    _wanted.check_reasons(options.reasons, explainer.subject.output_names)
    searched = explainer.subject
    if any(options.rules) or compared:  # the search alone obeys them: what may not change still decides
        searched = _work.make_subject(subject, model, background, constraints)
    target = _wanted.target_of(options.wanted, searched.output_names)
    again = _work.list_refits(searched, refits)
    search = _work.RowSearch(searched, explainer.setup.outcome, target, WAYS, subject.seed, again)
    frames = deque[Any](maxlen=1)
    work = explainer, rows, subject.seed, ROWS_AT_A_TIME, options.workers, line
    quote = (lambda reason: "") if options.redact else str  # it may quote the row
    pieces = _work.explain_pieces(*work, frames.append, quote)
    find = partial(_search_last, search, frames)
    if words is not None:
        write_letters(pieces, options.out, words, reasons, find)
    else:
        report(
            pieces,
            options.out,
            title=f"What decides {subject.target}" if options.title is None and subject.target else options.title,
            notes=to_sentences(notes),
            values="hidden" if options.redact else "shown",
            reasons=reasons,
            search=find,
            command="" if options.redact else options.command,  # it may quote cells
        )
    for note in search.notes():
        line.note(note)
    line.note(f"{options.out} is written ({options.out.stat().st_size / 1e6:.1f} MB): open it in a browser")


def _check(options: argparse.Namespace, constraints: Constraints, background: Background) -> None:
    """Check what was typed before a model is trained."""
    names = _work.output_names(options.subject, background)
    _wanted.check_rules(constraints, background)
    _wanted.check_reasons(options.reasons, names)
    _wanted.target_of(options.wanted, names)


def _search_last(search: _work.RowSearch, frames: deque[Any], piece: Explanation) -> Counterfactuals | None:
    """Counterfactuals of the rows that were explained last; none if the model fails."""
    from xcid.errors import ModelError

    try:
        return search(frames[-1], piece.index)[0]
    except ModelError:
        return None
