"""``xcid report``: one HTML file to look at what decides each row of a table."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli import _inputs
from xcid.cli._pieces import note_statuses, pieces
from xcid.cli._progress import Progress, progress

if TYPE_CHECKING:
    from xcid.records import Explanation

DEFAULT_MODEL = "forest"
FIRST_ROWS = slice(0, 100)  # where none are asked for
ROWS_AT_A_TIME = 16  # with the samples behind them
EXTENSIONS = (".html", ".htm")


def add(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "report", help="write a page to look at rows of a table", description=__doc__.partition(": ")[2]
    )
    _inputs.add(parser, DEFAULT_MODEL)
    _inputs.add_workers(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page: .html")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument(
        "--redact", action="store_true", help="no value of the tables in the page: names and scores only"
    )
    parser.add_argument("--paper", action="store_true", help="the paper's setting: unsigned d1, nothing added")
    parser.set_defaults(run=partial(_checked, parser), rows=FIRST_ROWS)


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.model is None and options.train is None:
        options.train = DEFAULT_MODEL
    _inputs.check(options, parser)
    run(options)


def run(options: argparse.Namespace) -> None:
    """Explain the rows piece by piece, and write the page."""
    from xcid.explainer import Explainer
    from xcid.files import writers
    from xcid.report import report

    writers.check(options.out, options.background, options.data, options.model, extensions=EXTENSIONS)
    told = progress("rows", options.quiet)
    notes: list[str] = []
    inputs = _inputs.read(options, notes.append)
    notes += _more_notes(options, inputs)
    for note in notes:
        told.note(note)
    make = Explainer.paper if options.paper else Explainer
    explainer = make(inputs.model, inputs.background)
    statuses: Counter[str] = Counter()
    report(
        _counted(pieces(explainer, inputs, options.seed, told, ROWS_AT_A_TIME, options.workers), statuses),
        options.out,
        title=_title(options),
        notes=[f"{note[0].upper()}{note[1:]}." for note in notes],
        values="hidden" if options.redact else "shown",
    )
    note_statuses(statuses)
    _done(options.out, told)


def _more_notes(options: argparse.Namespace, inputs: _inputs.Inputs) -> Iterator[str]:
    """How well a model does that was trained here, and which rows were taken."""
    from xcid.files import tables, training

    if options.model is None:
        found = training.judged(tables.read(options.background), options.target, options.train, options.seed)
        if found:
            yield found
        if options.data is None:
            yield "the rows below are among those that it was trained on, where a model is surer than elsewhere"
    n_rows = tables.size(inputs.data)
    if options.rows == FIRST_ROWS and n_rows > len(inputs.positions):
        yield f"the first {len(inputs.positions)} of {n_rows:,} rows are explained; --rows A:B chooses others"


def _counted(found: Iterator[Explanation], statuses: Counter[str]) -> Iterator[Explanation]:
    for piece in found:
        statuses.update(piece.status.tolist())
        yield piece


def _title(options: argparse.Namespace) -> str | None:
    if options.title is not None or options.target is None:
        return str(options.title) if options.title is not None else None
    return f"What decides {options.target}"


def _done(path: Path, told: Progress) -> None:
    told.note(f"{path} is written ({path.stat().st_size / 1e6:.1f} MB): open it in a browser")
