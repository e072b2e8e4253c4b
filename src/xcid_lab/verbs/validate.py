"""``xcid validate``: xcid tests itself on your own model and table, and writes what an auditor files."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli import _subjects, _work
from xcid.cli._terminal import Progress, keep_streams_apart, read_seconds, show, whole_number

if TYPE_CHECKING:
    from xcid.cli._subjects import SubjectOptions
    from xcid.explainer import Explainer
    from xcid_lab.validation import Effort, Validation

PAGES, RECORDS = (".html", ".htm"), (".json",)
SECONDS = 90.0
FEWEST_REFITS = 5
MOST_HELD_OUT = 500  # rows, where none are typed
PATHS = ("reference", "data", "model")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    _subjects.add(parser)
    parser.add_argument("--out", type=Path, metavar="FILE", help="a page with all checks: .html")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the record, which xcid verify runs again: .json")
    parser.add_argument(
        "--seconds", type=read_seconds, default=SECONDS, metavar="N",
        help=f"try as much as takes so long, roughly (default: {SECONDS:.0f})",
    )  # fmt: skip
    parser.add_argument(
        "--refits", type=whole_number(FEWEST_REFITS), default=0, metavar="N",
        help="train the model again so often, on samples of the reference data, to see what outlasts that (20 do)",
    )  # fmt: skip
    parser.set_defaults(run=partial(_check_and_run, parser))


def _check_and_run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    options.subject = _subjects.subject_of(options, parser)
    if options.refits and options.subject.target is None:
        parser.error("--refits needs --target COLUMN, which the model is trained again to predict")
    with keep_streams_apart(options.quiet):
        return run(options)


def run(options: argparse.Namespace) -> int:
    """Validate, write what was asked for, and say what came out; 1 where a check failed."""
    from xcid.io import writers

    subject, line = options.subject, Progress("steps", options.quiet)
    for path, extensions in ((options.out, PAGES), (options.json, RECORDS)):
        if path is not None:
            writers.check(path, subject.reference, subject.data, subject.model, extensions=extensions)
    found = replace(validate_files(subject, options.refits, line, seconds=options.seconds), command=options.command)
    for path, write in ((options.out, found.report), (options.json, found.save)):
        if path is not None:
            write(path)
            line.note(f"{path} is written")
    show(str(found))
    return int(bool(found.failed))


def validate_files(
    subject: SubjectOptions, n_refits: int, line: Progress, *, seconds: float = SECONDS, effort: Effort | None = None
) -> Validation:
    """Validate what a subject says, and record its options and the digests of its files."""
    from xcid.runs.folder import fingerprint
    from xcid_lab.validation import validate

    paths = {name: getattr(subject, name) for name in PATHS}
    read = {name: fingerprint(path) for name, path in paths.items() if path is not None}
    explainer, rows, names = _inputs(subject, n_refits, line)
    found = validate(explainer, rows, names=names, seed=subject.seed, seconds=seconds, effort=effort, progress=line)
    for file in read.values():
        file.check()
    files = {name: {"name": file.path.name, "sha256": file.sha256} for name, file in read.items()}
    return replace(found, inputs={"options": plain(subject), "refits": n_refits, "files": files})


def _inputs(subject: SubjectOptions, n_refits: int, line: Progress) -> tuple[Explainer, Any, Any]:
    """The explainer, rows, and their names; of one table that a model is trained on, a fifth is held out of that."""
    from xcid._check import silent
    from xcid.cli._refits import train_again
    from xcid.explainer import Explainer
    from xcid.models.refits import refits
    from xcid_lab.verbs.compare import split

    if subject.train is not None and subject.data is None:
        parts = split(subject, MOST_HELD_OUT)
        for note in (*parts.notes, parts.description):
            line.note(note)
        known = {"weights": parts.weights, **_subjects.naming_of(subject, parts.model)}
        lesson = parts.model, parts.train, parts.target, n_refits
        models = refits(*lesson, seed=subject.seed, progress=silent) if n_refits else None
        return Explainer(parts.model, parts.train, refits=models, **known), parts.rows, parts.names
    model, background, rows = _work.read_inputs(subject, line.note, MOST_HELD_OUT)
    (chunk,) = rows.chunks(len(rows))
    again = train_again(subject, model, background, n_refits, line.note) if n_refits else None
    return _work.make_explainer(subject, model, background, refits=again), chunk.frame, chunk.names


def plain(subject: SubjectOptions) -> dict[str, Any]:
    """Options as texts, numbers and lists; nothing that lets a file run code is among them."""
    known = asdict(subject)
    for unsafe in ("trust", "unsafe_pickle"):
        known.pop(unsafe)
    return {
        name: str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value
        for name, value in known.items()
    }
