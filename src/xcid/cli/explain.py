"""``xcid explain``: which features decide each row of a table."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import tee, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xcid.cli import _reasons, _subjects
from xcid.cli._colours import show_scores
from xcid.cli._explained import explained
from xcid.cli._terminal import (
    MOST_OF_A_CHUNK,
    ROWS_OF_A_CHUNK,
    ROWS_OF_A_SAMPLE,
    apart,
    printable,
    progress,
    record,
    seconds,
    show,
    whole_number,
)

if TYPE_CHECKING:
    from xcid.explanation import Explanation
    from xcid.io.writers import Columns
    from xcid.show.reasons import Reasons

ROWS_AT_A_TIME = 64  # so that one sees how far it is; of many rows, as many as an explainer takes at once
MANY_ROWS = 10_000
ROWS_SHOWN = 3
ARCHIVE = ".npz"  # what xcid.load and compare-runs read


class Options(NamedTuple):
    """What was typed."""

    subject: _subjects.Subject
    workers: int
    out: Path | None
    json: bool
    paper: bool
    folder: Path | None
    chunk: int
    time_limit: float | None
    reasons: _reasons.Wanted | None
    quiet: bool


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _subjects.add_workers(parser, "threads, or with --run processes,")
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="one line per row and feature: .csv, .parquet, .feather, .json, .jsonl; .npz for compare-runs, xcid.load",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of bars")
    _subjects.add_paper(parser)
    _reasons.add(parser, "reasons as columns beside the scores, and under the bars")
    parser.add_argument(
        "--run", dest="folder", type=Path, metavar="DIR",
        help="keep finished rows there and use processes: the same command resumes what was interrupted",
    )  # fmt: skip
    parser.add_argument(
        "--chunk", type=whole_number(1, MOST_OF_A_CHUNK), default=ROWS_OF_A_CHUNK, metavar="N",
        help=f"rows that a run keeps at a time (default: {ROWS_OF_A_CHUNK}); few for slow models",
    )  # fmt: skip
    parser.add_argument(
        "--time-limit", type=seconds, metavar="SECONDS",
        help="with --run: a worker that takes longer for a row is ended, and the row gets the status too_slow",
    )  # fmt: skip
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    subject, reasons = _subjects.subject_of(options, parser), _reasons.wanted_of(options, parser)
    if reasons is not None and options.out is not None and options.out.suffix.lower() == ARCHIVE:
        parser.error(f"--reasons are columns of a table, which a {ARCHIVE} file is not: give --out another extension")
    if options.folder is not None and (options.out is None or options.json):
        parser.error("--run needs --out, the file for its result, and goes without --json")
    if options.time_limit is not None and options.folder is None:
        parser.error("--time-limit needs --run: only a worker process can be ended")
    with apart(options.quiet):
        run(record(Options, options, subject=subject, reasons=reasons))


def run(options: Options) -> None:
    """Explain the rows some at a time, so that any number of them fits into memory."""
    from xcid.cli import _runs
    from xcid.explainer import Explainer
    from xcid.io import writers
    from xcid.io.writers import FORMATS

    subject, line = options.subject, progress("rows", options.quiet)
    reasons = None if options.reasons is None else options.reasons.made()
    if options.out is not None:
        known = FORMATS if options.folder is not None else (*FORMATS, ARCHIVE)
        texts = None if options.reasons is None else options.reasons.texts
        writers.check(options.out, subject.background, subject.data, subject.model, texts, extensions=known)
    if options.folder is not None and options.out is not None:
        _runs.run(options, reasons, options.folder, options.out, line)
        return
    most = ROWS_OF_A_SAMPLE if options.out is None and not options.json else None
    model, background, rows = _subjects.read(
        subject, line.note, most, lambda found: _reasons.check(options.reasons, _subjects.answers(subject, found))
    )
    make = Explainer.paper if options.paper else Explainer
    more = _subjects.settings(subject, background) | _reasons.evidence(options.reasons)
    explainer = make(model, background.features, **more)
    _reasons.check(options.reasons, explainer.subject.output_names)
    if reasons is not None:
        reasons.check(explainer.subject.features.names, explainer.subject.output_names)
    size = ROWS_AT_A_TIME if len(rows) < MANY_ROWS else ROWS_OF_A_CHUNK
    found = explained(explainer, rows, subject.seed, size, options.workers, line)
    _write(options, found, len(rows), reasons)


def _write(options: Options, found: Iterator[Explanation], total: int, reasons: Reasons | None) -> None:
    """Write the pieces as they come, and show the first rows."""
    from xcid.frames import to_columns
    from xcid.io import writers

    shown: list[Explanation] = []
    whole: list[Explanation] = []
    archive = options.out if options.out is not None and options.out.suffix.lower() == ARCHIVE else None
    pieces = _kept(found if archive is None else _saved(found, archive), shown, whole if total < MANY_ROWS else None)
    columns: Iterator[Columns] = map(to_columns if reasons is None else reasons.columns, pieces)
    if options.json:
        columns = _printed(columns)
    if options.out is not None and archive is None:
        writers.write(options.out, columns)
    else:
        deque(columns if options.json else pieces, maxlen=0)
    if not options.json:
        _show(shown, total, options.out, reasons)
        _show_mean(whole)


def _saved(found: Iterator[Explanation], path: Path) -> Iterator[Explanation]:
    """The pieces, after all of them were saved together."""
    from xcid.explanation import Explanation

    whole = list(found)
    Explanation.concatenate(whole).save(path)
    yield from whole


def _kept(
    found: Iterator[Explanation], shown: list[Explanation], whole: list[Explanation] | None
) -> Iterator[Explanation]:
    """The pieces; the first rows are kept on the way, and all of them where there is room for them."""
    for piece in found:
        if whole is not None:
            whole.append(piece)
        shown.extend(list(piece[:ROWS_SHOWN])[: ROWS_SHOWN - len(shown)])
        yield piece


def _printed(columns: Iterator[Columns]) -> Iterator[Columns]:
    """Columns that are printed as JSON on their way."""
    from xcid.io.writers import array, pack_json

    ours, theirs = tee(columns)
    for text, piece in zip_longest(array(map(pack_json, ours)), theirs):
        show(text.decode(), end="")
        if piece is not None:
            yield piece


def _show(shown: list[Explanation], total: int, out: Path | None, reasons: Reasons | None) -> None:
    """Bars of the first rows, and their reasons."""
    from xcid.show.text import bars

    for one in shown:
        show_scores(bars(one))
        for sentence in () if reasons is None else reasons.sentences(one):
            show(printable(sentence))
    if total > len(shown):
        where = f"all of them are in {out}" if out is not None else "--out FILE keeps all of them"
        show(f"and {total - len(shown):,} more rows: {where}")


def _show_mean(whole: list[Explanation]) -> None:
    """Bars of the mean over all rows that could be explained, where there are more than are shown."""
    import numpy as np

    from xcid.explanation import Explanation
    from xcid.records import UNKNOWN
    from xcid.show.text import bars

    if sum(map(len, whole)) > ROWS_SHOWN:
        together = Explanation.concatenate(whole)
        if not np.isin(together.status, UNKNOWN).all():
            show_scores(bars(together.aggregate()))
