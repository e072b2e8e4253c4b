"""``xcid app``: a page on this machine to edit rows and see at once what decides them."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xcid.cli import _refits, _subjects, _wanted, _work
from xcid.cli._terminal import Progress, to_sentences, whole_number

if TYPE_CHECKING:
    from xcid.app import Session

DEMOS = ("diabetes", "heart")
MOST_ROWS = 100_000  # that can be picked
MOST_PORT = 65_535
RECIPE = """from xcid.io import training

demo = training.demo({!r}, {!r}, {!r})
model, reference = demo.model, demo.background"""
OF_A_TABLE = ("target", "weights", "id", "model", "class_names", "drop", "dates", "refits")  # no demo has them


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser, DEMOS)
    _wanted.add_method(parser)
    _refits.add_refits(parser)
    port = whole_number(0, MOST_PORT)
    parser.add_argument("--port", type=port, default=0, help="of the page's address (default: one that is free)")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=partial(_check_and_run, parser))


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    refits = _refits.refits_of(options, parser)  # what follows their number is the table
    if options.reference is None and options.data is None and options.table is None:
        _subjects.choose_model(options)
        given = [f"--{name.replace('_', '-')}" for name in OF_A_TABLE if getattr(options, name)]
        if given:
            parser.error(f"{' and '.join(given)} needs --data, the table it is about")
        options.subject, options.demo = _subjects.SubjectOptions.of(options), options.demo or DEMOS[0]
    elif options.demo:
        parser.error("give --demo or a table of yours, not both")
    else:
        options.subject = _subjects.subject_of(options, parser)
    options.cid, options.refits = _wanted.cid_of(options, parser), refits
    _refits.check_refits(options, parser)
    run(options)


def run(options: argparse.Namespace) -> None:
    """Serve a page until Ctrl-C."""
    from xcid.app import serve

    line = Progress("rows", options.quiet)
    session = _open_table(options) if options.demo is None else _open_demo(options)
    for note in session.notes:
        line.note(note)
    line.note("open this address in a browser on this machine; Ctrl-C ends it")
    with tempfile.TemporaryDirectory() as folder:
        serve(session, port=options.port, ready=partial(_print_address, options, Path(folder)))


def _print_address(options: argparse.Namespace, folder: Path, address: str) -> None:
    """Print the address; a browser gets it by a file that nobody else may read, as all may see its arguments."""
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if options.open:
        import webbrowser

        page = folder / "open.html"
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()  # some browsers block


def _open_table(options: argparse.Namespace) -> Session:
    import numpy as np

    from xcid.app import Session
    from xcid.app.session import TITLE
    from xcid.errors import InvalidData
    from xcid.io import tables
    from xcid.table import encode_unseen

    subject, notes = options.subject, list[str]()
    model, background, rows = _work.read_inputs(subject, notes.append)
    if len(rows) > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS:,} of {len(rows):,} rows can be picked; --rows chooses others")
    first = next(rows.chunks(MOST_ROWS))
    usual = np.flatnonzero(~encode_unseen(background.space, first.frame).unseen).tolist()
    if len(usual) < len(first.names):
        notes.append("rows that hold what the reference data do not have cannot be picked")
    if not usual:
        raise InvalidData("every row holds levels or missing cells that the reference data do not have: give others")
    title = options.title or (TITLE if subject.target is None else f"What decides {subject.target}")
    return Session(
        *(model, background.features, tables.part(first.frame, usual), first.names[usual].tolist(), title),
        notes=to_sentences(notes),
        seed=subject.seed,
        weights=background.weights,
        cid=options.cid and asdict(options.cid),
        refits=options.refits.make(subject, model, background),
        **_subjects.naming_of(subject, model),
    )


def _open_demo(options: argparse.Namespace) -> Session:
    from xcid.app import Session
    from xcid.io import tables, training

    subject = options.subject
    what = options.demo, subject.train, subject.seed
    made = training.demo(*what)
    positions = _subjects.select_rows(subject.rows or ":", len(made.positions), lambda: made.data)
    names, title = [made.positions[at] for at in positions], options.title or made.title
    notes = to_sentences([made.note])
    shown = tables.part(made.data, positions), names, title, notes, made.descriptions, subject.seed
    return Session(
        made.model, made.background, *shown, cid=options.cid and asdict(options.cid), recipe=RECIPE.format(*what)
    )
