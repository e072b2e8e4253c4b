"""Models that were trained again, and what limits are over: how both are typed, and what becomes of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._subjects import SubjectOptions, try_model

if TYPE_CHECKING:
    from xcid.io.readers import Background

FEWEST = 2


class RefitOptions(NamedTuple):
    """Refits as they were typed: how often to train the model again, or files of models that were."""

    n: int = 0
    files: tuple[Path, ...] = ()

    @property
    def is_wanted(self) -> bool:
        """Whether there are any."""
        return bool(self.n or self.files)

    def make(
        self, subject: SubjectOptions, model: Any, background: Background, note: Callable[[str], None] = lambda _: None
    ) -> list[Any]:
        """Load the models, or train them on samples of the reference data."""
        if self.files:
            return [_load(subject, path, background) for path in self.files]
        return train_again(subject, model, background, self.n, note) if self.n else []


def _load(subject: SubjectOptions, path: Path, background: Background) -> Any:
    """One model from a file, which is tried in a process of its own first, as every model file is."""
    from xcid.cli._work import load_model

    one = replace(subject, model=path)
    with try_model(one) as call:
        call(background.features)
        return load_model(one, background.table)


def train_again(
    subject: SubjectOptions, model: Any, background: Background, n_refits: int, note: Callable[[str], None]
) -> list[Any]:
    """Train a model again so often, on samples of the reference data."""
    from xcid._check import silent
    from xcid.io import tables, training
    from xcid.models.refits import refits

    note(f"training the model again {n_refits} times")
    target = training.labels(tables.column_of(background.table, subject.lesson[0]))
    return refits(model, background.features, target, n_refits, seed=subject.seed, progress=silent)


def limit_settings(limits: str | None, refits: list[Any]) -> dict[str, Any]:
    """Settings of an explainer, of those about refits and limits that were asked for."""
    return {name: given for name, given in (("refits", refits), ("limits", limits)) if given}


def add_refits(parser: argparse.ArgumentParser) -> None:
    """Add the option for models that were, or are to be, trained again."""
    parser.add_argument(
        "--refits", nargs="+", default=[], metavar="N|FILE",
        help="train the model again N times, on samples of the reference data, to see what outlasts that (20 do); or "
        "files of models that you trained again",
    )  # fmt: skip


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add what 95% limits may be over, beside our own sampling."""
    add_refits(parser)
    parser.add_argument(
        "--limits", choices=("reference", "training"),
        help="95%% limits of contributions over other reference rows as well, or with --refits over trainings as well "
        "(default: over our own sampling)",
    )  # fmt: skip


def refits_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> RefitOptions:
    """The refits of what was typed; what follows their number is the table."""
    first, *others = options.refits or ["0"]
    if not first.isdecimal():
        if not others:
            parser.error(
                f"--refits {first}: one refit has no spread: give at least {FEWEST} files, or how many to train"
            )
        return RefitOptions(files=tuple(map(Path, options.refits)))
    if others and options.table is None:
        options.table = Path(others.pop(0))
    if others or (options.refits and int(first) < FEWEST):
        typed = " ".join([first, *others])
        parser.error(f"--refits {typed}: give a whole number of at least {FEWEST}, or files of models")
    return RefitOptions(int(first))


def check_refits(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """End with the usage where options of refits and limits do not go with others."""
    refits, limits = options.refits, getattr(options, "limits", None)
    if refits.n and options.subject.target is None:
        parser.error("--refits needs --target COLUMN, which the model is trained again to predict")
    if limits == "training" and not refits.is_wanted:
        parser.error("--limits training needs --refits 20, the models that were trained again")
    if (refits.is_wanted or limits) and getattr(options, "method", None) is not None:
        parser.error(f"--refits and --limits are about contributions, which {options.method} does not have")
    if (refits.is_wanted or limits) and getattr(options, "folder", None) is not None:
        parser.error("--refits and --limits go without --run: explain the rows that matter by themselves")
