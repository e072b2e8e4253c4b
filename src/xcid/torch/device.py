"""The recommended setting with everything on one device: perturbations, the module, regression, densities, d1, null.

The functions are those that NumPy's arrays go through: they take tensors as well. What a plan leaves to be computed
once is computed on the host and sent to the device; after that only the rows go in and their scores come out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xcid import pipeline
from xcid._check import as_int
from xcid._faults import filled, isolated
from xcid._kernels.random import run_key, variants
from xcid._require import require
from xcid.calibration import Repeats
from xcid.distances import Overlap
from xcid.errors import InvalidParameter, ModelError, XcidError
from xcid.explainer import Explainer
from xcid.generators.planned import LEAST_WEIGHT, Drawn, limited
from xcid.models.libraries import evaluating
from xcid.pipeline import Setup
from xcid.records import Array, Explanation, Perturbations, Plan
from xcid.scores import Adjusted, adjusted, effects, moves, planned
from xcid.space import labels
from xcid.torch._network import halved, one_home

ROWS = 32_768  # at a time
OUTCOMES = (
    "Flip",
    "ToClass",
    "SoftFlip",
    "SoftToClass",
    "HardThreshold",
    "SoftThreshold",
    "Interval",
    "SoftInterval",
    "Within",
)


@dataclass(frozen=True, slots=True)
class Device:
    """Explain the decisions of a ``torch.nn.Module`` on the device that it lives on.

    The result is that of ``explainer(X, seed=seed)`` to 1e-5, without the samples. The module is asked in evaluation
    mode and in its own precision; everything else is in double precision.

    It takes ``rows`` at a time, and half of them where the device's memory does not suffice.

    Examples
    --------
    >>> explainer = xcid.Explainer(network.cuda(), background)  # doctest: +SKIP
    >>> explanation = xcid.torch.Device()(explainer, X)         # doctest: +SKIP
    """

    rows: int = ROWS

    def __post_init__(self) -> None:
        as_int(self.rows, "rows", at_least=1)

    def __call__(self, explainer: Explainer, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many."""
        torch, seed = require("torch", extra="torch"), as_int(seed, "seed")
        setup, rows = explainer.setup, explainer.space.encode(X)
        draw, tasks = _draw(setup), dict[int, _Task]()
        with evaluating(setup.subject.model), torch.no_grad():

            def explain(some: Array) -> Explanation:
                which = variants(setup.subject.space.keys(some, seed))
                parts, pieces = [np.flatnonzero(which == variant) for variant in np.unique(which)], []
                for part in parts:
                    variant = int(which[part[0]])
                    if variant not in tasks:
                        plan = draw(setup.subject.features.space, run_key(seed, 0, variant)).plan
                        tasks[variant] = _Task(setup, plan)
                    task = tasks[variant]
                    blocks = halved(task, torch.as_tensor(some[part], device=task.device), self.rows)
                    found = zip(*blocks, strict=True)
                    results = Results(*(np.concatenate([one.cpu().numpy() for one in each]) for each in found))
                    pieces.append(_explanation(setup, task.plan, some[part], seed, results))
                return Explanation.concatenate(pieces)[np.argsort(np.concatenate(parts))]

            background = explainer.space.background[: pipeline.REFERENCE_ROWS]
            pieces = filled(isolated(explain, rows), lambda: isolated(explain, background))
        explanation = Explanation.concatenate(pieces)
        return pipeline.checked(setup, replace(explanation, index=labels(X, len(rows))))


class Results(NamedTuple):
    """What comes back for n rows: tensors, and arrays on the host."""

    effects: Any
    variance: Any
    freedom: Any
    importance: Any
    outputs: Any
    n_flips: Any
    n_positive: Any
    moved: Any  # (n, 3, f) what was measured of the output of a regression; f is 0 for classes
    unit: Any  # (n, 1) of it


class _Task:
    """From (n, d) rows on the device to their results on the device."""

    def __init__(self, setup: Setup, plan: Plan) -> None:
        """Send to the device what all rows share."""
        subject, self.score, self.torch = setup.subject, setup.score, require("torch", extra="torch")
        self.module, self.n_outputs = subject.model, len(subject.output_names)
        self.device, self.dtype = one_home(self.module)
        self.outcome: Any = setup.outcome  # takes tensors as well
        probe = _probe(setup, plan, subject.space.background[:1])
        shared = effects.shared(plan, subject.space.discrete)
        sent = {name: self.send(part) for name, part in shared._asdict().items() if isinstance(part, np.ndarray)}
        self.plan, self.shared, self.pairs = plan, shared._replace(**sent), len(plan.masks)
        parts = planned.parts(probe, setup.score.density)
        if left := len(plan.features) - sum(len(part.features) for part in parts):
            raise InvalidParameter(f"{left} features are too spread out for shared densities: call the explainer")
        self.part = _Part(parts, self.send)
        self.taken, self.new = self.send(plan.taken), self.send(plan.new).to(self.dtype)

    def send(self, array: Any) -> Any:
        """Bring an array to the device."""
        return self.torch.as_tensor(np.ascontiguousarray(array), device=self.device)

    def __call__(self, rows: Any) -> Results:
        torch, n_samples = self.torch, len(self.taken)
        samples = torch.where(self.taken, self.new, rows.to(self.dtype)[:, None])
        reference, outputs = self.ask(rows.to(self.dtype)), self.ask(samples.reshape(-1, rows.shape[1]))
        own = (self.outcome(reference, reference) > 0.5).to(torch.float64)
        side = self.outcome(outputs, reference.repeat_interleave(n_samples, 0)).to(torch.float64)
        positive = (own[:, None] - side.reshape(-1, n_samples)).abs()
        least = getattr(self.outcome, "least", None)
        stays, end = (1 - positive, np.inf) if least is None else adjusted.log_odds(1 - positive, positive, least)
        found = effects.measured(self.shared, stays, end)
        importance = torch.zeros_like(found.effects)
        paired = positive[:, : 2 * self.pairs]
        importance[:, self.part.features] = Overlap().of_variation(planned.variations(self.part, paired, rows))
        moved, unit = torch.zeros((len(rows), 3, 0)), torch.ones((len(rows), 1))
        if self.n_outputs == 1:
            numbers = outputs.reshape(-1, n_samples)
            unit = moves.unit_of(numbers)
            moved = torch.stack(tuple(effects.measured(self.shared, numbers / unit)), dim=1)
        return Results(*found, importance, reference, (positive > 0.5).sum(1), positive.sum(1), moved, unit)

    def ask(self, rows: Any) -> Any:
        """(N, k) outputs, as the host reads them."""
        try:
            answers = self.module(rows)
        except (self.torch.cuda.OutOfMemoryError, MemoryError, XcidError):
            raise
        except Exception as error:
            raise ModelError(f"the model failed: {type(error).__name__}: {error}") from error
        if not isinstance(answers, self.torch.Tensor) or len(answers) != len(rows):
            raise ModelError("the module must answer with one tensor that has a line for every row")
        answers = answers.reshape(len(rows), -1).to(self.torch.float64)
        if not bool(self.torch.isfinite(answers).all()):
            raise ModelError("the module's answers are not finite")
        if answers.shape[1] == 1 and self.n_outputs == 2:
            answers = self.torch.cat([1 - answers, answers], 1)
        return answers


class _Part:
    """All parts of :mod:`xcid.scores.planned` in one, on the device: a dense product counts and smooths."""

    def __init__(self, parts: list[planned.Part], send: Any) -> None:
        n_atoms = max(part.slots.atoms.shape[1] for part in parts)
        n_cells = max(len(part.slots.smoothing) for part in parts)
        features = np.concatenate([part.features for part in parts])
        matrix = np.zeros((len(features), 1 + n_atoms + n_cells, parts[0].counter.shape[1]))
        atoms, pooled = np.full((len(features), n_atoms), np.inf), np.zeros((len(features), 1 + n_atoms + n_cells, 1))
        start = 0
        for part in parts:
            (k, some), smoothing = part.slots.atoms.shape, part.slots.smoothing
            counts = part.counter.toarray().reshape(k, part.widths.shape[1], -1)
            at, atom, cell = slice(start, start + k), 1 + some, slice(1 + n_atoms, 1 + n_atoms + len(smoothing))
            matrix[at, :atom], matrix[at, cell] = counts[:, :atom], smoothing @ counts[:, atom:]
            pooled[at, :atom], pooled[at, cell] = part.pooled[:, :atom], part.pooled[:, atom:]
            atoms[at, :some] = part.slots.atoms
            matrix[at, 1:atom] += part.shares[:, :some] * matrix[at, :1]
            matrix[at, cell] += part.shares[:, some:] * matrix[at, :1]
            start += k
        self.matrix = send(matrix.reshape(-1, matrix.shape[2]))  # (k * places, p)
        self.features, self.columns = send(features), send(np.concatenate([part.columns for part in parts]))
        self.slots, self.pooled = parts[0].slots._replace(atoms=send(atoms)), send(pooled)

    def masses(self, apart: Any) -> Any:
        """(k, places, n) as the host's."""
        return (self.matrix @ apart).reshape(len(self.features), -1, apart.shape[1])


def _draw(setup: Setup) -> Callable[..., Drawn]:
    """What draws the plan of some rows; settings that do not run on a device are refused."""
    torch, subject = require("torch", extra="torch"), setup.subject
    draw: Any = getattr(setup.generator, "draw", None)
    outcome = type(setup.outcome).__name__
    reasons = {
        "the model is no torch.nn.Module": not isinstance(subject.model, torch.nn.Module),
        "the generator draws for each row by itself": draw is None,
        "the score is not Adjusted": not isinstance(setup.score, Adjusted),
        "its density depends on the labels": not hasattr(setup.score.density, "slots"),
        "there is more than one run of a row": setup.stop != Repeats(1),
        "some columns have levels": any(column.levels for column in subject.space.columns),
        "there are groups": bool(subject.features.values),
        "constraints fit the new values to each row": bool(limited(subject.features.space).any()),
        f"the outcome is {outcome}": outcome not in OUTCOMES,
    }
    if found := [reason for reason, holds in reasons.items() if holds]:
        raise InvalidParameter(f"this cannot run on a device: {'; '.join(found)}; call the explainer itself")
    found_draw: Callable[..., Drawn] = draw
    return found_draw


def _explanation(setup: Setup, plan: Plan, rows: Array, seed: int, results: Results) -> Explanation:
    """Add to the results what is known on the host."""
    n_samples, n_positive = len(plan.taken), results.n_positive
    n_negative, soft = n_samples - n_positive, hasattr(setup.outcome, "least")
    known = (soft | (n_positive > 0) & (n_negative > 0))[:, None] & adjusted.changes(_probe(setup, plan, rows))
    found = effects.Measured(results.effects, results.variance, results.freedom)
    importance, found = np.where(known, results.importance, 0.0), adjusted.full(plan, found)
    found = effects.Measured(*(np.where(known, part, 0.0) for part in found))
    level = np.full(len(rows), np.nan) if soft else n_negative / n_samples
    flips, stays = (~np.bool_(soft) & (total < LEAST_WEIGHT) for total in (n_positive, n_negative))
    return pipeline.record(
        setup,
        results.outputs,
        seed,
        rows=rows,
        status=np.where(flips, "insufficient_flips", np.where(stays, "insufficient_stays", "ok")),
        n_evaluations=np.full(len(rows), n_samples),
        n_flips=results.n_flips,
        n_positive=n_positive,
        n_negative=n_negative,
        cloud=None,
        **adjusted.calibrated(importance, found, level[:, None])._asdict(),
        **_moved(setup, plan, rows, results),
    )


def _moved(setup: Setup, plan: Plan, rows: Array, results: Results) -> dict[str, Array]:
    """The effects of a regression."""
    if not results.moved.shape[2]:
        return {}
    found = adjusted.full(plan, effects.Measured(*np.moveaxis(results.moved, 1, 0)))
    able = adjusted.changes(_probe(setup, plan, rows))
    return moves.calibrated(found, results.unit, able).named()


def _probe(setup: Setup, plan: Plan, rows: Array) -> Perturbations:
    """A cloud without weights, for what follows from its plan alone."""
    none, count, status = np.zeros((len(rows), 0)), np.zeros(len(rows), dtype=np.int64), np.full(len(rows), "ok")
    return Perturbations(rows, None, none, none, count, status, setup.subject.space.discrete, plans=(plan,))
