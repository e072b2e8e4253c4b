"""``xcid explain``: which features decide each row of a table."""

from __future__ import annotations

import argparse
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid._require import make_printable
from xcid.cli import _subjects, _terminal, _wanted
from xcid.cli._terminal import ROWS_OF_A_CHUNK, ROWS_OF_A_SAMPLE, print_json, show, show_more, show_scores

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation
    from xcid.io.rows import Rows
    from xcid.io.writers import Columns
    from xcid.show.reasons import Reasons

ROWS_AT_A_TIME = 64  # so that one sees how far it is; of many rows, as many as an explainer takes at once
MANY_ROWS = 10_000
ROWS_SHOWN = 3
MOST_OF_A_CHUNK = 65_536
ARCHIVE = ".npz"  # what xcid.load and compare-runs read


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    _wanted.add_workers(parser, "threads, or with --run processes,")
    _wanted.add_method(parser)
    parser.add_argument(
        "--out", type=Path, metavar="FILE",
        help="one line per row and feature: .csv, .parquet, .feather, .json, .jsonl; .npz for compare-runs, xcid.load",
    )  # fmt: skip
    parser.add_argument(
        "--only", choices=("contributions",),
        help="the first question alone, without importance; where the model is read exactly, nothing is perturbed",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of bars")
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
    options.subject, options.reasons = _subjects.subject_of(options, parser), _wanted.reasons_of(options, parser)
    options.cid = _wanted.cid_of(options, parser)
    if options.only is not None and options.cid is not None:
        parser.error("--method cid gives importance alone: leave out --only contributions")
    if options.reasons is not None and options.out is not None and options.out.suffix.lower() == ARCHIVE:
        parser.error(f"--reasons are columns of a table, which a {ARCHIVE} file is not: give --out another extension")
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

    subject, line, wanted = options.subject, _terminal.Progress("rows", options.quiet), options.reasons
    reasons = None if wanted is None else wanted.read()
    if options.out is not None:
        known = FORMATS if options.folder is not None else (*FORMATS, ARCHIVE)
        texts = None if wanted is None else wanted.texts
        writers.check(options.out, subject.reference, subject.data, subject.model, texts, extensions=known)
    if options.folder is not None and options.out is not None:
        _runs.run(options, reasons, options.folder, options.out, line)
        return
    most = ROWS_OF_A_SAMPLE if options.out is None and not options.json else None
    model, background, rows = _subjects.read_inputs(
        subject, line.note, most, lambda found: _wanted.check_reasons(wanted, _subjects.output_names(subject, found))
    )
    settings = _wanted.evidence_settings(wanted)
    explainer = _subjects.make_explainer(subject, model, background, options.cid, options.only, **settings)
    _wanted.check_reasons(wanted, explainer.subject.output_names)
    if reasons is not None:
        reasons.check(explainer.subject.features.names, explainer.subject.output_names)
    size = ROWS_AT_A_TIME if len(rows) < MANY_ROWS else ROWS_OF_A_CHUNK
    found = explain_pieces(explainer, rows, subject.seed, size, options.workers, line)
    _write(options, found, len(rows), reasons)


def explain_pieces(
    explainer: Explainer,
    rows: Rows,
    seed: int,
    size: int,
    workers: int,
    progress: _terminal.Progress,
    keep: Callable[[Any], None] = lambda frame: None,
    redact: Callable[[str], str] = str,
) -> Iterator[Explanation]:
    """Explain so many rows at a time, and warn of those that failed or lack perturbations.

    A row has the same scores in whatever piece it is. ``keep`` gets the table of each piece before its explanation
    comes, and ``redact`` makes of the reason why the first row failed what may be said of it.
    """
    from dataclasses import replace

    from xcid._faults import quietly, refuse_one_side
    from xcid.engines import Threads
    from xcid.records import Failure

    one_side, failures = list[str](), list[Failure]()
    explainer = explainer.replace(one_sided=one_side.append, failed=failures.append)  # other pieces may have flips
    size = size if workers == 1 else max(size, workers * explainer.setup.rows_at_once)
    statuses: Counter[str] = Counter()
    reason, pieces = "", list[tuple[set[str], str]]()
    progress(0, len(rows))
    for chunk in rows.chunks(size):
        with quietly():
            explanation = Threads(workers)(explainer, chunk.frame, seed=seed)
        explanation = replace(explanation, index=chunk.names)
        statuses.update(explanation.status.tolist())
        if failures and not reason:
            reason = f"row {chunk.names[failures[0].place]}: {failures[0].reason}"
        pieces.append((set(explanation.status.tolist()), one_side.pop() if one_side else ""))
        progress(statuses.total(), len(rows))
        keep(chunk.frame)
        yield explanation
    refuse_one_side(pieces)
    note_statuses(statuses, redact(reason))


def note_statuses(statuses: Counter[str], reason: str) -> int:
    """Warn of all rows that are not as they should be, and say why the first that failed did; how many failed."""
    from xcid._check import warn
    from xcid.records.status import UNKNOWN, meaning

    found = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()) if status != "ok")
    if found:
        n_rows, why = statuses.total(), f"; the first that failed is {reason}" if reason else ""
        if not statuses["ok"]:
            why = f": {meaning(statuses.most_common(1)[0][0])}{why}"
        warn(f"{n_rows - statuses['ok']:,} of {n_rows:,} rows do not have the status ok ({found}){why}")
    return sum(statuses[status] for status in UNKNOWN)


def _write(options: argparse.Namespace, found: Iterator[Explanation], total: int, reasons: Reasons | None) -> None:
    """Write the pieces as they come, and show the first rows, and the mean of all that could be explained."""
    import numpy as np

    from xcid.explanation import Explanation
    from xcid.frames import to_columns
    from xcid.io import writers
    from xcid.records import UNKNOWN

    first, whole = list[Explanation](), list[Explanation]()
    is_archive = options.out is not None and options.out.suffix.lower() == ARCHIVE
    pieces = _keep(found, first, whole if is_archive or total < MANY_ROWS else None)
    columns: Iterator[Columns] = map(to_columns if reasons is None else reasons.columns, pieces)
    if options.json:
        columns = print_json(columns)
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
