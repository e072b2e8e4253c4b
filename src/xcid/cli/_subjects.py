"""What verbs about a model and its table share: their options, and the objects behind these."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._rows import HELP, are_names, chosen, rows, without_names
from xcid.cli._terminal import MODELS, USUAL_MODEL, record, whole_number

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.io.rows import Rows, Unseen
    from xcid.io.sources import Roles, Source

MOST_SEED = 2**32 - 1  # what scikit-learn takes
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explained, as it was typed."""

    background: Path
    target: str | None
    weights: str | None
    id: str | None
    data: Path | None
    rows: str | None
    model: Path | None
    train: str | None
    trust: Sequence[str]
    unsafe_pickle: bool
    seed: int
    class_names: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def roles(self) -> Roles:
        """What columns are, beside features."""
        from xcid.io.sources import Roles

        return Roles(self.target, self.weights, self.id, self.drop, self.dates)

    @property
    def lesson(self) -> tuple[str, str, int]:
        """Target, kind and seed of a model that is trained here."""
        assert self.target is not None
        assert self.train is not None
        return self.target, self.train, self.seed


class Inputs(NamedTuple):
    """What is explained, read and checked."""

    model: Any
    background: Background
    rows: Rows


def add(parser: argparse.ArgumentParser, demos: Sequence[str] = ()) -> None:
    """Add the options that say what is explained: the same for every verb.

    Demos are tables that are there without a file: the first is taken where none is asked for.
    """
    table = "CSV, TSV, Parquet, Feather or JSON lines"
    parser.add_argument("table", nargs="?", type=Path, metavar="DATA", help=f"the same as --data: {table}")
    parser.add_argument("--data", type=Path, metavar="FILE", help="rows to explain (default: the reference data)")
    parser.add_argument(
        "--reference", "--background", dest="background", type=Path, metavar="FILE",
        help="what values are usual, ideally the training data (default: the rows to explain)",
    )  # fmt: skip
    if demos:
        parser.add_argument("--demo", choices=demos, help=f"a table that comes with xcid (default: {demos[0]})")
    parser.add_argument("--target", metavar="COLUMN", help="what the model predicts; left out of the features")
    parser.add_argument("--id", metavar="COLUMN", help="what names the rows; left out of the features")
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the reference rows; left out of the features")
    parser.add_argument(
        "--drop", type=_names, default=(), metavar="A,B", help="columns that are left out of the features"
    )
    parser.add_argument(
        "--dates", type=_names, default=(), metavar="A,B",
        help="columns of text that are read as dates, also for a model file; with --train, all unambiguous date "
        "columns are",
    )  # fmt: skip
    parser.add_argument("--rows", type=rows, metavar="ROWS", help=HELP)
    model = parser.add_mutually_exclusive_group()
    model.add_argument("--model", type=Path, metavar="FILE", help=".skops, .onnx, .json, .ubj, .txt (LightGBM), .cbm")
    model.add_argument(
        "--train", choices=MODELS, help=f"train one on the reference data instead (default: {USUAL_MODEL})"
    )
    parser.add_argument(
        "--class-names", type=_names, metavar="A,B", help="what the classes are called, in the order of the model's"
    )
    add_common(parser)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def add_workers(parser: argparse.ArgumentParser, who: str = "threads") -> None:
    """Add the option of verbs that explain many rows."""
    workers = whole_number(1, MOST_WORKERS)
    parser.add_argument("--workers", type=workers, default=1, metavar="N", help=f"{who} that explain rows at once")


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add the option of verbs that know the paper's setting."""
    parser.add_argument("--paper", action="store_true", help="the paper's setting: unsigned d1, nothing added")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that asks a model."""
    parser.add_argument(
        "--trust", nargs="+", action="extend", default=[], metavar="TYPE",
        help="types that a .skops file may contain; those of scikit-learn, XGBoost and LightGBM need no trust",
    )  # fmt: skip
    parser.add_argument(
        "--unsafe-pickle", action="store_true",
        help="load a .pkl, .pickle, .joblib or .sav model: this runs whatever code is in the file, with all your "
        "rights; only for files that you made yourself",
    )  # fmt: skip
    seed = whole_number(0, MOST_SEED - 1)
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same answer (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def subject_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Subject:
    """What is explained, of all that was typed; end with the usage where options do not go together."""
    if options.table is not None and options.data is not None:
        parser.error(f"give {options.table.name} or --data, not both")
    options.data = options.data or options.table
    if options.background is None:
        options.background, options.data = options.data, None
    if options.background is None:
        parser.error("give a table: --data FILE for the rows to explain, --reference FILE for what is usual, or both")
    if options.id is None and options.rows is not None and are_names(options.rows):
        parser.error(without_names(options.rows))
    choose_model(options)
    if options.train and not options.target:
        parser.error(
            "give --target COLUMN, which a model is trained to predict, or --model FILE, a model that you have"
        )
    named = [(what, getattr(options, what)) for what in ("target", "weights", "id")]
    for (what, column), (other, same) in combinations(named, 2):
        if column is not None and column == same:
            parser.error(f"{column} cannot be both the {other} and the {what}")
    for (what, column), option in product(named, ("drop", "dates")):
        if column in getattr(options, option):
            parser.error(f"{column} is the {what}: leave it out of --{option}")
    for column in set(options.drop).intersection(options.dates):
        parser.error(f"{column} is in both --drop and --dates: leave it out of one of them")
    return record(Subject, options)


def choose_model(options: argparse.Namespace) -> None:
    """Train the usual kind of model where none is given; ``--model forest`` means ``--train forest``."""
    if options.model is not None and options.model.name in MODELS and not options.model.exists():
        options.model, options.train = None, options.model.name
    if options.model is None and options.train is None:
        options.train = USUAL_MODEL


def read(
    subject: Subject,
    note: Callable[[str], None],
    most: int | None = None,
    check: Callable[[Background], None] = lambda background: None,
    tell: Callable[[Unseen], str] | None = None,
) -> Inputs:
    """Read the tables, refuse rows that cannot be explained, and get the model.

    Where no rows are asked for, a sample of at most so many is taken. ``check`` looks at the background before a model
    is trained on it. Cells that the reference data lack are told of as wanted, by default with the first of them.
    """
    from xcid.io.rows import Unseen

    with tried(subject) as passed:
        background = read_background(subject)
        check(background)
        found = read_rows(subject, background, most)
        for said in reading_notes(subject, background, found.source):
            note(said)
        unseen = found.check(background.space)
        passed(background.features)
        inputs = Inputs(model_for(subject, background, note), background, found)
    if unseen is not None:
        note((tell or Unseen.said)(unseen))
    n_rows = found.source.n_rows
    if subject.rows is None and len(found) < n_rows:
        note(f"taking {len(found):,} of {n_rows:,} rows, drawn at random; use --rows : for all")
    return inputs


def tried(subject: Subject) -> contextlib.AbstractContextManager[Callable[[Any], None]]:
    """Try the file of the model, if there is one, in a process of its own, which the block has to ask about rows."""
    from xcid.io import trial

    if subject.model is None:
        return contextlib.nullcontext(lambda features: None)
    return trial.tried(subject.model, subject.trust)


def read_background(subject: Subject) -> Background:
    """Read the reference data as a model from a file wants them, or as one that is trained on them does."""
    from xcid.io.readers import Background

    read = Background.read if subject.train is None else Background.to_train
    return read(subject.background, subject.roles)


def reading_notes(subject: Subject, background: Background, data: Source | None = None) -> Iterator[str]:
    """What a user should know of how the tables were read."""
    from xcid.io.readers import of_commas

    if subject.drop:
        yield f"left out of the features: {', '.join(subject.drop)}"
    yield from background.notes
    if subject.data is not None and data is not None:
        yield from of_commas(data)


def answers(subject: Subject, background: Background) -> tuple[str, ...]:
    """What a model that is trained on the background will answer: its classes, or one name for a number.

    Nothing is known of a model in a file.
    """
    if not subject.train:
        return ()
    from numpy import unique

    from xcid.io import tables, training
    from xcid.outcomes.classes import renamed

    target = tables.column_of(background.table, subject.lesson[0])
    if not training.is_classes(target):
        return ("output",)
    names = tuple(map(str, unique(training.labels(target)).tolist()))
    return names if subject.class_names is None else renamed(names, subject.class_names)


def read_rows(subject: Subject, background: Background, most: int | None = None) -> Rows:
    """Find the rows to explain, which are read when they are needed."""
    from xcid.io.rows import Rows

    source = background.opened(subject.data)
    if subject.rows is None:
        positions = sample(source.n_rows, most, subject.seed)
    else:
        positions = asked(subject, background, source.n_rows)
    return Rows(source, background.layout, positions)


def asked(subject: Subject, background: Background, n_rows: int) -> Sequence[int]:
    """Positions of the rows that were typed; a condition may be about any column of the file."""
    from xcid.io.readers import dated, opened
    from xcid.io.rows import names_of

    path = subject.data or subject.background
    names = None if subject.id is None else lambda: names_of(opened(path), background.layout)
    return chosen(subject.rows or ":", n_rows, lambda: dated(opened(path), background.writings), names)


def sample(size: int, most: int | None, seed: int) -> Sequence[int]:
    """Positions of all rows, or of as many as may be, in their order."""
    if most is None or size <= most:
        return range(size)
    from numpy.random import default_rng

    return tuple(sorted(default_rng(seed).permutation(size)[:most].tolist()))


def model_for(subject: Subject, background: Background, note: Callable[[str], None]) -> Any:
    """Load the model, or train one on the background; note how well it does, and what it should not have learnt."""
    from xcid.io import suspects, training

    if subject.model is not None:
        return loaded(subject, background.table)
    trained = training.train(background.table, *subject.lesson)
    note(trained.description)
    if judgement := training.judged(background.table, *subject.lesson):
        note(judgement)
    if subject.data is None:
        note(
            "the rows to explain are among those that it was trained on, where a model is more confident than elsewhere"
        )
    for warning in suspects.notes(background.table, subject.lesson[0], subject.id):
        note(warning)
    return trained.model


def loaded(subject: Subject, table: Any) -> Any:
    """Load the model that there is a file of; without a target, it must know all columns of its table."""
    from xcid.io import models, tables

    assert subject.model is not None
    model = models.load(subject.model, subject.trust, unsafe_pickle=subject.unsafe_pickle)
    if subject.target is None:
        tables.check_known(table, getattr(model, "feature_names_in_", None))
    return model


def settings(subject: Subject, background: Background) -> dict[str, Any]:
    """What an explainer is told of the reference rows and the classes."""
    return {"weights": background.weights, "class_names": subject.class_names}
