"""What verbs about a model and its table share: their options, the objects behind these, and explanations of rows."""

from __future__ import annotations

import argparse
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._terminal import MODELS, chosen, record, rows, whole_number

if TYPE_CHECKING:
    from xcid.cli._terminal import Progress
    from xcid.explainer import Explainer
    from xcid.files.readers import Background
    from xcid.files.rows import Rows
    from xcid.records import Explanation

MOST_SEED = 2**32 - 1  # what scikit-learn takes
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explained, as it was typed."""

    background: Path
    target: str | None
    weights: str | None
    data: Path | None
    rows: slice
    model: Path | None
    train: str | None
    trust: Sequence[str]
    unsafe_pickle: bool
    seed: int

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


def add(parser: argparse.ArgumentParser, train: str | None = None, demos: Sequence[str] = ()) -> None:
    """Add the options that say what is explained; a kind of model to train is what happens where none is asked for.

    Demos are tables that are there without a file: the first is taken where none is asked for.
    """
    table = "CSV, TSV, Parquet, Feather or JSON lines"
    parser.add_argument("--background", type=Path, required=not demos, metavar="FILE", help=f"reference data: {table}")
    if demos:
        parser.add_argument("--demo", choices=demos, help=f"a table that comes with xcid (default: {demos[0]})")
    parser.add_argument("--target", metavar="COLUMN", help="what the model predicts; left out of the features")
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the reference rows; left out of the features")
    parser.add_argument("--data", type=Path, metavar="FILE", help="rows to explain (default: the reference data)")
    parser.add_argument("--rows", type=rows, default=slice(None), metavar="A:B", help="which of them: 5, 0:10, :3, -3:")
    model = parser.add_mutually_exclusive_group(required=train is None)
    model.add_argument("--model", type=Path, metavar="FILE", help=".skops, .onnx, .json, .ubj, .txt (LightGBM), .cbm")
    default = "" if train is None else f" (default: {train})"
    model.add_argument("--train", choices=MODELS, help=f"train one on the reference data instead{default}")
    add_common(parser)


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
        help="types that a .skops file may bring; those of scikit-learn, XGBoost and LightGBM need no trust",
    )  # fmt: skip
    parser.add_argument(
        "--unsafe-pickle", action="store_true",
        help="load a .pkl, .pickle, .joblib or .sav model: this runs whatever code is in the file, with all your "
        "rights; only for files that you made yourself",
    )  # fmt: skip
    seed = whole_number(0, MOST_SEED - 1)
    parser.add_argument("--seed", type=seed, default=0, help="the same seed gives the same answer (default: 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def subject_of(options: argparse.Namespace, parser: argparse.ArgumentParser, train: str | None = None) -> Subject:
    """What is explained, of all that was typed; end with the usage where options do not go together."""
    if options.model is None and options.train is None:
        options.train = train
    if options.train and not options.target:
        parser.error("--train needs --target, the column to learn")
    if options.weights and options.weights == options.target:
        parser.error(f"{options.weights} cannot be both the weights and the target")
    return record(Subject, options)


def read(subject: Subject, note: Callable[[str], None]) -> Inputs:
    """Read the tables, refuse rows that cannot be explained, and get the model."""
    with tried(subject) as passed:
        background = read_background(subject)
        found = read_rows(subject, background)
        found.check(background.space)
        passed(background.features)
        return Inputs(model_for(subject, background, note), background, found)


def tried(subject: Subject) -> contextlib.AbstractContextManager[Callable[[Any], None]]:
    """Try the file of the model, if there is one, in a process of its own, which the block has to ask about rows."""
    from xcid.files import trial

    if subject.model is None:
        return contextlib.nullcontext(lambda features: None)
    return trial.tried(subject.model, subject.trust)


def read_background(subject: Subject) -> Background:
    """Read the background; a model that is trained on it needs a target in every row."""
    from xcid.files.readers import Background

    background = Background.read(subject.background, subject.target, subject.weights)
    if subject.train:
        background.check_target()
    return background


def read_rows(subject: Subject, background: Background) -> Rows:
    """Find the rows to explain, which are read when they are needed."""
    from xcid.files.rows import Rows

    source = background.opened(subject.data)
    return Rows(source, background.layout, chosen(subject.rows, source.n_rows))


def model_for(subject: Subject, background: Background, note: Callable[[str], None]) -> Any:
    """Load the model, or train one on the background."""
    from xcid.files import models, tables, training

    if subject.model is not None:
        model = models.load(subject.model, subject.trust, unsafe_pickle=subject.unsafe_pickle)
        if subject.target is None:
            tables.check_known(background.table, getattr(model, "feature_names_in_", None))
        return model
    trained = training.train(background.table, *subject.lesson)
    note(trained.description)
    return trained.model


def explained(
    explainer: Explainer, rows: Rows, seed: int, size: int, workers: int, progress: Progress
) -> Iterator[Explanation]:
    """Explain so many rows at a time, and warn of those that failed or lack perturbations.

    A row has the same scores in whatever piece it is.
    """
    from dataclasses import replace

    import numpy as np

    from xcid._faults import first_reason, overheard, refuse_one_side
    from xcid.engines import Threads

    one_side: list[str] = []
    explainer = explainer.but(one_sided=one_side.append)  # other pieces may have flips
    size = size if workers == 1 else max(size, workers * explainer.setup.rows_at_once)
    statuses: Counter[str] = Counter()
    reason, pieces = "", list[tuple[set[str], str]]()
    progress(0, len(rows))
    for chunk in rows.chunks(size):
        with overheard() as said:
            explanation = Threads(workers)(explainer, chunk.frame, seed=seed)
        explanation = replace(explanation, index=np.array(chunk.positions))
        statuses.update(explanation.status.tolist())
        reason = reason or first_reason(explanation, said)
        pieces.append((set(explanation.status.tolist()), one_side.pop() if one_side else ""))
        progress(statuses.total(), len(rows))
        yield explanation
    refuse_one_side(pieces)
    note_statuses(statuses, reason)


def note_statuses(statuses: Counter[str], reason: str) -> int:
    """Warn of all rows that are not as they should be, and say why the first that failed did; how many failed."""
    from xcid.errors import warn
    from xcid.records.status import UNKNOWN, meaning

    found = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()) if status != "ok")
    if found:
        n_rows, why = statuses.total(), f"; the first that failed is {reason}" if reason else ""
        if not statuses["ok"]:
            why = f": {meaning(statuses.most_common(1)[0][0])}{why}"
        warn(f"{n_rows - statuses['ok']:,} of {n_rows:,} rows do not have the status ok ({found}){why}")
    return sum(statuses[status] for status in UNKNOWN)
