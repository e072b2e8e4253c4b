"""What contributions are about, and the scale that they add up on: log odds, margins, a probability, or a number.

Margins are log odds of a class against one other, its strongest rival in the row. Boosted trees and linear models of
several classes add up there, and not in log odds of a class against all others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from xcid._kernels.arrays import namespace, ratio, spread
from xcid.contributions import sampled
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.outcomes.classes import CLOSE, are_probabilities, class_names, column_of, least_probability
from xcid.outcomes.protocol import as_question
from xcid.records import Array, Estimate, Explanation, Integers, Outcome, Perturbations, Plan, fields

if TYPE_CHECKING:
    from xcid.table import FeatureSpace

Name: TypeAlias = Literal["log_odds", "margins", "probability", "number"]
FARTHEST = 34.0  # log odds beyond this lose their digits where the larger probability is held in double precision
BASES = {"log_odds": "base_log_odds", "margins": "base_margins"}
TINY = float(np.finfo(np.float64).tiny)
LOST = {"log_odds": (1e-12, 1e-5), "margins": (1e-290, 1e-30)}  # probabilities without digits, in double and in single
MOST_RIVALS = 4  # against which margins help to find log odds of a class
ROUNDED = 1e-5  # of an output, by a model that computes in single precision
NEVER_KEPT = "the generator of this explanation does not keep outputs: explain the rows again with the recommended one"


@dataclass(frozen=True, slots=True)
class Scale:
    """From outputs to the numbers that contributions add up on.

    Parameters
    ----------
    name : "log_odds", "margins", "probability" or "number"
    least : float
        What a probability of 0 stands for in log odds.

    Examples
    --------
    >>> outputs, column = np.array([[0.25, 0.75]]), np.array([1])
    >>> Scale("log_odds")(outputs, column).round(3).tolist(), Scale("probability")(outputs, column).tolist()
    ([1.099], [0.75])
    """

    name: Name
    least: float = 0.0

    def __call__(self, outputs: Array, column: Integers, rival: Integers | None = None) -> Array:
        """(...,) numbers of (..., k) outputs, about an output each; arrays of NumPy or tensors of torch.

        Margins are against a ``rival``, and without one logarithms of probabilities.
        """
        xp = namespace(outputs)
        own, others = _split_two(outputs, column) if outputs.shape[-1] == 2 else _split(outputs, column)
        if self.name not in ("log_odds", "margins"):
            return own
        nothing = max(self.least, TINY) if self.name == "margins" else np.exp(-FARTHEST)
        if self.name == "margins":
            others = own * 0 + 1 if rival is None else Scale("number")(outputs, rival)
        above, below = (xp.log(xp.where(part > nothing, part, max(self.least, nothing))) for part in (own, others))
        odds: Array = above - below
        return odds

    def bases(self, outputs: Array, weights: Array | None) -> Array:
        """(k,) weighted means of the numbers about each output, over the (N, k) outputs of reference rows."""
        every = [self(outputs, np.full(len(outputs), at)) for at in range(outputs.shape[1])]
        return np.array([np.average(numbers, weights=weights) for numbers in every])


def _split(outputs: Array, column: Integers) -> tuple[Array, Array]:
    """(...,) one of (..., k) outputs, and the sum of all others; arrays of NumPy or tensors of torch."""
    xp, width = namespace(outputs), outputs.shape[-1]
    is_own = xp.arange(width, device=outputs.device) == column[..., None]
    return xp.where(is_own, outputs, 0.0).sum(-1), xp.where(is_own, 0.0, outputs).sum(-1)


def _split_two(outputs: Array, column: Integers) -> tuple[Array, Array]:
    """The same of two outputs, without sums over so few."""
    xp, (first, second) = namespace(outputs), (outputs[..., 0], outputs[..., 1])
    return xp.where(column == 1, second, first), xp.where(column == 1, first, second)


def rival_of(outputs: Array, column: Integers) -> Integers:
    """(n,) the strongest class of (n, k) outputs beside one of each row."""
    is_own = np.arange(outputs.shape[1]) == column[:, None]
    return np.asarray(np.where(is_own, -np.inf, outputs).argmax(axis=1))


def choose_scale(wanted: str, outputs: Array, adds_up_on: str | None) -> Scale:
    """The scale for a model with (N, k) reference outputs; ``adds_up_on`` says where its own parts add up, if known.

    By default, and where nothing is known of the inside: log odds where probabilities lie between 0 and 1, points of
    probability where some are 0, as those of votes and labels are, and numbers as they are.
    """
    if wanted not in ("auto", "log_odds", "margins", "probability"):
        raise InvalidParameter(f"scale must be 'auto', 'log_odds', 'margins' or 'probability', not {wanted!r}")
    if not are_probabilities(outputs):
        if wanted != "auto":
            raise InvalidParameter(f"scale={wanted!r} is for probabilities, and this model's outputs are none")
        return Scale("number")
    least = least_probability(outputs)
    if wanted == "auto":
        known = adds_up_on if adds_up_on in ("log_odds", "probability") else None  # margins change with the rival
        wanted = known or ("probability" if has_votes(outputs) else "log_odds")
    if wanted == "margins":
        return Scale("margins", least) if outputs.shape[1] > 2 else Scale("log_odds", least)
    return Scale("log_odds", least) if wanted == "log_odds" else Scale("probability")


def has_votes(outputs: Array) -> bool:
    """Whether probabilities of 0 are among (N, k) outputs which do not come close to it otherwise."""
    smallest = np.where(outputs > 0, outputs, np.inf).min()
    return bool((outputs == 0).any() and smallest > CLOSE)


def column_in_question(outcome: Outcome | None, outputs: Array, names: Sequence[str]) -> Integers:
    """(n,) the output that contributions of rows with (n, k) outputs are about.

    The target of the question, the second of two classes, the predicted one of several, or the one number.
    """
    target, n_classes = None if outcome is None else as_question(outcome).target, len(class_names(names))
    if target is not None or n_classes <= 2:
        return np.full(len(outputs), column_of(target, names))
    return np.asarray(np.nan_to_num(outputs, nan=-np.inf).argmax(axis=1))


def contribute(
    cloud: Perturbations,
    outputs: Array,
    names: Sequence[str],
    column: Integers,
    scale: Scale,
    usual: Mapping[str, Sequence[float]],
    measure: sampled.Measure | None = None,
    exact: tuple[str, Array] | None = None,
) -> dict[str, Any]:
    """Contributions by the samples of a cloud, about an output of each row, by the names that a record has for them.

    ``exact`` has another scale, and the (n, f, q) exact contributions on it.
    """
    if cloud.outputs is None:
        raise EvidenceNotKept(NEVER_KEPT)
    known = None
    if exact is not None:
        known = _know(cloud.outputs, outputs, column, Scale(cast(Name, exact[0]), scale.least), exact[1])
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    base, found = measure_sampled(cloud, outputs, column, rival, scale, usual, measure, known)
    is_half = any(isinstance(plan, Plan) and not len(plan.alone) for plan in cloud.plans)  # no samples at q = 0 and 1
    told = _tell(scale, base, column, rival, names) | {"estimand": "Banzhaf" if is_half else "Shapley"}
    return {**fields.name_parts(Explanation, "values", found), **told}


def measure_sampled(
    cloud: Perturbations,
    outputs: Array,
    column: Integers,
    rival: Integers | None,
    scale: Scale,
    usual: Mapping[str, Sequence[float]],
    measure: sampled.Measure | None,
    known: sampled.Known | None = None,
) -> tuple[Array, Estimate]:
    """(n,) base values, and contributions by the samples of a cloud, about an output each and against a rival."""
    bases = np.array(usual[BASES.get(scale.name, "base_outputs")])
    base = np.asarray(bases[column] if rival is None else bases[column] - bases[rival])
    numbers = scale(np.asarray(cloud.outputs), column[:, None], None if rival is None else rival[:, None])
    return base, sampled.contributions(cloud, numbers, scale(outputs, column, rival) - base, measure, known)


def _know(samples: Array, outputs: Array, column: Integers, scale: Scale, found: Array) -> sampled.Known:
    """What is known exactly of (n, s, k) samples: contributions on another scale; margins against each strong rival."""
    if scale.name != "margins":
        numbers, values = scale(samples, column[:, None]), take_output(found, scale, column, None)
        return _clear(samples, scale, numbers[..., None], values[..., None])
    order = np.argsort(np.where(np.arange(outputs.shape[1]) == column[:, None], np.inf, -outputs), axis=1)
    rivals = order[:, : min(MOST_RIVALS, outputs.shape[1] - 1)].T
    each = [(scale(samples, column[:, None], one[:, None]), take_output(found, scale, column, one)) for one in rivals]
    numbers, values = (np.stack(part, axis=-1) for part in zip(*each, strict=True))
    return _clear(samples, scale, numbers, values)


def _clear(samples: Array, scale: Scale, numbers: Array, values: Array) -> sampled.Known:
    """What is known; 0 for rows with samples so sure that their numbers are cut off or out of digits: exact are not."""
    if scale.name not in LOST:
        return sampled.Known(numbers, values)
    is_single = bool(np.all(samples == samples.astype(np.float32)))
    is_clear = np.all(samples > max(LOST[scale.name][is_single], scale.least), axis=(1, 2))
    return sampled.Known(*(np.where(is_clear[:, None, None], part, 0.0) for part in (numbers, values)))


def count_out(
    found: Array, bases: Array, outputs: Array, names: Sequence[str], column: Integers, scale: Scale
) -> dict[str, Any]:
    """Exact contributions by name: from (n, f, q) values and (q,) bases of every output, or of the second of two.

    What the model's own rounding leaves between their sum and its (n, k) outputs is divided by their size.
    """
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    values = take_output(found, scale, column, rival)
    base = take_output(np.broadcast_to(bases, (len(found), len(bases))), scale, column, rival)
    own, size = scale(outputs, column, rival), np.abs(values)
    is_rounded = size < sampled.ROUNDING * np.maximum(np.abs(own), size.max(axis=1, initial=0.0))[:, None]
    values, size = (np.where(is_rounded, 0.0, part) for part in (values, size))
    gap = own - base - values.sum(axis=1)
    is_rounding = np.abs(gap) <= ROUNDED * (1 + np.abs(own))
    values = values + np.where(is_rounding, gap, 0.0)[:, None] * ratio(size, size.sum(axis=1)[:, None])
    estimate = Estimate(values, values, values, np.where(values == 0, 1.0, 0.0))
    known = _tell(scale, base, column, rival, names) | {"exact": np.ones(len(base), dtype=bool)}
    every = {"every_class": found if found.shape[2] > 2 else None}
    return {**fields.name_parts(Explanation, "values", estimate), **known, **every}


def take_output(found: Array, scale: Scale, column: Integers, rival: Integers | None) -> Array:
    """(n, ...) of (n, ..., q) exact numbers of every output, or of the second of two: what is about one, on a scale."""
    line = np.arange(len(found))
    if found.shape[-1] > 1:
        return np.asarray(found[line, ..., column] - (0.0 if rival is None else found[line, ..., rival]))
    sign = np.where((column == 0) & (scale.name == "log_odds"), -1.0, 1.0)
    return np.asarray(found[..., 0] * sign.reshape(-1, *(1,) * (found.ndim - 2)))


def _tell(scale: Scale, base: Array, column: Integers, rival: Integers | None, names: Sequence[str]) -> dict[str, Any]:
    """What a record has of contributions beside their values."""
    about, rivals = (
        None if at is None else np.full(len(at), "") if len(names) == 1 else np.array(names)[at]
        for at in (column, rival)
    )
    is_exact = np.zeros(len(base), dtype=bool)
    told = {"base_values": base, "about": about, "against": rivals, "exact": is_exact, "scale": scale.name}
    return told | {"every_class": None, "estimand": "Shapley"}


def get_contributions(explanation: Explanation) -> dict[str, Any]:
    """What an explanation has about contributions, by name; nothing where its values are none."""
    if explanation.base_values is None:
        return {}
    told = ("base_values", "about", "against", "every_class", "exact", "scale", "limits", "estimand")
    declared = [each.name for each in fields.list_fields(explanation) if each.of == "values" or each.source]
    return {name: getattr(explanation, name) for name in (*declared, *told)}


def measure_reference(known: Array, space: FeatureSpace) -> dict[str, Any]:
    """The spread of (N, k) reference outputs, their means, and mean log odds where they are probabilities."""
    found = {"output_scales": spread(known[space.copied]), "base_outputs": Scale("number").bases(known, space.weights)}
    least = least_probability(known) if are_probabilities(known) else None
    if least is not None:
        found["base_log_odds"] = Scale("log_odds", least).bases(known, space.weights)
        if known.shape[1] > 2:
            found["base_margins"] = Scale("margins", least).bases(known, space.weights)
    return {name: tuple(part.tolist()) for name, part in found.items()} | {"least": least or 0.0}
