"""What verbs about a model and its table share: their options, and the way from these to objects."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xcid.cli._choices import MODELS
from xcid.cli._rows import chosen, rows

MOST_SEED = 2**32 - 1  # what scikit-learn takes
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What is explained.

    Attributes
    ----------
    model : object
    background, data : data frames
        Without the target.
    positions : range
        Rows of the data that are explained.
    """

    model: Any
    background: Any
    data: Any
    positions: range


def add(parser: argparse.ArgumentParser, train: str | None = None, demos: Sequence[str] = ()) -> None:
    """Add the options that say what is explained; a kind of model to train is what happens where none is asked for.

    Demos are tables that are there without a file: the first is taken where none is asked for.
    """
    table = "CSV, TSV, Parquet, Feather or JSON lines"
    parser.add_argument("--background", type=Path, required=not demos, metavar="FILE", help=f"usual rows: {table}")
    if demos:
        parser.add_argument("--demo", choices=demos, help=f"a table that comes with xcid (default: {demos[0]})")
    parser.add_argument("--target", metavar="COLUMN", help="what the model predicts; left out of the features")
    parser.add_argument("--data", type=Path, metavar="FILE", help="rows to explain (default: the background)")
    parser.add_argument("--rows", type=rows, default=slice(None), metavar="A:B", help="which of them: 5, 0:10, :3, -3:")
    model = parser.add_mutually_exclusive_group(required=train is None)
    model.add_argument("--model", type=Path, metavar="FILE", help=".skops, .onnx, .json, .ubj, .txt (LightGBM), .cbm")
    model.add_argument("--train", choices=MODELS, help=_train_help(train))
    add_common(parser)


def add_workers(parser: argparse.ArgumentParser, who: str = "threads") -> None:
    """Add the option of verbs that explain many rows."""
    parser.add_argument("--workers", type=_workers, default=1, metavar="N", help=f"{who} that explain rows at once")


def _workers(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MOST_WORKERS}, not {text!r}")
    return int(text)


def _train_help(default: str | None) -> str:
    return f"train one on the background instead{'' if default is None else f' (default: {default})'}"


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the options of every verb that asks a model."""
    parser.add_argument(
        "--trust", nargs="+", action="extend", default=[], metavar="TYPE",
        help="types that a .skops file may bring; those of scikit-learn, XGBoost and LightGBM need no trust",
    )  # fmt: skip
    parser.add_argument(
        "--unsafe-pickle", action="store_true",
        help="load a .pkl, .pickle, .joblib or .sav model: this runs whatever code is in the file, with all your "
        "rights; only for files that you made yourself",
    )  # fmt: skip
    parser.add_argument("--seed", type=_seed, default=0, help="the same seed gives the same answer (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= MOST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to {MOST_SEED - 1}")
    return int(text)


def check(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """End with the usage where options do not go together."""
    if options.train and not options.target:
        parser.error("--train needs --target, the column to learn")


def read(options: argparse.Namespace, note: Callable[[str], None]) -> Inputs:
    """Read the tables and get the model."""
    from xcid.files import cells, tables

    table, background = read_background(options)
    data = (
        background if options.data is None else cells.features(options.data, tables.read(options.data), options.target)
    )
    positions = chosen(options.rows, tables.size(data))
    if options.data is not None:
        cells.check_data(options.data, data, positions, background)
    return Inputs(model_for(options, table, note), background, data, positions)


def read_background(options: argparse.Namespace) -> tuple[Any, Any]:
    """Read the background: as it is, and without the target."""
    from xcid.files import cells, tables

    table = tables.read(options.background)
    if options.train:
        cells.check_target(options.background, table, options.target)
    background = cells.features(options.background, table, options.target)
    cells.check_background(options.background, background)
    return table, background


def model_for(options: argparse.Namespace, table: Any, note: Callable[[str], None]) -> Any:
    """Load the model, or train one on the table, which has the target among its columns."""
    from xcid.files import models, tables, training

    if options.model is not None:
        model = models.load(options.model, options.trust, unsafe_pickle=options.unsafe_pickle)
        if options.target is None:
            tables.check_columns(table, getattr(model, "feature_names_in_", None))
        return model
    trained = training.train(table, options.target, options.train, options.seed)
    note(trained.words)
    return trained.model
