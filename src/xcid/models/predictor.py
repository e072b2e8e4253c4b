"""The checked call, and how to come to it from any model."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._check import LOG, describe_error, telling, warn
from xcid._kernels.arrays import thinned
from xcid.errors import ModelError, XcidError
from xcid.models.libraries import ADAPTERS, Adapted, is_instance
from xcid.models.tables import USUAL_NAMING, Cells, Naming, Reader, as_trained, choose_reader
from xcid.records import Array, Flags, Plan
from xcid.table import FeatureSpace

if TYPE_CHECKING:
    from xcid.native import Native

MIXED = 220  # mixtures of reference rows that are read and predicted
FEW = 16  # rows that are predicted again where no digest tells whether a model has changed
TRIED = 22  # rows that are predicted three times: together, together again, and in parts
NEAR = 1e-6  # relative to the largest output
LARGEST = 1e38  # cells that single precision holds
EXACT = 1e-9  # the same, of a model that is read from inside
RANDOM = (
    "the model is not deterministic: {rows} reference rows got another output when called again (by up to {gap:.3g}), "
    "so explanations will not repeat: switch its randomness off or fix its seed"
)
DEPENDENT = (
    "the model's output for a row depends on the other rows of the call: {rows} reference rows got another output in "
    "a smaller call (by up to {gap:.3g}), so explanations depend on how rows are put together: give a model that "
    "predicts each row by itself"
)


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """The model behind a checked call: a matrix becomes a table, and what the model predicts is read."""

    call: Callable[[Any], Any]  # the model's own function
    decode: Callable[[Array], Any]  # from a matrix to the kind of table that the model was trained on
    read: Reader  # from raw predictions to (n, k) numbers: one column a class, or the one of a regression
    max_rows: int  # in one call
    precision: float = 0.0  # of the numbers that the model predicts
    native: Native | None = None  # the same model, read from inside; `Subject.current` says whether it still is

    def __call__(self, matrix: Array) -> Array:
        """Predict an (n, d) matrix; every output is checked."""
        starts = range(0, len(matrix), self.max_rows)
        blocks = (matrix[start : start + self.max_rows] for start in starts)
        parts = [self.checked(_raw(self.call, self.decode(rows), len(rows)), rows) for rows in blocks]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read from inside in the time in which the model predicts some."""
        return self.native is not None and self.native.is_quick

    def own(self, matrix: Array) -> Array:
        """Predict an (n, d) matrix of a few rows, by what was read where that is as good as a call.

        Models are called with rows that have missing or huge cells: they may refuse them.
        """
        if self.native is None or not (np.abs(matrix) < LARGEST).all():
            return self(matrix)
        return self.native.outputs(matrix)

    def deciding(self, model: Any, space: FeatureSpace) -> Predictor:
        """The same call for tables of another space, which has more levels or missing cells."""
        call, decode = find_call(model, space)
        return replace(self, call=call, decode=decode, native=None)

    def reads(self, rows: Array, space: FeatureSpace) -> Flags:
        """(n,) rows for which what was read gives what the model predicts, for them and for mixtures with a space's.

        The model is called with all of them at once, and where it refuses some, with halves.
        """
        if self.native is None or not len(rows):
            return np.zeros(len(rows), dtype=bool)
        samples = np.concatenate([rows[:, None], _trial(space).samples(rows)], axis=1).reshape(-1, rows.shape[1])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                both = self(samples), self.native.outputs(samples)
        except Exception:  # of the model, or of a step before it: it says so where it is called in earnest
            if len(rows) == 1:
                return np.zeros(1, dtype=bool)
            return np.concatenate([self.reads(part, space) for part in np.array_split(rows, 2)])
        called, read = (found.reshape(len(rows), -1) for found in both)
        gap, size = np.abs(read - called).max(axis=1), np.abs(called).max(axis=1)
        return np.asarray(gap <= max(EXACT, 10 * self.precision) * np.maximum(1.0, size))

    def planned(self, plan: Plan, n_rows: int) -> Callable[[Array], Array] | None:
        """From rows to the (n, s, k) outputs of all samples of a plan of their columns; None where it has to be called.

        So it is where the model cannot be read from inside, or where a call with so few rows is faster.
        """
        if self.native is None or n_rows < self.native.fewest_rows:
            return None
        return self.native.planned(plan)

    def checked(self, predictions: Cells, matrix: Array) -> Array:
        """Read raw predictions of an (n, d) matrix."""
        with telling(ModelError, "the model's outputs cannot be read"):
            outputs = self.read(predictions)
        if not np.isfinite(outputs).all():
            row = int(np.argwhere(~np.isfinite(outputs))[0, 0])
            raise ModelError(
                f"the model gave {outputs[row].tolist()} for row {row} of {len(matrix)}: "
                "every output must be a finite number"
            )
        return outputs


def _read(model: Any, predict: Predictor, space: FeatureSpace) -> Native | None:
    """Read a model from inside, where that gives what the model predicts for mixtures of reference rows."""
    from xcid.native import read

    coded = {column.name: len(column.levels) for column in space.columns if column.levels or column.unit}
    try:
        native = read(model, space.names, predict.decode, coded)
        return native if native is not None and agrees(native, predict, space) else None
    except Exception as error:
        LOG.info("the model is called, since it cannot be read from inside: %s", describe_error(error))
        return None


def agrees(native: Native, predict: Predictor, space: FeatureSpace) -> bool:
    """Whether what was read gives what the model predicts, for reference rows and for mixtures of them."""
    rows = space.rows[thinned(len(space.rows), TRIED)]
    mixtures = _trial(space).samples(rows).reshape(-1, rows.shape[1])
    rows = np.concatenate([rows, mixtures[thinned(len(mixtures), MIXED)]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        called = predict(rows)
    gap = float(np.abs(native.outputs(rows) - called).max())
    if gap <= max(EXACT, 10 * predict.precision) * max(1.0, float(np.abs(called).max())):
        return True
    LOG.info("the model is called, since it predicts otherwise than what is read from inside, by up to %.3g", gap)
    return False


def _trial(space: FeatureSpace) -> Plan:
    """A small plan: halves of reference rows."""
    donors = space.rows[thinned(len(space.rows), TRIED)][::-1]
    width = donors.shape[1]
    masks = np.add.outer(np.arange(len(donors)), np.arange(width)) % 3 == 0
    none, all_of_it = np.zeros(width, dtype=bool), np.ones(width, dtype=bool)
    columns = tuple((column,) for column in range(width))
    return Plan(masks, all_of_it, none, donors, donors[:0], donors[:0], space.rows, columns)


def wrap(
    model: Any, space: FeatureSpace, memory: int, *, is_readable: bool = True, naming: Naming = USUAL_NAMING
) -> tuple[Predictor, Array]:
    """Find out how to call a model and how to read what it predicts; give its outputs for the rows of the space, too.

    A model has ``predict_proba`` or ``predict``, or is a callable. It may predict class probabilities (n, k),
    labels (n,), the probability of the second class (n,) (a callable whose outputs lie in [0, 1]), or one number a row
    (n,), as a regression. Those of :mod:`xcid.models.libraries` are called in their own way. One call takes about
    ``memory`` bytes. A model that is not ``is_readable`` is called, though it could be read from inside.
    """
    given = model
    model, decode = adapt(model, space) or (model, as_trained(model, space))
    call = _way(model)
    max_rows = max(1, memory // (64 * len(space.names)))
    sample = space.rows[:max_rows]
    try:
        predictions = _raw(call, decode(sample), len(sample))
    except ModelError as error:
        raise ModelError(f"{error}{_hint(space)}") from error.__cause__
    precision = float(np.finfo(predictions.dtype).eps) if predictions.dtype.kind == "f" else 0.0
    is_module = is_instance(given, "torch", "Module")
    predict = Predictor(call, decode, choose_reader(model, predictions, is_module, naming), max_rows, precision)
    predict = replace(predict, native=_read(given, predict, space) if is_readable else None)
    if predict.native is None:  # what is read gives what the model predicts, always the same
        preflight(predict, space.rows, len(predict.read.names), precision)
    rest = space.rows[max_rows:]
    outputs = predict.checked(predictions, sample)
    return predict, np.concatenate([outputs, predict(rest)]) if len(rest) else outputs


def find_call(model: Any, space: FeatureSpace) -> tuple[Callable[[Any], Any], Callable[[Array], Any]]:
    """How to call a model with tables of a space, and how to make them."""
    model, decode = adapt(model, space) or (model, as_trained(model, space))
    return _way(model), decode


def adapt(model: Any, space: FeatureSpace) -> Adapted | None:
    """A model that can be called and how to make its tables, or None where the model needs no help."""
    for (package, name), adapt in ADAPTERS.items():
        if is_instance(model, package, name):
            with telling(ModelError, f"this {package}.{type(model).__name__} cannot be called"):
                return adapt(model, space)
    return None


def _way(model: Any) -> Callable[[Any], Any]:
    ways = (getattr(model, "predict_proba", None), getattr(model, "predict", None), model)
    call = next(filter(callable, ways), None)
    if call is None:
        raise ModelError(f"a model needs predict_proba, predict or a call; {type(model).__name__} has none of them")
    return call


def _hint(space: FeatureSpace) -> str:
    """What a model often cannot take."""
    missing = [name for name, share in zip(space.names, space.missing, strict=True) if share > 0]
    levels = [column.name for column in space.columns if column.levels]
    notes = [f"missing cells in {missing}"] * bool(missing) + [f"levels in {levels}"] * bool(levels)
    return f" (the reference data have {' and '.join(notes)})" if notes else ""


def _raw(call: Callable[[Any], Any], table: Any, n_rows: int) -> Cells:
    try:
        found = call(table)
        n_masked = int(np.sum(np.ma.getmaskarray(found))) if np.ma.is_masked(found) else 0
        predictions = np.array(found)  # a copy: some models predict into one buffer time and again
    except XcidError:
        raise
    except (Exception, SystemExit) as error:  # a model that ends the process is a failing model
        raise ModelError(
            f"the model failed on {n_rows} row{'' if n_rows == 1 else 's'}: {describe_error(error)}"
        ) from error
    if n_masked:
        raise ModelError(f"the model masked {n_masked} of its outputs for {n_rows} rows: every one must be a value")
    if predictions.ndim not in (1, 2) or predictions.shape[0] != n_rows:
        raise ModelError(
            f"the model gave outputs of shape {predictions.shape} for {n_rows} rows: "
            f"it must be ({n_rows}, number of classes) or ({n_rows},)"
        )
    return predictions


def see(model: Any, predict: Predictor, space: FeatureSpace) -> Array | None:
    """What a model predicts now for a few reference rows by themselves, by the methods that it has now."""
    try:
        return predict.deciding(model, space)(space.rows[thinned(len(space.rows), FEW)])
    except Exception:  # a model that fails fails again when it is called in earnest
        return None


def is_near(found: Array, known: Array, precision: float) -> bool:
    """Whether (n, k) outputs are the same but for rounding, of a model of some machine precision."""
    gap, most = np.abs(found - known), np.fmax(np.abs(found), np.abs(known)).max(axis=0)
    return bool(np.all(gap <= max(NEAR, 100 * precision) * most))


def preflight(predict: Callable[[Array], Array], reference: Array, n_outputs: int, precision: float) -> None:
    """Warn about a model whose output for a row changes from call to call or with the rows beside it.

    Where the model fails there is nothing to compare, and the error comes with a call in earnest. ``precision`` is the
    machine precision of its outputs: a network in single precision may differ by some units of it.
    """
    rows, tolerance = reference[:TRIED], max(NEAR, 100 * precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a model says of these few rows it says again of others
        first, again = (_predict_or_nan(predict, rows, n_outputs) for _ in range(2))
        parts = np.split(rows, [1, 1 + len(rows) // 2])  # the first row alone, and two halves of the rest
        split = np.concatenate([_predict_or_nan(predict, part, n_outputs) for part in parts if len(part)])
    for other, message in ((again, RANDOM), (split, DEPENDENT)):
        gaps = np.abs(first - other)
        scale = np.fmax(np.abs(first), np.abs(other)).max(axis=0)
        changed = np.any(gaps > tolerance * scale, axis=1)  # never a row that got no output
        if changed.any():
            warn(message.format(rows=f"{changed.sum()} of {len(rows)}", gap=np.nanmax(gaps)))
            return


def _predict_or_nan(predict: Callable[[Array], Array], rows: Array, n_outputs: int) -> Array:
    """Outputs of the rows; NaN where the model fails, as some do on a single row."""
    try:
        return predict(rows)
    except ModelError:
        return np.full((len(rows), n_outputs), np.nan)
