"""``xcid explain``: which features decide each row of a table."""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xcid._require import make_printable
from xcid.cli import _refits, _subjects, _terminal, _wanted, _work
from xcid.cli._terminal import ROWS_OF_A_CHUNK, ROWS_OF_A_SAMPLE, print_json, show, show_more, show_scores

if TYPE_CHECKING:
    from xcid.explanation import Explanation
    from xcid.io.writers import Columns
    from xcid.show.reasons import Reasons

ROWS_AT_A_TIME = 64  # so that one sees how far it is; of many rows, as many as an explainer takes at once
MANY_ROWS = 10_000
ROWS_SHOWN = 3
MOST_OF_A_CHUNK = 65_536
ARCHIVES = (".xcid", ".npz")  # what xcid.load and compare-runs read


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _wanted.add_workers(parser, "threads, or with --run processes,")
    _wanted.add_method(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help=f"one line per row and feature: {_terminal.TABLES_OUT}; .xcid for compare-runs, xcid.load",
    )  # fmt: skip
    parser.add_argument(
        "--only", choices=("contributions",),
        help="the first question alone, without importance; where the model is read exactly, nothing is perturbed",
    )  # fmt: skip
    parser.add_argument(
        "--towards", metavar="CLASS",
        help="what signs are about (default: the second of two classes, of several each row's predicted one)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of bars")
    _refits.add_limits(parser)
    _wanted.add_reasons(parser, "reasons as columns beside the scores, and under the bars")
    parser.add_argument(
        "--run", dest="folder", type=Path, metavar="DIR",
        help="keep finished rows there and use processes: the same command resumes what was interrupted",
    )  # fmt: skip
    parser.add_argument(
        "--chunk", type=_terminal.whole_number(1, MOST_OF_A_CHUNK), default=ROWS_OF_A_CHUNK, metavar="N",
        help=f"rows that a run keeps at a time (default: {ROWS_OF_A_CHUNK}); few for slow models",
    )  # fmt: skip
    parser.add_argument(
        "--time-limit", type=_terminal.read_seconds, metavar="SECONDS",
        help="with --run: a worker that takes longer for a row is ended, and the row gets the status too_slow",
    )  # fmt: skip
    parser.set_defaults(run=partial(_check_and_run, parser))


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.refits = _refits.refits_of(options, parser)
    options.subject, options.reasons = _subjects.subject_of(options, parser), _wanted.reasons_of(options, parser)
    options.cid = _wanted.cid_of(options, parser)
    _refits.check_refits(options, parser)
    if options.only is not None and options.cid is not None:
        parser.error("--method cid gives importance alone: leave out --only contributions")
    if options.towards is not None and (options.cid is not None or options.folder is not None):
        parser.error("--towards turns signs: leave out --method cid, which has none, and --run, which keeps them")
    if options.reasons is not None and options.out is not None and _is_archive(options.out):
        parser.error(
            f"--reasons are columns of a table, which a {options.out.suffix} file is not: give --out another extension"
        )
    if options.folder is not None and (options.out is None or options.json):
        parser.error("--run needs --out, the file for its result, and goes without --json")
    if options.time_limit is not None and options.folder is None:
        parser.error("--time-limit needs --run: only a worker process can be ended")
    with _terminal.keep_streams_apart(options.quiet):
        run(options)


def run(options: argparse.Namespace) -> None:
    """Explain the rows some at a time, so that any number of them fits into memory."""
    from xcid.cli import _runs
    from xcid.io import writers
    from xcid.io.writers import FORMATS
    from xcid.outcomes.classes import column_of

    subject, line, wanted = options.subject, _terminal.Progress("rows", options.quiet), options.reasons
    reasons = None if wanted is None else wanted.read()
    if options.out is not None:
        known = FORMATS if options.folder is not None else (*FORMATS, *ARCHIVES)
        texts = None if wanted is None else wanted.texts
        writers.check(
            options.out, subject.reference, subject.data, subject.model, texts, *options.refits.files, extensions=known
        )
    if options.folder is not None and options.out is not None:
        _runs.run(options, reasons, options.folder, options.out, line)
        return
    most = ROWS_OF_A_SAMPLE if options.out is None and not options.json else None
    model, background, rows = _work.read_inputs(
        subject, line.note, most, lambda found: _wanted.check_reasons(wanted, _work.output_names(subject, found))
    )
    limits = _refits.limit_settings(options.limits, options.refits.make(subject, model, background, line.note))
    kept = _wanted.evidence_settings if options.towards is None else _wanted.compare_settings  # turned by samples
    settings = kept(wanted) | limits
    explainer = _work.make_explainer(subject, model, background, options.cid, options.only, note=line.note, **settings)
    _wanted.check_reasons(wanted, explainer.subject.output_names)
    if reasons is not None:
        reasons.check(explainer.subject.features.names, explainer.subject.output_names)
    size = ROWS_AT_A_TIME if len(rows) < MANY_ROWS else ROWS_OF_A_CHUNK
    found = _work.explain_pieces(explainer, rows, subject.seed, size, options.workers, line)
    if options.towards is not None:
        if len(explainer.subject.output_names) > 1:
            column_of(options.towards, explainer.subject.output_names)  # says what is wrong before a row is explained
        found = (piece.towards(options.towards) for piece in found)
    _write(options, found, len(rows), reasons)


def _write(options: argparse.Namespace, found: Iterator[Explanation], total: int, reasons: Reasons | None) -> None:
    """Write the pieces as they come, and show the first rows, and the mean of all that could be explained."""
    import numpy as np

    from xcid.explanation import Explanation
    from xcid.frames import to_columns
    from xcid.io import writers
    from xcid.records import UNKNOWN

    first, whole = list[Explanation](), list[Explanation]()
    is_archive = options.out is not None and _is_archive(options.out)
    pieces = _keep(found, first, whole if is_archive or total < MANY_ROWS else None)
    columns: Iterator[Columns] = map(to_columns if reasons is None else reasons.columns, pieces)
    if options.json:
        columns = print_json(columns, lambda: {"settings": dict(first[0].details.settings or {})})
    if options.out is not None and not is_archive:
        writers.write(options.out, columns)
    else:
        deque(columns if options.json else pieces, maxlen=0)
    if options.out is not None and is_archive:
        Explanation.concatenate(whole).save(options.out)
    if not options.json:
        _show(first, reasons)
        show_more(total, len(first), options.out)
        if len(first) < total < MANY_ROWS:
            together = Explanation.concatenate(whole)
            _show([] if np.isin(together.status, UNKNOWN).all() else [together.aggregate()])


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() in ARCHIVES


def _keep(
    found: Iterator[Explanation], first: list[Explanation], whole: list[Explanation] | None
) -> Iterator[Explanation]:
    """The pieces; the first rows are kept on the way, and all of them where there is room for them."""
    for piece in found:
        if whole is not None:
            whole.append(piece)
        first.extend(list(piece[:ROWS_SHOWN])[: ROWS_SHOWN - len(first)])
        yield piece


def _show(explanations: list[Explanation], reasons: Reasons | None = None) -> None:
    """Bars, and reasons where there are some."""
    from xcid.show.text import bars

    for one in explanations:
        show_scores(bars(one))
        for sentence in () if reasons is None else reasons.sentences(one):
            show(make_printable(sentence))
