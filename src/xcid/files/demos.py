"""The tables that ship with the package, with a model for each: something to look at without any file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid import datasets
from xcid.files import tables, training

LOADERS = {"diabetes": datasets.load_diabetes, "heart": datasets.load_heart}
TITLES = {"diabetes": "Who has diabetes", "heart": "Who has heart disease"}
TARGET = "answer"


class Demo(NamedTuple):
    """A model that was trained on four fifths of a table, and the other rows."""

    model: Any
    background: Any
    data: Any
    positions: list[int]  # where the rows of the data are in the table
    title: str
    note: str  # what the model is and how well it does
    descriptions: Mapping[str, str]  # what features mean


def demo(name: str, kind: str, seed: int) -> Demo:
    """Train a model of a kind on most of a table."""
    table = LOADERS[name](tables.library())
    order = np.random.default_rng(seed).permutation(len(table.target))
    held, rest = (np.sort(part).tolist() for part in np.split(order, [len(order) // 5]))
    answers = np.array(table.target_names)[table.target]
    background, data = tables.part(table.data, rest), tables.part(table.data, held)
    trained = training.train(_with(background, answers[rest].tolist()), TARGET, kind, seed)
    right = np.mean(np.asarray(trained.model.predict(data)).ravel() == answers[held])
    kept = f"it gets {right:.0%} of the other {len(held)} rows right, which are those to pick from"
    note = f"{trained.description.partition(' for ')[0]}; {kept}. Table: {table.source}"
    return Demo(trained.model, background, data, held, TITLES[name], note, table.descriptions)


def _with(frame: Any, answers: list[str]) -> Any:
    narwhal = nw.from_native(frame, eager_only=True)
    column = nw.new_series(TARGET, answers, nw.String, backend=narwhal.implementation)
    return nw.maybe_reset_index(narwhal).with_columns(column).to_native()
