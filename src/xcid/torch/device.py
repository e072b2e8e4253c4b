"""The recommended setting with everything on one device: perturbations, the module, regression, densities, d1, null.

The functions are those that NumPy's arrays go through: they take tensors as well. What a plan leaves to be computed
once is computed on the host and sent to the device; after that only the rows go in and their scores come out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xcid import pipeline
from xcid._check import as_int
from xcid._kernels.random import run_key
from xcid._require import require
from xcid.calibration import Repeats
from xcid.distances import Overlap
from xcid.errors import InvalidParameter, ModelError
from xcid.explainer import Explainer
from xcid.generators.balanced import LEAST_WEIGHT
from xcid.records import Array, Explanation, Perturbations, Plan
from xcid.scores import Adjusted, planned, regressions
from xcid.scores.adjusted import calibrated
from xcid.space import labels
from xcid.torch._memory import halved

ROWS = 32_768  # at a time
OUTCOMES = ("Flip", "ToClass", "SoftFlip", "SoftToClass", "Threshold", "Interval", "Within")


@dataclass(frozen=True, slots=True)
class Device:
    """Explain the decisions of a ``torch.nn.Module`` on the device that it lives on.

    The result is that of ``explainer(X, seed=seed)`` to 1e-5, without the samples. The module is asked in evaluation
    mode and in its own precision; everything else is in double precision.

    Parameters
    ----------
    rows : int
        Rows at a time; where the device's memory does not suffice, they are halved.

    Examples
    --------
    >>> import numpy as np, torch, xcid                                            # doctest: +SKIP
    >>> net = torch.nn.Sequential(torch.nn.Linear(20, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2)).cuda()
    ...                                                                            # doctest: +SKIP
    >>> explainer = xcid.Explainer(net, background)                                # doctest: +SKIP
    >>> explanation = xcid.torch.Device()(explainer, X)                            # doctest: +SKIP
    """

    rows: int = ROWS

    def __post_init__(self) -> None:
        as_int(self.rows, "rows", at_least=1)

    def __call__(self, explainer: Explainer, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many."""
        torch = require("torch", extra="torch")
        plan = _plan(explainer, as_int(seed, "seed"))
        rows = explainer.space.encode(X)
        module, modes = explainer.subject.model, [(part, part.training) for part in explainer.subject.model.modules()]
        module.eval()
        try:
            with torch.no_grad():
                task = _Task.of(explainer, plan, torch)
                results = list(halved(task, torch.as_tensor(rows, device=task.device), self.rows))
        finally:
            for part, mode in modes:
                part.training = mode
        return _explanation(explainer, plan, rows, labels(X, len(rows)), seed, results, task.freedom)


class Results(NamedTuple):
    """What comes back for n rows; tensors."""

    log_odds: Any
    error: Any
    importance: Any
    outputs: Any
    n_flips: Any
    n_positive: Any


class _Task:
    """From (n, d) rows on the device to their results on the device."""

    def __init__(self, explainer: Explainer, torch: Any, device: Any, dtype: Any) -> None:
        self.torch, self.device, self.dtype = torch, device, dtype
        self.module, self.outcome, self.score = explainer.subject.model, explainer.setup.outcome, explainer.setup.score
        self.n_outputs = len(explainer.subject.predict.read.names)

    @classmethod
    def of(cls, explainer: Explainer, plan: Plan, torch: Any) -> _Task:
        """Send to the device what all rows share."""
        device, dtype = _home(explainer.subject.model, torch)
        task = cls(explainer, torch, device, dtype)

        def send(array: Any) -> Any:
            return torch.as_tensor(np.ascontiguousarray(array), device=device)

        probe = Perturbations(
            explainer.space.background[:1], None, np.zeros((1, 0)), np.zeros((1, 0)), np.zeros(1, dtype=np.int64),
            np.array(["ok"]), explainer.space.discrete, plan=plan,
        )  # fmt: skip
        columns, contrasts, influences = regressions.prepared(probe)
        sent = columns._replace(**{name: send(getattr(columns, name)) for name in ("centred", "inverse", "freedom")})
        task.regression = regressions.Regression(sent, send(contrasts), send(influences))
        parts = planned.parts(probe, explainer.setup.score.density)
        left = len(plan.features) - sum(len(part.features) for part in parts)
        if left:
            raise InvalidParameter(
                f"{left} features are too spread out for shared densities: call the explainer itself"
            )
        task.part = _Part(parts, send)
        task.taken = send(plan.taken)
        task.new = send(np.concatenate([plan.values, plan.values])).to(dtype)
        return task

    regression: regressions.Regression
    part: _Part
    freedom: float
    taken: Any
    new: Any

    def __call__(self, rows: Any) -> Results:
        torch, n_samples = self.torch, len(self.taken)
        samples = torch.where(self.taken, self.new, rows.to(self.dtype)[:, None])
        reference, outputs = self.ask(rows.to(self.dtype)), self.ask(samples.reshape(-1, rows.shape[1]))
        own, side = self.side(reference, reference), self.side(outputs, reference.repeat_interleave(n_samples, 0))
        own = (own > 0.5).to(torch.float64)
        positive = (own[:, None] - side.reshape(-1, n_samples)).abs()
        assert isinstance(self.score, Adjusted)
        log_odds, residuals = self.score.fitted(self.regression, 1 - positive, None)
        error, self.freedom = regressions.of_pairs(self.regression.influences, residuals)
        importance = torch.zeros_like(log_odds)
        importance[:, self.part.features] = Overlap().of_variation(planned.variations(self.part, positive, rows))
        return Results(
            log_odds, error / self.score.temper, importance, reference, (positive > 0.5).sum(1), positive.sum(1)
        )

    def side(self, outputs: Any, reference: Any) -> Any:
        """(N,) how far (N, k) outputs lie on the far side of the question."""
        far: Any = self.outcome(outputs, reference)
        return far.to(self.torch.float64)

    def ask(self, rows: Any) -> Any:
        """(N, k) outputs, as the host reads them."""
        answers = self.module(rows)
        if not isinstance(answers, self.torch.Tensor) or len(answers) != len(rows):
            raise ModelError("the module must answer with one tensor that has a line for every row")
        answers = answers.reshape(len(rows), -1).to(self.torch.float64)
        if not bool(self.torch.isfinite(answers).all()):
            raise ModelError("the module's answers are not finite: explain on the host to see for which row")
        if answers.shape[1] == 1 and self.n_outputs == 2:
            answers = self.torch.cat([1 - answers, answers], 1)
        return answers


def _home(module: Any, torch: Any) -> tuple[Any, Any]:
    """Device and precision of a module."""
    weights = [part for group in (module.parameters(), module.buffers()) for part in group if part.is_floating_point()]
    homes = {weight.device for weight in weights}
    if len(homes) > 1:
        raise InvalidParameter(f"the module lies on several devices, {sorted(map(str, homes))}: bring it to one")
    if not weights:
        return torch.device("cpu"), torch.float32
    return weights[0].device, weights[0].dtype


class _Part:
    """All parts of :mod:`xcid.scores.planned` in one, on the device: a dense product counts and smooths."""

    def __init__(self, parts: list[planned.Part], send: Any) -> None:
        n_atoms = max(part.slots.atoms.shape[1] for part in parts)
        n_cells = max(len(part.slots.smoothing) for part in parts)
        features = np.concatenate([part.features for part in parts])
        matrix = np.zeros((len(features), 1 + n_atoms + n_cells, parts[0].counter.shape[1]))
        atoms = np.full((len(features), n_atoms), np.inf)
        start = 0
        for part in parts:
            at, k, some = slice(start, start + len(part.features)), len(part.features), part.slots.atoms.shape[1]
            counts = part.counter.toarray().reshape(k, part.widths.shape[2], -1)
            matrix[at, : 1 + some], atoms[at, :some] = counts[:, : 1 + some], part.slots.atoms
            matrix[at, 1 + n_atoms : 1 + n_atoms + len(part.slots.smoothing)] = (
                part.slots.smoothing.T @ counts[:, 1 + some :]
            )
            start += k
        self.matrix = send(matrix.reshape(-1, matrix.shape[2]).T)  # (s, k * places)
        self.features, self.columns = send(features), send(np.concatenate([part.columns for part in parts]))
        self.slots = parts[0].slots._replace(atoms=send(atoms))

    def masses(self, positive: Any) -> Any:
        """(k, n, places) as the host's."""
        return (positive @ self.matrix).reshape(len(positive), len(self.features), -1).swapaxes(0, 1)


def _plan(explainer: Explainer, seed: int) -> Plan:
    """The plan of a run; settings that do not run on a device are refused."""
    torch = require("torch", extra="torch")
    draw = getattr(explainer.setup.generator, "draw", None)
    outcome = type(explainer.setup.outcome).__name__
    reasons = {
        "the model is no torch.nn.Module": not isinstance(explainer.subject.model, torch.nn.Module),
        "the generator draws for each row by itself": draw is None,
        "the score is not Adjusted": not isinstance(explainer.setup.score, Adjusted),
        "its density depends on the labels": not hasattr(explainer.setup.score.density, "slots"),
        "there is more than one run of a row": explainer.setup.stop != Repeats(1),
        "some columns have levels": any(column.levels for column in explainer.space.columns),
        "there are groups": bool(explainer.subject.features.values),
        f"the outcome is {outcome}": outcome not in OUTCOMES,
    }
    found = [reason for reason, holds in reasons.items() if holds]
    plan = None if found or draw is None else draw(explainer.subject.features.space, run_key(seed)).plan
    if plan is not None and plan.fitted.any():
        found.append("constraints fit the new values to each row")
    if found or plan is None:
        raise InvalidParameter(f"this cannot run on a device: {'; '.join(found)}; call the explainer itself")
    return plan


def _explanation(
    explainer: Explainer, plan: Plan, rows: Array, index: Any, seed: int, results: list[Results], freedom: float
) -> Explanation:
    """Bring the results to the host, and add what is known there."""
    joined = Results(*(np.concatenate([part.cpu().numpy() for part in parts]) for parts in zip(*results, strict=True)))
    n_samples = 2 * len(plan.masks)
    n_negative = n_samples - joined.n_positive
    probe = Perturbations(
        rows, None, joined.n_positive[:, None], n_negative[:, None], joined.n_flips, joined.n_flips.astype(str),
        explainer.space.discrete, plan=plan,
    )  # fmt: skip
    known = ((joined.n_positive > 0) & (n_negative > 0))[:, None] & regressions.changes(probe)
    log_odds, error = (np.where(known, part, 0.0) for part in (joined.log_odds, joined.error))
    if len(plan.background) < max(regressions.FEWEST, log_odds.shape[1] // 2):
        error, freedom = np.where(known, np.inf, 0.0), 1.0
    status = np.where(
        joined.n_positive < LEAST_WEIGHT,
        "insufficient_flips",
        np.where(n_negative < LEAST_WEIGHT, "insufficient_stays", "ok"),
    )
    explanation = pipeline.record(
        explainer.setup,
        calibrated(np.where(known, joined.importance, 0.0), log_odds, error, np.full(len(rows), freedom)),
        joined.outputs,
        seed,
        rows=rows,
        status=status,
        n_evaluations=np.full(len(rows), n_samples),
        n_flips=joined.n_flips,
        n_positive=joined.n_positive,
        n_negative=n_negative,
        cloud=None,
    )
    return pipeline.checked(explainer.setup, replace(explanation, index=index))
