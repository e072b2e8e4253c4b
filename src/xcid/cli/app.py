"""``xcid app``: a page on this machine where rows are edited, and what decides them is seen at once."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from xcid.cli import _inputs
from xcid.cli._progress import progress

if TYPE_CHECKING:
    from xcid.app import Workshop

DEFAULT_MODEL = "forest"
DEMOS = ("diabetes", "heart")
MOST_ROWS = 1_000  # that can be picked
OF_A_TABLE = ("target", "data", "model")  # options that a demo does not go with


def add(subparsers: Any) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "app", help="edit rows on a page, and see what decides them", description=__doc__.partition(": ")[2]
    )
    _inputs.add(parser, DEFAULT_MODEL, DEMOS)
    parser.add_argument("--port", type=_port, default=0, help="of the page's address (default: one that is free)")
    parser.add_argument("--title", metavar="TEXT", help="headline of the page")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=partial(_checked, parser))


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: they go from 0 to 65535")
    return int(text)


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.model is None and options.train is None:
        options.train = DEFAULT_MODEL
    if options.background is None:
        given = [f"--{name}" for name in OF_A_TABLE if getattr(options, name) is not None]
        if given:
            parser.error(f"{' and '.join(given)} needs --background, the table it is about")
        options.demo = options.demo or DEMOS[0]
    elif options.demo:
        parser.error("give --demo or --background, not both")
    else:
        _inputs.check(options, parser)
    run(options)


def run(options: argparse.Namespace) -> None:
    """Answer a page until Ctrl-C."""
    from xcid.app import serve

    told = progress("rows", options.quiet)
    workshop = _demo(options) if options.demo else _table(options)
    for note in workshop.notes:
        told.note(note)
    told.note("open this address in a browser on this machine; Ctrl-C ends it")
    serve(workshop, port=options.port, ready=partial(_ready, options))


def _ready(options: argparse.Namespace, address: str) -> None:
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if options.open:
        import webbrowser

        webbrowser.open(address)


def _table(options: argparse.Namespace) -> Workshop:
    from xcid.app import Workshop
    from xcid.app.workshop import TITLE
    from xcid.files import tables

    notes: list[str] = []
    inputs = _inputs.read(options, notes.append)
    if options.model is None and options.data is None:
        notes.append("the rows are among those that it was trained on, where a model is surer than elsewhere")
    positions = _few(inputs.positions, notes)
    title = options.title or (TITLE if options.target is None else f"What decides {options.target}")
    data = tables.part(inputs.data, positions)
    return Workshop(inputs.model, inputs.background, data, positions, title, _sentences(notes), seed=options.seed)


def _demo(options: argparse.Namespace) -> Workshop:
    from xcid.app import Workshop
    from xcid.cli._rows import chosen
    from xcid.files import demos, tables

    made = demos.demo(options.demo, options.train, options.seed)
    positions = chosen(options.rows, len(made.positions))
    names = [made.positions[at] for at in positions]
    data, title, notes = tables.part(made.data, positions), options.title or made.title, _sentences([made.note])
    return Workshop(made.model, made.background, data, names, title, notes, made.words, options.seed)


def _few(positions: range, notes: list[str]) -> range:
    """As many rows as a list to pick from should have."""
    if len(positions) > MOST_ROWS:
        notes.append(f"the first {MOST_ROWS:,} of {len(positions):,} rows can be picked; --rows A:B chooses others")
    return positions[:MOST_ROWS]


def _sentences(notes: list[str]) -> list[str]:
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
