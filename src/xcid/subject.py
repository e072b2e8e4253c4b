"""What is explained: a table and the model behind a checked call. Explainer, baselines and metrics share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcid._kernels.arrays import spread
from xcid.errors import ModelError, telling
from xcid.models import Predictor, names_for, wrap
from xcid.outcomes.classes import renamed
from xcid.records import Array, Explanation
from xcid.table import Constraints, Features, FeatureSpace, Kind, Rules

MEMORY = 2**28  # bytes that one call of the model may take


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model and the table that it is explained on."""

    model: Any  # as the user gave it
    space: FeatureSpace  # the columns of the table
    features: Features  # what is perturbed and scored: columns, and groups of columns
    predict: Predictor
    outputs: Array  # (N, k) of the background
    rules: Rules  # for counterfactuals
    constraints: Constraints  # that all of this obeys

    @classmethod
    def of(
        cls,
        model: Any,
        background: Any,
        feature_names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        constraints: Constraints | None = None,
        memory: int = MEMORY,
        weights: Any = None,
        class_names: Sequence[str] | Mapping[Any, str] | None = None,
    ) -> Subject:
        """Learn what the table holds, and try the model on it."""
        limits = Constraints() if constraints is None else constraints
        with telling(ModelError, f"this {type(model).__name__} cannot be asked"):
            names = names_for(model, background, feature_names)
        space = FeatureSpace.of(background, names, kinds, limits, weights)
        features, rules = Features.of(space, limits), limits.rules(space.columns, space.rows)
        with telling(ModelError, f"this {type(model).__name__} cannot be asked"):
            predict, outputs = wrap(model, space, memory)
        if class_names is not None:
            read = replace(predict.read, names=renamed(predict.read.names, class_names))
            predict = replace(predict, read=read)
        return cls(model, space, features, predict, outputs[space.copied], rules, limits)

    def with_room(self, space: FeatureSpace) -> Subject:
        """The same model and table, with room for rows that hold what the table does not."""
        rules = replace(self.rules, columns=space.columns)
        return replace(self, space=space, predict=self.predict.deciding(self.model, space), rules=rules)

    @property
    def record(self) -> dict[str, str]:
        """What was chosen about the table, for records of settings."""
        return self.space.weighting | self.constraints.record

    @property
    def output_names(self) -> tuple[str, ...]:
        """The classes, or "output" for a regression."""
        return self.predict.read.names

    @property
    def is_regression(self) -> bool:
        """One number a row, no classes."""
        return self.outputs.shape[1] == 1

    def explanation(self, rows: Array, outputs: Array, index: Any = None, **known: Any) -> Explanation:
        """An explanation of (n, d) rows with (n, k) outputs: what the table says of them, and what else is known."""
        columns = self.space.columns
        return Explanation(
            feature_status=self.features.status(self.features.fold(rows)),
            feature_names=self.features.names,
            data=rows,
            column_names=self.space.names,
            outputs=outputs,
            output_names=self.output_names,
            levels=tuple(tuple(str(level) for level in column.levels) for column in columns),
            units=tuple(column.unit for column in columns),
            scales=tuple(self.space.scales.tolist()),
            output_scales=tuple(spread(self.outputs).tolist()),
            index=np.arange(len(rows)) if index is None else index,
            features=self.features.columns,
            **known,
        )
