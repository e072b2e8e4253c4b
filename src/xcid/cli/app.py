"""``xcid app``: a page on this machine to edit rows and see at once what decides them."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xcid.cli import _subjects
from xcid.cli._rows import chosen
from xcid.cli._terminal import USUAL_MODEL, progress, record, sentences, whole_number

if TYPE_CHECKING:
    from xcid.app import Workshop

DEMOS = ("diabetes", "heart")
MOST_ROWS = 1_000  # that can be picked
MOST_PORT = 65_535
RECIPE = """from xcid.io import training

demo = training.demo({!r}, {!r}, {!r})
model, background = demo.model, demo.background"""
OF_A_TABLE = (
    "target",
    "weights",
    "id",
    "model",
    "class_names",
    "drop",
    "dates",
)  # options that a demo does not go with


class Options(NamedTuple):
    """What was typed."""

    subject: _subjects.Subject
    demo: str | None
    open: bool
    quiet: bool
    port: int
    title: str | None


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser, DEMOS)
    port = whole_number(0, MOST_PORT)
    parser.add_argument("--port", type=port, default=0, help="of the page's address (default: one that is free)")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=partial(_checked, parser))


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.background is None and options.data is None and options.table is None:
        _subjects.choose_model(options)
        given = [f"--{name.replace('_', '-')}" for name in OF_A_TABLE if getattr(options, name)]
        if given:
            parser.error(f"{' and '.join(given)} needs --data, the table it is about")
        run(record(Options, options, subject=record(_subjects.Subject, options), demo=options.demo or DEMOS[0]))
        return
    if options.demo:
        parser.error("give --demo or a table of yours, not both")
    run(record(Options, options, subject=_subjects.subject_of(options, parser)))


def run(options: Options) -> None:
    """Answer a page until Ctrl-C."""
    from xcid.app import serve

    line = progress("rows", options.quiet)
    workshop = _table(options) if options.demo is None else _demo(options, options.demo)
    for note in workshop.notes:
        line.note(note)
    line.note("open this address in a browser on this machine; Ctrl-C ends it")
    with tempfile.TemporaryDirectory() as folder:
        serve(workshop, port=options.port, ready=partial(_ready, options, Path(folder)))


def _ready(options: Options, folder: Path, address: str) -> None:
    """Print the address; a browser gets it by a file that nobody else may read, as all may see its arguments."""
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if options.open:
        import webbrowser

        page = folder / "open.html"
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
        threading.Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()  # some browsers block


def _table(options: Options) -> Workshop:
    import numpy as np

    from xcid.app import Workshop
    from xcid.app.workshop import TITLE
    from xcid.errors import InvalidData
    from xcid.io import tables
    from xcid.table import met

    subject, notes = options.subject, list[str]()
    inputs = _subjects.read(subject, notes.append)
    n_rows = len(inputs.rows)
    if n_rows > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS:,} of {n_rows:,} rows can be picked; --rows chooses others")
    first = next(inputs.rows.chunks(MOST_ROWS))
    usual = np.flatnonzero(~met(inputs.background.space, first.frame).unseen).tolist()
    if len(usual) < len(first.names):
        notes.append("rows that hold what the reference data do not have cannot be picked")
    if not usual:
        raise InvalidData("every row holds levels or missing cells that the reference data do not have: give others")
    title = options.title or (TITLE if subject.target is None else f"What decides {subject.target}")
    known, said = inputs.background, sentences(notes)
    shown = (tables.part(first.frame, usual), first.names[usual].tolist(), title, said)
    more = _subjects.settings(subject, known)
    return Workshop(inputs.model, known.features, *shown, seed=subject.seed, **more)


def _demo(options: Options, name: str) -> Workshop:
    from xcid.app import Workshop
    from xcid.io import tables, training

    subject = options.subject
    kind = subject.train or USUAL_MODEL
    made = training.demo(name, kind, subject.seed)
    positions = chosen(subject.rows or ":", len(made.positions), lambda: made.data)
    names = [made.positions[at] for at in positions]
    data, title, notes = tables.part(made.data, positions), options.title or made.title, sentences([made.note])
    shown = data, names, title, notes, made.descriptions, subject.seed
    return Workshop(made.model, made.background, *shown, recipe=RECIPE.format(name, kind, subject.seed))
