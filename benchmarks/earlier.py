"""Search for counterfactuals with this version of xcid, or with an earlier one, and give both as the same plain record.

An earlier version is a checkout (``git worktree add CHECKOUT COMMIT``): a process of its own imports it and answers the
same questions about the same fitted models, so that one judge can judge both.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

Key = tuple[Any, ...]
Made = TypeVar("Made")


class Question(NamedTuple):
    """Rows of a table to change: to the other class, or to a probability of at least ``least`` of a class."""

    model: Any
    train: pd.DataFrame
    rows: pd.DataFrame
    rules: Mapping[str, Any] = {}
    wanted: str | None = None
    least: float = 0.5
    k: int = 3
    refits: tuple[Any, ...] = ()


class Answer(NamedTuple):
    """Lines of counterfactuals as arrays; fields that a version does not have are empty."""

    table: pd.DataFrame  # the changed rows
    row: npt.NDArray[np.int64]
    kind: npt.NDArray[np.str_]
    reached: npt.NDArray[np.bool_]
    n_changes: npt.NDArray[np.int64]
    distance: npt.NDArray[np.float64]
    was: npt.NDArray[np.float64]
    output: npt.NDArray[np.float64]
    about: npt.NDArray[np.str_]
    changed: tuple[tuple[tuple[str, float], ...], ...]  # names of columns that change, with their shares
    proof: npt.NDArray[np.str_]
    survival: npt.NDArray[np.float64]
    ms: float  # of the processor, a row

    def is_kind(self, kind: str) -> npt.NDArray[np.bool_]:
        """(m,) which lines have a title and reach what is wanted."""
        return self.reached & np.array([kind in one.split(" and ") for one in self.kind], dtype=bool)

    @property
    def is_nearest(self) -> npt.NDArray[np.bool_]:
        """(m,) the nearest lines of all, also where another is called the nearest that goes against no way."""
        of_all = self.is_kind("nearest of all")
        return np.asarray(of_all | (self.is_kind("nearest") & ~np.isin(self.row, self.row[of_all])), dtype=bool)


def answer(asked: Question) -> Answer:
    """Search with the xcid that is imported here."""
    import xcid
    from xcid import whatif

    settings: dict[str, Any] = {"refits": list(asked.refits)} if asked.refits else {}
    explainer: Any = xcid.Explainer(
        asked.model, asked.train, constraints=xcid.Constraints(**dict(asked.rules)), **settings
    )
    search = explainer.whatif if hasattr(explainer, "whatif") else explainer.counterfactuals
    target = None
    if asked.wanted is not None:
        between = getattr(whatif, "Between", None)
        target = between(asked.least, of=asked.wanted) if between else _within(asked)
    search(asked.rows.iloc[:1], target, asked.k)
    start = time.process_time()
    found = search(asked.rows, target, asked.k)
    ms, m = 1e3 * (time.process_time() - start) / len(asked.rows), len(found)
    changed = tuple(
        tuple((found.feature_names[at], float(found.shares[line, at])) for at in np.flatnonzero(found.moved[line]))
        for line in range(m)
    )
    return Answer(
        found.table().reset_index(drop=True), found.row, found.kind, found.reached, found.n_changes, found.distance,
        found.was, found.output, found.about, changed, getattr(found, "proof", np.full(m, "")),
        getattr(found, "survival", np.full(m, np.nan)), ms,
    )  # fmt: skip


def _within(asked: Question) -> Any:
    from xcid.outcomes import Within

    return Within(asked.least, target=asked.wanted)


def answer_all(questions: Mapping[Key, Question]) -> dict[Key, Answer]:
    """Search with this version."""
    return {key: answer(one) for key, one in questions.items()}


def ask_earlier(checkout: Path, questions: Mapping[Key, Question]) -> dict[Key, Answer]:
    """Search with the version of a checkout, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        asked, found = Path(folder) / "asked", Path(folder) / "found"
        asked.write_bytes(pickle.dumps(dict(questions)))
        paths = os.pathsep.join(map(str, (checkout.resolve() / "src", Path(__file__).parent)))
        run = "import earlier, sys; earlier.reply(*sys.argv[1:])"
        subprocess.run(
            [sys.executable, "-c", run, str(asked), str(found)], check=True, env={**os.environ, "PYTHONPATH": paths}
        )
        answers: dict[Key, Answer] = pickle.loads(found.read_bytes())
        return answers


def reply(asked: str, found: str) -> None:
    """Answer the questions of one file in another."""
    import logging

    logging.getLogger("xcid").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    Path(found).write_bytes(pickle.dumps(answer_all(pickle.loads(Path(asked).read_bytes()))))


def kept(folder: Path | None, name: str, make: Callable[[], Made]) -> Made:
    """What was made before and kept under a name in a folder, or what is made now."""
    if folder is None:
        return make()
    place = folder / f"{name}.pickle"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        place.write_bytes(pickle.dumps(make()))
    found: Made = pickle.loads(place.read_bytes())
    return found
