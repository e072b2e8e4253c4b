"""``xcid explain``: which features decide each row of a table."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli import _inputs
from xcid.cli._choices import MOST_OF_A_CHUNK, ROWS_OF_A_CHUNK
from xcid.cli._pieces import note_statuses, pieces
from xcid.cli._progress import Progress, progress
from xcid.cli._text import printable

if TYPE_CHECKING:
    from xcid.files.writers import Write
    from xcid.records import Explanation

ROWS_AT_A_TIME = 64
ROWS_SHOWN = 3


def add(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser("explain", help="explain rows of a table", description=__doc__.partition(": ")[2])
    _inputs.add(parser)
    _inputs.add_workers(parser, "threads, or with --run processes,")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="one line a row and feature: .csv, .parquet, .feather, .json, .jsonl"
    )
    parser.add_argument("--json", action="store_true", help="the same lines as JSON on stdout, in place of bars")
    parser.add_argument("--paper", action="store_true", help="the paper's setting: unsigned d1, nothing added")
    parser.add_argument(
        "--run", dest="folder", type=Path, metavar="DIR",
        help="keep finished rows there and use processes: the same command goes on where it was interrupted",
    )  # fmt: skip
    parser.add_argument(
        "--chunk", type=_chunk, default=ROWS_OF_A_CHUNK, metavar="N",
        help=f"rows that a run keeps at a time (default: {ROWS_OF_A_CHUNK}); few for slow models",
    )  # fmt: skip
    parser.set_defaults(run=partial(_checked, parser))


def _chunk(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_OF_A_CHUNK:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MOST_OF_A_CHUNK}, not {text!r}")
    return int(text)


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    _inputs.check(options, parser)
    if options.folder is not None and (options.out is None or options.json):
        parser.error("--run needs --out, the file for its result, and goes without --json")
    run(options)


def run(options: argparse.Namespace) -> None:
    """Explain the rows piece by piece, so that any number of them fits into memory."""
    from xcid.cli import _large
    from xcid.files import writers

    if options.out is not None:
        writers.check(options.out, options.background, options.data, options.model)
    told = progress("rows", options.quiet)
    if options.folder is not None:
        _large.run(options, told)
        return
    explained, total = _large.streamed(options, told) if _large.is_large(options) else _held(options, told)
    _write(options, explained, total)


def _held(options: argparse.Namespace, told: Progress) -> tuple[Iterator[Explanation], int]:
    """Explain rows of a table in memory; and how many there are."""
    from xcid.explainer import Explainer

    inputs = _inputs.read(options, told.note)
    make = Explainer.paper if options.paper else Explainer
    explainer = make(inputs.model, inputs.background, max_evidence_bytes=0)
    explained = pieces(explainer, inputs, options.seed, told, ROWS_AT_A_TIME, options.workers)
    return explained, len(inputs.positions)


def _write(options: argparse.Namespace, explained: Iterator[Explanation], total: int) -> None:
    """Write the pieces as they come, and show the first rows."""
    from xcid.frames import to_columns

    statuses: Counter[str] = Counter()
    shown: list[Explanation] = []
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(one) for one in _writers(options)]
        for piece in explained:
            for write in writers:
                write(to_columns(piece))
            statuses.update(piece.status.tolist())
            shown.extend(list(piece[:ROWS_SHOWN])[: ROWS_SHOWN - len(shown)])
    note_statuses(statuses)
    if not options.json:
        _show(shown, total, options.out)


def _writers(options: argparse.Namespace) -> Iterator[contextlib.AbstractContextManager[Write]]:
    from xcid.files import writers

    if options.json:
        yield writers.json_array(sys.stdout)
    if options.out is not None:
        yield writers.writer(options.out)


def _show(shown: list[Explanation], total: int, out: Path | None) -> None:
    """Bars of the first rows."""
    from xcid.text import bars

    for one in shown:
        print(printable(bars(one)))  # noqa: T201
    if total > len(shown):
        place = f"all of them are in {out}" if out is not None else "--out FILE keeps all of them"
        print(f"and {total - len(shown):,} more rows: {place}")  # noqa: T201
