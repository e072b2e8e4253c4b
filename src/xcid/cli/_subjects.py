"""What verbs about a model and its table share: their options, and the objects behind these."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli._rows import HELP, are_names, describe_missing_id, find_positions, read_rows_option
from xcid.cli._terminal import MODELS, USUAL_MODEL, read_names, whole_number
from xcid.cli._wanted import CidOptions

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.io.readers import Background
    from xcid.io.rows import Rows, Unseen
    from xcid.io.sources import Roles, Source
    from xcid.subject import Subject
    from xcid.table import Constraints

MOST_SEED = 2**32 - 1  # what scikit-learn takes


@dataclass(frozen=True, slots=True)
class SubjectOptions:
    """What is explained, as it was typed."""

    reference: Path
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

    @classmethod
    def of(cls, options: argparse.Namespace) -> SubjectOptions:
        """The subject among all options."""
        return cls(**{field.name: getattr(options, field.name) for field in fields(cls)})

    @property
    def roles(self) -> Roles:
        """What columns are, beside features."""
        from xcid.io.sources import Roles

        return Roles(self.target, self.weights, self.id, self.drop, self.dates)

    @property
    def lesson(self) -> tuple[str, str, int]:
        """Target, kind and seed of a model that is trained here."""
        return self.target or "", self.train or "", self.seed


def add(parser: argparse.ArgumentParser, demos: Sequence[str] = ()) -> None:
    """Add the options that say what is explained: the same for every verb.

    Demos are tables that are there without a file: the first is taken where none is typed.
    """
    table = "CSV, TSV, Excel, Parquet, Feather or JSON lines"
    parser.add_argument("table", nargs="?", type=Path, metavar="DATA", help=f"the same as --data: {table}")
    parser.add_argument("--data", type=Path, metavar="FILE", help="rows to explain (default: the reference data)")
    parser.add_argument(
        "--reference", "--background", type=Path, metavar="FILE",
        help="what values are usual, ideally the training data (default: the rows to explain)",
    )  # fmt: skip
    if demos:
        parser.add_argument("--demo", choices=demos, help=f"a table that comes with xcid (default: {demos[0]})")
    parser.add_argument("--target", metavar="COLUMN", help="what the model predicts; left out of the features")
    parser.add_argument("--id", metavar="COLUMN", help="what names the rows; left out of the features")
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the reference rows; left out of the features")
    parser.add_argument("--drop", type=read_names, default=(), metavar="A,B", help="columns that are no features")
    parser.add_argument(
        "--dates", type=read_names, default=(), metavar="A,B",
        help="columns of text that are read as dates, also for a model file; with --train, all unambiguous date "
        "columns are",
    )  # fmt: skip
    parser.add_argument("--rows", type=read_rows_option, metavar="ROWS", help=HELP)
    model = parser.add_mutually_exclusive_group()
    model.add_argument("--model", type=Path, metavar="FILE", help=".skops, .onnx, .json, .ubj, .txt (LightGBM), .cbm")
    model.add_argument(
        "--train",
        choices=MODELS,
        help=f"train one on the reference data instead (default: {USUAL_MODEL}, which is boosting "
        "for more than 10,000 rows and else a forest)",
    )
    parser.add_argument(
        "--class-names", type=read_names, metavar="A,B",
        help="what the classes are called, in the order of the model's; or the targets of a regressor with several, of "
        "which --target names the one to explain",
    )  # fmt: skip
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
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same scores (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def subject_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> SubjectOptions:
    """What is explained, of all that was typed; end with the usage where options do not go together."""
    if options.table is not None and options.data is not None:
        parser.error(f"give {options.table.name} or --data, not both")
    options.data = options.data or options.table
    if options.reference is None:
        options.reference, options.data = options.data, None
    if options.reference is None:
        parser.error("give a table: --data FILE for the rows to explain, --reference FILE for what is usual, or both")
    if options.id is None and options.rows is not None and are_names(options.rows):
        parser.error(describe_missing_id(options.rows))
    choose_model(options)
    if options.train and not options.target:
        parser.error("give --target COLUMN, which a model is trained to predict, or --model FILE, one that you have")
    named = [(what, getattr(options, what)) for what in ("target", "weights", "id")]
    for (what, column), (other, same) in combinations(named, 2):
        if column is not None and column == same:
            parser.error(f"{column} cannot be both the {other} and the {what}")
    for (what, column), option in product(named, ("drop", "dates")):
        if column in getattr(options, option):
            parser.error(f"{column} is the {what}: leave it out of --{option}")
    for column in set(options.drop).intersection(options.dates):
        parser.error(f"{column} is in both --drop and --dates: leave it out of one of them")
    return SubjectOptions.of(options)


def choose_model(options: argparse.Namespace) -> None:
    """Train the usual kind of model where none is given; ``--model forest`` means ``--train forest``."""
    if options.model is not None and options.model.name in MODELS and not options.model.exists():
        options.model, options.train = None, options.model.name
    if options.model is None and options.train is None:
        options.train = USUAL_MODEL


def read_inputs(
    subject: SubjectOptions,
    note: Callable[[str], None],
    most: int | None = None,
    check: Callable[[Background], None] = lambda background: None,
    describe: Callable[[Unseen], str] | None = None,
) -> tuple[Any, Background, Rows]:
    """Read the tables, refuse rows that cannot be explained, and get the model.

    Where no rows are typed, a sample of at most so many is taken. ``check`` looks at the reference data before a model
    is trained on them. ``describe`` makes the note on cells that these lack; by default it shows the first of them.
    """
    from xcid.io.rows import Unseen

    with try_model(subject) as call:
        background = read_reference(subject)
        check(background)
        found = find_rows(subject, background, most)
        for line in reading_notes(subject, background, found.source):
            note(line)
        unseen = found.check(background.space)
        call(background.features)
        model = get_model(subject, background, note)
    if unseen is not None:
        note((describe or Unseen.said)(unseen))
    if subject.rows is None and len(found) < found.source.n_rows:
        note(f"taking {len(found):,} of {found.source.n_rows:,} rows, drawn at random; use --rows : for all")
    return model, background, found


def try_model(subject: SubjectOptions) -> contextlib.AbstractContextManager[Callable[[Any], None]]:
    """Try the file of the model, if there is one, in a process of its own; the block has to call it with rows."""
    from xcid.io import trial

    if subject.model is None:
        return contextlib.nullcontext(lambda features: None)
    return trial.tried(subject.model, subject.trust)


def read_reference(subject: SubjectOptions) -> Background:
    """Read the reference data as a model from a file wants them, or as one that is trained on them does."""
    from xcid.io.readers import Background

    read = Background.read if subject.train is None else Background.to_train
    return read(subject.reference, subject.roles)


def reading_notes(subject: SubjectOptions, background: Background, data: Source | None = None) -> Iterator[str]:
    """What a user should know of how the tables were read."""
    from xcid.io.readers import of_commas, of_dates

    if subject.drop:
        yield f"left out of the features: {', '.join(subject.drop)}"
    yield from background.notes
    if subject.data is not None and data is not None:
        yield from of_commas(data)
        yield from of_dates(data, background.writings)


def output_names(subject: SubjectOptions, background: Background) -> tuple[str, ...]:
    """What a model that is trained on the reference data will predict: its classes, or one name for a number.

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


def find_rows(subject: SubjectOptions, background: Background, most: int | None = None) -> Rows:
    """Find the rows to explain, or where none are typed a sample of them; they are read when they are needed."""
    from xcid.io.rows import Rows

    source = background.opened(subject.data)
    positions: Sequence[int] = range(source.n_rows)
    if subject.rows is not None:
        positions = find_positions(subject, background, source.n_rows)
    elif most is not None and most < source.n_rows:
        from numpy.random import default_rng

        positions = tuple(sorted(default_rng(subject.seed).permutation(source.n_rows)[:most].tolist()))
    return Rows(source, background.layout, positions)


def get_model(subject: SubjectOptions, background: Background, note: Callable[[str], None]) -> Any:
    """Load the model, or train one on the reference data; note how well it does, and what it should not have learnt."""
    from xcid.io import suspects, training

    if subject.model is not None:
        return load_model(subject, background.table)
    trained = training.train(background.table, *subject.lesson)
    note(trained.description)
    if judgement := training.judged(background.table, *subject.lesson):
        note(judgement)
    if subject.data is None:
        known = "the rows to explain are among those that it was trained on"
        note(f"{known}, where a model is more confident than elsewhere")
    for warning in suspects.notes(background.table, subject.lesson[0], subject.id):
        note(warning)
    return trained.model


def load_model(subject: SubjectOptions, table: Any) -> Any:
    """Load the model that there is a file of; without a target, it must know all columns of its table."""
    from xcid.io import models, tables

    assert subject.model is not None
    model = models.load(subject.model, subject.trust, unsafe_pickle=subject.unsafe_pickle)
    if subject.target is None:
        tables.check_known(table, getattr(model, "feature_names_in_", None))
    return model


def naming_of(subject: SubjectOptions, model: Any) -> dict[str, Any]:
    """What the outputs are called; of a regressor with several targets, the one that --target names is explained."""
    from xcid.models.tables import is_regressor

    named = {"class_names": subject.class_names}
    is_target = subject.target in (subject.class_names or ()) and is_regressor(model)
    return named | {"target": subject.target} if is_target else named


def make_explainer(
    subject: SubjectOptions,
    model: Any,
    background: Background,
    cid: CidOptions | None = None,
    only: str | None = None,
    above: tuple[Any, float] | None = None,
    **settings: Any,
) -> Explainer:
    """Make the explainer, which knows the weights of the reference rows and what the classes are called.

    ``above`` are an outcome and its cut-off: only reference rows just above that are compared with.
    """
    known: dict[str, Any] = {"weights": background.weights, **naming_of(subject, model)}
    if cid is not None:
        from xcid.method import CID

        return CID(model, background.features, **asdict(cid), **known, **settings)
    from xcid.explainer import Explainer

    explainer = Explainer(model, background.features, **known, **settings)
    if above is not None:
        from xcid.models.refits import take_rows

        rows = explainer.just_above(background.features, *above)
        known |= {} if background.weights is None else {"weights": take_rows(background.weights, rows)}
        explainer = Explainer(model, take_rows(background.features, rows), **known, **settings)
    return explainer if only is None else explainer.without_importance()


def make_subject(subject: SubjectOptions, model: Any, background: Background, constraints: Constraints) -> Subject:
    """Make the subject of a search for changes that obey constraints, which needs no explainer."""
    from xcid._check import telling
    from xcid.errors import InvalidParameter
    from xcid.explainer import SETTINGS
    from xcid.models.predictor import Naming
    from xcid.subject import Subject

    named = naming_of(subject, model)
    naming = Naming(named["class_names"], named.get("target"))
    with telling(InvalidParameter, SETTINGS):
        return Subject.of(
            model, background.features, constraints=constraints, weights=background.weights, naming=naming
        )
