"""A table in two parts: rows that a model may know, and rows to explain."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._choices import MODELS

if TYPE_CHECKING:
    from xcid.cli.compare import Options

TEST_SHARE = 0.2


class Split(NamedTuple):
    """A model, the rows it may know, rows to explain, and a text that says what they are."""

    model: Any
    train: Any
    rows: Any
    description: str


def split(options: Options) -> Split:
    """Hold out a fifth of the rows; a model that is trained has not seen them."""
    import numpy as np

    from xcid.files import models, readers, tables, training

    table = readers.read(options.data)
    n_rows = tables.size(table)
    shuffled = np.random.default_rng(options.seed).permutation(n_rows)
    n_test = max(1, round(TEST_SHARE * n_rows))
    test, known = shuffled[:n_test].tolist(), sorted(shuffled[n_test:].tolist())
    features = tables.without(table, options.target)
    train = tables.part(features, known)
    fit, passed_over = _fit(train, features, test, options.rows)
    if options.model in MODELS:
        assert options.target is not None
        model, text = training.train(tables.part(table, known), options.target, options.model, options.seed)
    else:
        model = models.load(Path(options.model), options.trust, unsafe_pickle=options.unsafe_pickle)
        text = f"{options.model} with {len(known):,} rows as background"
    text = f"{text}; {len(fit)} others explained"
    if passed_over:
        text += f" ({passed_over} passed over, with levels or missing cells that the {len(known):,} rows do not have)"
    return Split(model, train, tables.part(features, fit), text)


def _fit(train: Any, features: Any, test: list[int], most: int) -> tuple[list[int], int]:
    """Rows that can be explained against the training rows, and how many before them cannot."""
    from xcid.errors import InvalidData
    from xcid.files.tables import part
    from xcid.space import FeatureSpace

    space = FeatureSpace.of(train)
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
