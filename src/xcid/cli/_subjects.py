"""What is explained, as it is typed: a table, its rows (``5``, ``0:10``, ``-3:`` or a condition), and a model."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli._terminal import MODELS, USUAL_MODEL, read_names, whole_number
from xcid.errors import InvalidParameter

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.io.sources import Roles

MOST_SEED = 2**32 - 1  # what scikit-learn takes
HELP = "which rows: 0:10, 3,5,9, -3: or a condition on columns such as 'age > 60'; with --id also names of rows"
_PART = r"-?(0|[1-9]\d*)|-?\d*:-?\d*(:-?\d*)?"  # a number that begins with zeros is a name
_PLACES = re.compile(rf"({_PART})(,({_PART}))*")
_NAME = r"[^\s,<>=!'\"()\[\]`]+"
_NAMES = re.compile(rf"{_NAME}(,\s*{_NAME})*")
PLACES = "0:10 for the first ten, 3,5,9 for some, -3: for the last three"
MOST_BYTES = 10_000_000  # of a file of texts or rules
MOST_COMPARED = 10_000  # names that are looked through for one that was meant


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


def read_rows_option(text: str) -> str:
    """Check what is typed: positions, which count from 0, and below 0 from the end; a condition; or names of rows."""
    text = text.strip()
    if not (_PLACES.fullmatch(text) or _NAMES.fullmatch(text)):
        from xcid.io.conditions import condition

        try:
            condition(text)
        except InvalidParameter as error:
            places = "" if str(error).endswith("?") else f"; or places: {PLACES}"
            raise argparse.ArgumentTypeError(f"{error}{places}") from error
    return text


def are_names(text: str) -> bool:
    """Whether rows can only be meant by their names: the words are neither positions nor a condition."""
    return _NAMES.fullmatch(text) is not None and not _PLACES.fullmatch(text)


def describe_missing_id(text: str) -> str:
    """What is said where names of rows are typed and no column holds them."""
    what = f"--rows {text!r:.80} is neither places ({PLACES}) nor a condition (such as age > 60)"
    return f"{what}; to call rows by their names, name the column of these with --id"


def find_positions(subject: SubjectOptions, background: Background, n_rows: int) -> Sequence[int]:
    """Positions of the rows that were typed; a condition may be about any column of the file."""
    from xcid.io.readers import open_source, read_with_dates
    from xcid.io.rows import names_of

    path = subject.data or subject.reference
    names = None if subject.id is None else lambda: names_of(open_source(path), background.layout)
    frame = lambda: read_with_dates(open_source(path), background.writings)  # noqa: E731
    return select_rows(subject.rows or ":", n_rows, frame, names, subject.id or "")


def select_rows(
    text: str, size: int, frame: Callable[[], Any], names: Callable[[], Sequence[str]] | None = None, called: str = ""
) -> Sequence[int]:
    """Positions of the selected rows of a table, which must have some; only a condition needs its cells.

    ``called`` is the column that names rows.

    Examples
    --------
    >>> select_rows("-3:", 10, list), select_rows("3,5,9,3", 10, list), select_rows("b", 2, list, lambda: ["a", "b"])
    (range(7, 10), (3, 5, 9), (1,))
    """
    if are_names(text):
        if names is None:
            raise InvalidParameter(describe_missing_id(text))
        return _find_names([part.strip() for part in text.split(",")], names())
    if not _PLACES.fullmatch(text):
        from xcid.io.conditions import rows_where

        found: Sequence[int] = rows_where(text, frame())
        if not found:
            raise InvalidParameter(f"--rows {text!r:.80} holds for none of the {size:,} rows")
        return _as_range(found)
    parts = [_read_places(part, size) for part in text.split(",")]
    empty = next((part for part, positions in zip(text.split(","), parts, strict=True) if not positions), None)
    if empty is not None:
        known = f"the {size:,} rows, whose positions go from 0 to {size - 1}"
        column = called if called.isidentifier() else f"`{called}`"
        advice = f"; to find a number in the column of --id, type a condition such as '{column} == {empty}'"
        named = "" if names is None or not empty.isdigit() else advice
        raise InvalidParameter(f"--rows {empty} selects none of {known}{named}")
    return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(row for part in parts for row in part))


def _find_names(typed: Sequence[str], names: Sequence[str]) -> Sequence[int]:
    """Positions of the rows with some names, which all must be there."""
    from xcid._check import meant

    wanted = set(typed)
    found = tuple(row for row, name in enumerate(names) if name in wanted)
    known = {names[row] for row in found}
    for name in typed:
        if name not in known:
            close = meant(name, names[:MOST_COMPARED])
            raise InvalidParameter(f"--rows {name!r:.80} is the name of none of the {len(names):,} rows{close}")
    return found


def _read_places(part: str, size: int) -> range:
    if ":" not in part:
        return range(size)[int(part) : int(part) + 1 or None]
    where = slice(*(int(number) if number else None for number in part.split(":")))
    if where.step == 0:
        raise InvalidParameter("rows cannot be counted in steps of 0")
    return range(size)[where]


def _as_range(rows: Sequence[int]) -> Sequence[int]:
    """Neighbours as a range; else a tuple."""
    whole = range(rows[0], rows[-1] + 1)
    return whole if len(whole) == len(rows) else tuple(rows)


def read_small(path: Path, readers: Mapping[str, Callable[[str], Any]], what: str) -> Any:
    """The content of a file by the reader of its extension."""
    from xcid._check import telling
    from xcid.errors import InvalidFile
    from xcid.io.tables import absent

    if path.suffix.lower() not in readers:
        raise InvalidFile(f"{path} cannot be read: {what} are in a {' or '.join(readers)} file")
    with telling(InvalidFile, f"{path} cannot be read"):
        if not path.exists():
            raise InvalidFile(absent(path))
        if path.stat().st_size > MOST_BYTES:
            raise InvalidFile(f"{path} cannot be read: it has more than {MOST_BYTES:,} bytes")
        return readers[path.suffix.lower()](path.read_text(encoding="utf-8"))


def naming_of(subject: SubjectOptions, model: Any) -> dict[str, Any]:
    """What the outputs are called; of a regressor with several targets, the one that --target names is explained."""
    from xcid.models.tables import is_regressor

    named = {"class_names": subject.class_names}
    is_target = subject.target in (subject.class_names or ()) and is_regressor(model)
    return named | {"target": subject.target} if is_target else named


def try_model(subject: SubjectOptions) -> contextlib.AbstractContextManager[Callable[[Any], None]]:
    """Try the file of the model, if there is one, in a process of its own; the block has to call it with rows."""
    from xcid.io import trial

    if subject.model is None:
        return contextlib.nullcontext(lambda features: None)
    return trial.try_file(subject.model, subject.trust)
