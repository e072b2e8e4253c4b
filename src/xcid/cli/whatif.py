"""``xcid whatif``: which few changes would give rows of a table the output that is wanted."""

from __future__ import annotations

import argparse
import shlex
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid._require import make_printable
from xcid.cli import _refits, _subjects, _terminal, _wanted, _work
from xcid.cli._terminal import ROWS_OF_A_CHUNK, TABLES_OUT, Progress, print_json, show, show_more, whole_number

if TYPE_CHECKING:
    from xcid.io.rows import Rows
    from xcid.io.writers import Columns
    from xcid.subject import Subject
    from xcid.whatif import Counterfactuals

ROWS_SHOWN = 10  # and searched, where none are typed and nothing keeps the others
UNMEASURED = "how likely these last after another training was not measured: add --refits 20"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _wanted.add_outcome_and_rules(parser)
    parser.add_argument("-k", type=whole_number(1), default=3, metavar="N", help="most ways for a row (default: 3)")
    parser.add_argument(
        "--actions", type=whole_number(1), metavar="N",
        help="instead of ways for each row: the N actions that help most of the rows as a group",
    )  # fmt: skip
    _refits.add_refits(parser)
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--out", type=Path, metavar="FILE", help=f"one line for each way: {TABLES_OUT}")
    kept.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of text")
    parser.set_defaults(run=partial(_check_and_run, parser))


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.refits = _refits.refits_of(options, parser)
    options.subject, options.rules = _subjects.subject_of(options, parser), _wanted.RuleOptions.of(options)
    _refits.check_refits(options, parser)
    if options.refits.is_wanted and options.actions is not None:
        parser.error("--refits tell of ways for single rows: leave out --actions")
    with _terminal.keep_streams_apart(options.quiet):
        run(options)


def run(options: argparse.Namespace) -> None:
    """Search some rows at a time, so that any number of them fits into memory; a group is searched as a whole."""
    from xcid.io import writers
    from xcid.setup import bind_outcome, usual_outcome

    subject, line = options.subject, Progress("rows", options.quiet)
    if options.out is not None:
        writers.check(
            options.out, subject.reference, subject.data, subject.model, options.rules.rules, *options.refits.files
        )
    constraints = options.rules.read()

    def check(background: Any) -> None:
        _wanted.check_rules(constraints, background)
        _wanted.target_of(options.wanted, _work.output_names(subject, background))

    keeps_all = options.out is not None or options.json
    usual = ROWS_SHOWN if options.actions is None else _terminal.ROWS_OF_A_SAMPLE
    model, background, rows = _work.read_inputs(subject, line.note, None if keeps_all else usual, check)
    searched = _work.make_subject(subject, model, background, constraints)
    target = _wanted.target_of(options.wanted, searched.output_names)
    outcome, k = bind_outcome(usual_outcome(searched), searched), options.actions or options.k
    refits = _work.list_refits(searched, options.refits.make(subject, model, background, line.note))
    search = _work.RowSearch(searched, outcome, target, k, subject.seed, refits)
    if options.actions is None:
        _search_rows(options, search, rows, line)
    else:
        _search_group(options, search, rows, line)


def _search_rows(options: argparse.Namespace, search: _work.RowSearch, rows: Rows, line: Progress) -> None:
    """Search for each row; write or print the pieces as they come, or show the first rows."""
    shown: list[str] = []

    def find() -> Iterator[Columns]:
        line(0, len(rows))
        for chunk in rows.chunks(ROWS_OF_A_CHUNK):
            found, subject = search(chunk.frame, chunk.names)
            line(search.n_rows, len(rows))
            shown.extend(_describe_rows(found, subject, ROWS_SHOWN - len(shown), search.target))
            yield found.to_columns()

    _write(options, find())
    if not options.json:
        show(make_printable("\n".join(shown)))
        show_more(len(rows), len(shown), options.out)
        if search.n_lines and not search.refits:
            show(UNMEASURED)
    for note in search.notes():
        line.note(note)


def _describe_rows(found: Counterfactuals, subject: Subject, most: int, target: Any) -> Iterator[str]:
    """The first rows with the ways that there are for them, in lines."""
    from xcid.show import wording
    from xcid.show.text import align_cells, format_outputs
    from xcid.whatif.record import ALREADY, FAILED, NOT_REACHED

    for row in range(min(len(found.data), most)):
        name, lines = f"row {found.index[row]}", [int(line) for line in (found.row == row).nonzero()[0]]
        if found.kind[lines[0]] == FAILED:
            yield f"{name}: the model failed"
            continue
        output = wording.format_prediction(subject.predict(found.data[row : row + 1])[0], subject.output_names)
        if found.kind[lines[0]] == ALREADY:
            yield f"{name}: predicted {output}, which is what is wanted"
            continue
        block = [f"{name}: predicted {output}; wanted: {describe_target(target, subject.output_names)}"]
        for line in lines:
            changes, outputs = (*found.changes(line), *found.derived(line)), format_outputs(found, line)
            if found.kind[line] != NOT_REACHED:
                told = outputs, found.likeness[line], found.proved(line), found.lasts(line), found.hurts(line)
                block.append(f"  {found.kind[line]}: {'; '.join(filter(None, told))}")
            else:
                missed = found.proved(line) or "not reached"
                block.append(f"  {missed}; the best that was found: {outputs}" if changes else f"  {missed}")
            cells = [(one.feature, f"{one.before} -> {one.after}") for one in changes]
            block += [f"    {line}" for line in align_cells(cells)]
        yield "\n".join(block)


def describe_target(target: Any, names: Sequence[str]) -> str:
    """What is wanted of a model with these outputs, in words.

    Examples
    --------
    >>> from xcid.outcomes import Raise, Within
    >>> describe_target("good", ["bad", "good"]), describe_target(None, ["bad", "good"])
    ('good', 'another class')
    >>> describe_target(Raise(), ["output"]), describe_target(Within(100), ["output"])
    ('at least a tenth more', 'at least 100')
    """
    from xcid._numbers import format_number
    from xcid.outcomes import Question
    from xcid.show import wording

    if target is None:
        return "another output" if len(names) == 1 else "another class"
    if isinstance(target, Question):
        return target.describe_goal(names, format_number)
    return wording.name_class(str(target))


def _search_group(options: argparse.Namespace, search: _work.RowSearch, rows: Rows, line: Progress) -> None:
    """Search for the whole group, and write, print or show the actions; rows with unseen cells are left out."""
    import numpy as np

    from xcid.errors import InvalidData
    from xcid.show.text import list_actions
    from xcid.table import encode_unseen
    from xcid.whatif.actions import find_actions
    from xcid.whatif.undeclared import count_unchangeable, word_unchangeable

    parts = [encode_unseen(search.subject.space, chunk.frame) for chunk in rows.chunks(ROWS_OF_A_CHUNK)]
    cells = np.concatenate([part.rows[~part.unseen] for part in parts])
    if len(cells) < len(rows):
        left_out = f"{len(rows) - len(cells):,} of these rows are left out"
        line.note(f"{left_out}: actions know the reference data's values only")
    if not len(cells):
        raise InvalidData("none of the rows can be searched: all hold values that the reference data do not have")
    found = find_actions(search.subject, search.outcome, cells, search.target, search.k)
    _write(options, iter([found.to_columns()]))
    if not options.json:
        wish = describe_target(search.target, search.subject.output_names)
        has = f"; {found.n_already:,} of {len(cells):,} rows have it already" if found.n_already else ""
        show(make_printable("\n".join([f"wanted: {wish}{has}", *list_actions(found)])))
        changed = count_unchangeable(found.subject, found.moved)
        if changed:
            often = word_unchangeable(changed, len(found.actions), "actions")
            line.note(f"{often}, add --frozen {shlex.quote(','.join(changed))}")


def _write(options: argparse.Namespace, columns: Iterator[Columns]) -> None:
    """Write lines as they come, or print them, where one of the two is wanted."""
    from xcid.io import writers

    if options.out is not None:
        writers.write(options.out, columns)
    else:
        deque(print_json(columns) if options.json else columns, maxlen=0)
