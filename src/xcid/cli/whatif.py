"""``xcid whatif``: which few changes would give rows of a table the output that is wanted."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli import _rules, _subjects, _ways
from xcid.cli._terminal import (
    ROWS_OF_A_CHUNK,
    ROWS_OF_A_SAMPLE,
    apart,
    printable,
    progress,
    record,
    show,
    whole_number,
)
from xcid.cli._ways import Piece, Tally, block, target_of, wish_of

if TYPE_CHECKING:
    from xcid.cli._terminal import Progress
    from xcid.explainer import Explainer
    from xcid.io.rows import Rows
    from xcid.io.writers import Columns

ROWS_SHOWN = 10  # and searched, where none are asked for and nothing keeps the others


class Options(NamedTuple):
    """What was typed."""

    subject: _subjects.Subject
    wanted: str | None
    k: int
    rules: _rules.Rules
    actions: int | None
    out: Path | None
    json: bool
    quiet: bool


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _ways.add_wanted(parser)
    parser.add_argument("-k", type=whole_number(1), default=3, metavar="N", help="most ways for a row (default: 3)")
    _rules.add(parser)
    parser.add_argument(
        "--actions", type=whole_number(1), metavar="N",
        help="instead of ways for each row: the N actions that help most of the rows as a group",
    )  # fmt: skip
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--out", type=Path, metavar="FILE", help="one line for each way: .csv, .parquet, .feather, .json, .jsonl"
    )
    kept.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of text")
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    subject = _subjects.subject_of(options, parser)
    with apart(options.quiet):
        run(record(Options, options, subject=subject, rules=_rules.typed(options)))


def run(options: Options) -> None:
    """Search some rows at a time, so that any number of them fits into memory; a group is searched as a whole."""
    from xcid.explainer import Explainer
    from xcid.io import writers

    subject, line = options.subject, progress("rows", options.quiet)
    if options.out is not None:
        writers.check(options.out, subject.background, subject.data, subject.model, options.rules.rules)
    constraints = options.rules.made()

    def check(background: Any) -> None:
        _rules.check(constraints, background)
        target_of(options.wanted, _subjects.answers(subject, background))

    keeps_all = options.out is not None or options.json
    usual = ROWS_SHOWN if options.actions is None else ROWS_OF_A_SAMPLE
    model, background, rows = _subjects.read(subject, line.note, None if keeps_all else usual, check)
    more = _subjects.settings(subject, background) | {"constraints": constraints}
    explainer = Explainer(model, background.features, **more)
    target = target_of(options.wanted, explainer.subject.output_names)
    if options.actions is None:
        _each_row(options, explainer, rows, target, line)
    else:
        _actions(options, options.actions, explainer, rows, target, line)


def _each_row(options: Options, explainer: Explainer, rows: Rows, target: Any, line: Progress) -> None:
    """Search for each row; write or print the pieces as they come, or show the first rows."""
    from xcid.io import writers

    tally, shown = Tally(), list[str]()
    wish = wish_of(target, explainer.subject.output_names)
    pieces = _searched(options, explainer, rows, target, tally, line)
    columns = (piece.found.to_columns() for piece in _shown(pieces, wish, shown))
    if options.out is not None:
        writers.write(options.out, columns)
    elif options.json:
        _print_json(columns)
    else:
        deque(columns, maxlen=0)
    if not options.json:
        show(printable("\n".join(shown)))
        if len(rows) > len(shown):
            where = f"all of them are in {options.out}" if options.out is not None else "--out FILE keeps all of them"
            show(f"and {len(rows) - len(shown):,} more rows: {where}")
    for note in tally.notes():
        line.note(note)


def _searched(
    options: Options, explainer: Explainer, rows: Rows, target: Any, tally: Tally, line: Progress
) -> Iterator[Piece]:
    """Counterfactuals of some rows after the others, each counted."""
    from xcid import whatif
    from xcid.show import wording
    from xcid.table import met
    from xcid.whatif.record import FAILED

    done = 0
    line(0, len(rows))
    for chunk in rows.chunks(ROWS_OF_A_CHUNK):
        space, cells, unseen = met(explainer.space, chunk.frame)
        subject = explainer.subject.with_room(space) if unseen.any() else explainer.subject
        asked = chunk.names, target, options.k, options.subject.seed
        found = whatif.find_counterfactuals(subject, explainer.setup.outcome, cells, *asked)
        known = sorted({int(row) for row in found.row[found.kind != FAILED]})[:ROWS_SHOWN]
        outputs = subject.predict(cells[known]) if known else ()
        said = {
            row: wording.format_prediction(output, subject.output_names)
            for row, output in zip(known, outputs, strict=True)
        }
        done += len(cells)
        line(done, len(rows))
        tally.count(found, subject, cells)
        yield Piece(found, [said.get(row, "") for row in range(len(cells))])


def _shown(pieces: Iterator[Piece], wish: str, shown: list[str]) -> Iterator[Piece]:
    """The pieces; their first rows are put into words on the way."""
    for piece in pieces:
        shown += [block(piece, row, wish) for row in range(min(len(piece.answers), ROWS_SHOWN - len(shown)))]
        yield piece


def _actions(options: Options, k: int, explainer: Explainer, rows: Rows, target: Any, line: Progress) -> None:
    """Search for the whole group, and write, print or show the actions; rows with unseen cells are left out."""
    import numpy as np

    from xcid import whatif
    from xcid.errors import InvalidData
    from xcid.io import writers
    from xcid.show.text import actions
    from xcid.table import met

    parts = [met(explainer.space, chunk.frame) for chunk in rows.chunks(ROWS_OF_A_CHUNK)]
    cells = np.concatenate([part.rows[~part.unseen] for part in parts])
    if len(cells) < len(rows):
        line.note(
            f"{len(rows) - len(cells):,} of these rows are left out: actions know the reference data's values only"
        )
    if not len(cells):
        raise InvalidData("none of the rows can be searched: all hold values that the reference data do not have")
    found = whatif.find_actions(explainer.subject, explainer.setup.outcome, cells, target, k)
    if options.json:
        _print_json([found.to_columns()])
        return
    if options.out is not None:
        writers.write(options.out, [found.to_columns()])
    wish = wish_of(target, explainer.subject.output_names)
    has = f"; {found.n_already:,} of {len(cells):,} rows have it already" if found.n_already else ""
    show(printable("\n".join([f"wanted: {wish}{has}", *actions(found).splitlines()[1:]])))


def _print_json(columns: Iterable[Columns]) -> None:
    from xcid.io.writers import array, pack_json

    for text in array(map(pack_json, columns)):
        show(text.decode(), end="")
