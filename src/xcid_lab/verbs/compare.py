"""``xcid compare``: xcid, SHAP, LIME and others side by side on your own data and model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid._require import make_printable
from xcid.cli import _subjects, _wanted, _work
from xcid.cli._terminal import (
    Progress,
    console,
    keep_streams_apart,
    show,
    streams,
    whole_number,
)

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.table import FeatureSpace

USUAL_METHODS = ("xcid", "cid", "shap", "lime", "dice", "occlusion", "chance")
MORE_METHODS = (
    *("cf-shap", "bayes-shap", "kolmogorov-smirnov", "cramer-von-mises"),
    *("kernelshap", "permutation", "leverageshap", "regression-msr", "proxyshap", "oddshap"),
)
METHODS = (*USUAL_METHODS, *MORE_METHODS)
TEST_SHARE = 0.2
ROWS = 50  # that are explained where none are asked for
MOST_SEEDS = 100


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    parser.add_argument(
        "--methods", "--method",
        type=_methods,
        default=USUAL_METHODS,
        dest="method",
        metavar="A,B",
        help=f"by default {','.join(USUAL_METHODS)}; also {', '.join(MORE_METHODS)}; cid is the paper's method",
    )  # fmt: skip
    _wanted.add_cid(parser)
    seeds = whole_number(1, MOST_SEEDS)
    parser.add_argument(
        "--seeds", type=seeds, default=1, metavar="N", help="repeat with N seeds, from --seed (default: 1)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for figures.csv, figures.json, figures.tex, comparison.png"
    )
    parser.set_defaults(run=partial(_check_and_run, parser))


def _methods(text: str) -> tuple[str, ...]:
    typed = (name.strip() for name in text.split(","))
    chosen = tuple(dict.fromkeys("cid" if name == "paper" else name for name in typed))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown methods {unknown}: there are {', '.join(METHODS)}")
    return chosen


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    options.subject, options.cid = _subjects.subject_of(options, parser), _wanted.cid_of(options, parser)
    with keep_streams_apart(options.quiet):
        run(options)


def run(options: argparse.Namespace) -> None:
    """Compare, print the tables, and keep them where asked."""
    from xcid.io.writers import folder
    from xcid.method import CID
    from xcid_lab.comparison import MAKERS, compare, markdown
    from xcid_lab.comparison_files import keep

    out = None if options.out is None else folder(options.out)
    line = Progress("runs", options.quiet)
    parts = split(options.subject)
    for note in parts.notes:
        line.note(note)
    makers = MAKERS if options.cid is None else MAKERS | {"cid": partial(CID, **asdict(options.cid))}
    chosen = {name: makers[name] for name in options.method}
    seeds = [(options.subject.seed + more) % _subjects.MOST_SEED for more in range(options.seeds)]
    comparison = compare(parts.model, parts.train, parts.rows, chosen, seeds, line, parts.weights)
    show_markdown(f"{parts.description}\n\n{markdown(comparison)}")
    if out is not None:
        keep(comparison, parts.description, options.command, out, line.note)


def show_markdown(text: str) -> None:
    """Show text with tables in it."""
    text, drawn = make_printable(text), console(streams()[0])
    if drawn is None:
        show(text)
        return
    from rich.markdown import Markdown

    drawn.print(Markdown(text), soft_wrap=False)


class HeldOut(NamedTuple):
    """A model, the rows it may know, rows to explain, and a text that says what they are."""

    model: Any
    train: Any
    rows: Any
    description: str
    weights: Any  # of the rows it may know, where a column has them
    target: Any = None  # (N,) of these
    notes: tuple[str, ...] = ()  # on columns that it should hardly learn from
    names: tuple[str, ...] = ()  # of the rows to explain


def split(subject: _subjects.SubjectOptions, rows_at_most: int = ROWS) -> HeldOut:
    """Rows to explain and the others; a model that is trained has not seen the former.

    Of one table, the rows that are asked for are held out, or else a fifth of them, of which some are explained.
    """
    from xcid.io import suspects, tables, training
    from xcid.table import FeatureSpace

    reference = _work.read_reference(subject)
    table, weights = reference.table, reference.weights
    others = table if subject.data is None else reference.like(subject.data)
    asked, known = _held_out(subject, reference, tables.size(others))
    train = tables.part(table, known)
    features, weights = tables.without(train, subject.target), None if weights is None else weights[known]
    rows = tables.without(others, subject.target)
    most = rows_at_most if subject.rows is None else len(asked)
    fit, passed_over = _fit(FeatureSpace.of(features, weights=weights), rows, asked, most)
    notes = tuple(_work.reading_notes(subject, reference))
    if subject.model is None:
        notes += tuple(suspects.notes(train, subject.lesson[0], subject.id))
        trained = training.train(train, *subject.lesson)
        model, text = trained.model, trained.description
        if judgement := training.judgement(model, train, tables.part(others, asked), subject.lesson[0]):
            text = f"{text}; it {judgement}"
    else:
        with _subjects.try_model(subject) as call:
            call(features)
            model = _work.load_model(subject, train)
        text = f"{subject.model.name} with {len(known):,} reference rows"
    text = f"{text}; {len(fit)} other rows are held out"
    if passed_over:
        text += f" ({passed_over} passed over, with levels or missing cells that the {len(known):,} rows do not have)"
    target = None if subject.train is None else training.labels(tables.column_of(train, subject.lesson[0]))
    names = _name_rows(subject, reference, fit)
    return HeldOut(model, features, tables.part(rows, fit), text, weights, target, notes, names)


def _name_rows(subject: _subjects.SubjectOptions, reference: Background, fit: Sequence[int]) -> tuple[str, ...]:
    """What some rows of the table to explain are called: their positions in the file, or their names there."""
    from xcid.io.readers import open_source
    from xcid.io.rows import names_of

    places = [int(at) if subject.data is not None else reference.positions[int(at)] for at in fit]
    if subject.id is None:
        return tuple(map(str, places))
    every = names_of(open_source(subject.data or subject.reference), reference.layout)
    return tuple(every[at] for at in places)


def _held_out(subject: _subjects.SubjectOptions, reference: Background, n_others: int) -> tuple[list[int], list[int]]:
    """Positions of the rows to explain, and of those that a model may know."""
    import numpy as np

    from xcid.errors import InvalidParameter

    n_known = len(reference.positions)
    shuffled = np.random.default_rng(subject.seed).permutation(n_others).tolist()
    if subject.rows is not None:
        n_rows = n_others if subject.data is not None else reference.source.n_rows
        asked = list(_subjects.find_positions(subject, reference, n_rows))
        if subject.data is None:  # rows without a target are not there
            places = {row: at for at, row in enumerate(reference.positions)}
            asked = [places[row] for row in asked if row in places]
    else:
        asked = shuffled if subject.data is not None else shuffled[: max(1, round(TEST_SHARE * n_others))]
    if subject.data is not None:
        return asked, list(range(n_known))
    known = sorted(set(range(n_known)) - set(asked))
    if not asked:
        raise InvalidParameter(f"none of the rows in --rows has a target {subject.target!r}: choose others")
    if not known:
        raise InvalidParameter(
            "--rows takes every row, and leaves none to learn from: take fewer, or give them by --data"
        )
    return asked, known


def _fit(space: FeatureSpace, features: Any, test: list[int], most: int) -> tuple[list[int], int]:
    """Rows that can be explained against the training rows, and how many before them cannot."""
    from xcid.errors import InvalidData
    from xcid.io.tables import part

    fit: list[int] = []
    passed_over = 0
    for position in test:
        if len(fit) == most:
            break
        try:
            space.encode(part(features, [position]))
            fit.append(position)
        except InvalidData as error:
            passed_over, reason = passed_over + 1, error
    if not fit:
        raise InvalidData(f"none of the {len(test)} rows to explain fits the others: {reason}")
    return fit, passed_over
