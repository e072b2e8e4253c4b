"""The recommended setting with everything on one device: perturbations, the module, regression, densities, d1, null.

The functions are those that NumPy's arrays go through: they take tensors as well. What a plan leaves to be computed
once is computed on the host and sent to the device; after that only the rows go in and their scores come out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, starmap
from typing import Any

import numpy as np

from xcid import pipeline, records
from xcid._check import as_int
from xcid._faults import filled, isolated
from xcid._kernels.arrays import blocks as slices
from xcid._kernels.random import run_key, variants
from xcid._require import require
from xcid.calibration import Repeats
from xcid.cid import planned
from xcid.cid.calibrated import Adjusted
from xcid.cid.distances import Overlap
from xcid.cid.generators.search import LEAST_WEIGHT, Drawn, lacking, limited
from xcid.contributions import effects, sampled
from xcid.contributions.scale import column_in_question
from xcid.errors import InvalidParameter, ModelError, XcidError
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.models.libraries import evaluating
from xcid.models.tables import as_shares, both_of_logit
from xcid.outcomes.classes import class_names
from xcid.outcomes.protocol import as_question
from xcid.records import Array, Flags, Integers, Perturbations, Plan, fields
from xcid.setup import Setup
from xcid.table import labels
from xcid_torch._network import begin_copying, halved, one_home, sent

ROWS = 131_072  # at a time


@dataclass(frozen=True, slots=True)
class Device:
    """Explain the decisions of a ``torch.nn.Module`` on the device that it lives on.

    Contributions are those of ``explainer(X, seed=seed)`` to 1e-5; importance is the plain d1 of the same samples, with
    the noise that the explainer takes out, and without limits; samples are not kept. The module is called in evaluation
    mode and in its own precision; everything else is in double precision.

    It takes ``rows`` at a time, and half of them where the device's memory does not suffice.

    Examples
    --------
    >>> explainer = xcid.Explainer(network.cuda(), background)  # doctest: +SKIP
    >>> explanation = xcid_torch.Device()(explainer, X)         # doctest: +SKIP
    """

    rows: int = ROWS

    def __post_init__(self) -> None:
        as_int(self.rows, "rows", at_least=1)

    def __call__(self, explainer: Explainer, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many."""
        torch, seed = require("torch", extra="torch"), as_int(seed, "seed")
        setup, rows = explainer.setup, explainer.space.encode(X)
        draw, tasks = _draw(setup), dict[int, _Task]()

        def task(variant: int) -> _Task:
            if variant not in tasks:
                tasks[variant] = _Task(setup, draw(setup.subject.features.space, run_key(seed, 0, variant)).plan)
            return tasks[variant]

        def which(part: Array) -> Integers:
            return variants(setup.subject.space.keys(part, seed), len(setup.subject.features.names))

        def blocks(rows: Array, which: Integers) -> Iterator[dict[str, Any]]:
            return halved(lambda at: _block(task, rows[at], which[at]), np.arange(len(rows)))

        def explain(some: Array) -> records.Explanation:
            whole, done, stored = dict[str, Array](), 0, list[Future[None]]()
            parts = [some[part] for part in slices(len(some), self.rows)]
            each = zip(parts, hashing.map(which, parts), strict=True)  # ahead: the device works
            for found in chain.from_iterable(starmap(blocks, each)):
                for one in stored[-2:-1]:  # two blocks at a time wait for the host
                    one.result()
                stored.append(storing.submit(_store, *begin_copying(found), whole, done, len(some)))
                done += len(found["outputs"])
            for one in stored:
                one.result()
            return _explanation(setup, some, seed, whole)

        with (
            evaluating(setup.subject.model),
            torch.no_grad(),
            ThreadPoolExecutor(1) as hashing,
            ThreadPoolExecutor(1) as storing,
        ):
            background = explainer.space.background[: pipeline.REFERENCE_ROWS]
            pieces = filled(isolated(explain, rows), lambda: isolated(explain, background))
        explanation = Explanation.concatenate(pieces) if len(pieces) > 1 else pieces[0]
        return Explanation.of(pipeline.checked(setup, replace(explanation, index=labels(X, len(rows)))))


def _store(found: dict[str, Any], wait: Callable[[], None], whole: dict[str, Array], start: int, n_rows: int) -> None:
    """Put what was found of a block of rows in its place, once it is on the host."""
    wait()
    if not bool(found.pop("is_finite").all()):
        raise ModelError("the module's outputs are not finite")
    for name, part in found.items():
        if name not in whole:
            whole[name] = np.empty((n_rows, *part.shape[1:]))
        require("torch", extra="torch").from_numpy(whole[name][start : start + len(part)]).copy_(part)


def _block(task: Callable[[int], _Task], rows: Array, which: Integers) -> dict[str, Any]:
    """What is known of (n, d) rows, on the device, in their order."""
    found: dict[str, Any] = {}
    small = False
    for variant in np.unique(which):
        one, place = task(int(variant)), np.flatnonzero(which == variant)
        at, small = one.send(place), sampled.is_small(one.plan)
        for name, part in one(one.send(rows[place])).items():
            if name not in found:
                found[name] = part.new_empty((len(rows), *part.shape[1:]))
            found[name][at] = part
    measured = effects.Measured(*found.pop("measured").unbind(1))
    gap, unit, able = (found.pop(name) for name in ("gap", "unit", "able"))
    return found | fields.name_parts(
        Explanation, "values", sampled.calibrate_values(measured, gap / unit, unit, able, small)
    )


class _Task:
    """From (n, d) rows on the device to their results on the device."""

    def __init__(self, setup: Setup, plan: Plan) -> None:
        """Send to the device what all rows share."""
        subject, how, self.torch = setup.subject, setup.contributing, require("torch", extra="torch")
        assert how is not None
        if how.scale.name == "margins":
            raise InvalidParameter("margins are not computed on a device: call the explainer")
        self.module, self.n_outputs = subject.model, len(subject.output_names)
        read = subject.predict.read.read
        self.are_logits, self.is_logit = getattr(read, "func", None) is as_shares, read is both_of_logit
        self.device, self.dtype = one_home(self.module)
        self.outcome: Any = setup.outcome  # takes tensors as well
        self.plan, self.pairs, density = plan, len(plan.masks), setup.score.density
        parts = planned.parts(_probe(setup, plan, subject.space.background[:1]), density)
        if left := len(plan.features) - sum(len(part.features) for part in parts):
            raise InvalidParameter(f"{left} features are too spread out for shared densities: call the explainer")
        self.part = plan.once(("on", self.device, density), lambda plan: _SlotGroups(parts, self.send))
        self.shared = plan.once(("on", self.device), lambda plan: self.regression(subject.space.discrete))
        self.taken, self.new = self.send(plan.taken), self.send(plan.new).to(self.dtype)
        self.fixed, self.scale = self.send(sampled.find_fixed(plan)), how.scale
        self.base = self.send(subject.usual["base_log_odds" if how.scale.name == "log_odds" else "base_outputs"])
        names = subject.output_names
        is_one = as_question(setup.outcome).target is not None or len(class_names(names)) <= 2
        column = column_in_question(setup.outcome, subject.known[:1], names)
        self.column = self.send(column) if is_one else None

    def regression(self, discrete: Flags) -> Any:
        """What the regressions of all rows share, on the device."""
        shared = sampled.share_regression(self.plan, discrete)
        sent = {name: self.send(part) for name, part in shared._asdict().items() if isinstance(part, np.ndarray)}
        return shared._replace(**sent)

    def send(self, array: Any) -> Any:
        """Bring an array to the device."""
        return sent(array, self.device)

    def __call__(self, rows: Any) -> dict[str, Any]:
        torch, n_samples = self.torch, len(self.taken)
        samples = torch.where(self.taken, self.new, rows.to(self.dtype)[:, None])
        reference, outputs = self.ask(rows.to(self.dtype)), self.ask(samples.reshape(-1, rows.shape[1]))
        own = (self.outcome(reference, reference) > 0.5).to(torch.float64)
        side = self.outcome(outputs, reference.repeat_interleave(n_samples, 0)).to(torch.float64)
        positive = (own[:, None] - side.reshape(-1, n_samples)).abs()
        found = {"outputs": reference, "n_flips": (positive > 0.5).sum(1), "n_positive": positive.sum(1)}
        found["n_evaluations"] = torch.full_like(found["n_flips"], n_samples)
        found["is_finite"] = torch.isfinite(outputs).reshape(len(rows), -1).all(1) & torch.isfinite(reference).all(1)
        found["able"] = self.changes(rows)
        found["importance"] = self.importance(rows, positive, found["n_positive"], found["able"])
        return found | self.contributions(reference, outputs.reshape(len(rows), n_samples, -1))

    def contributions(self, reference: Any, outputs: Any) -> dict[str, Any]:
        """What contributions of rows with (n, k) outputs are made from, by the (n, s, k) outputs of their samples."""
        column = self.column if self.column is not None else reference.argmax(1)
        column = column.expand(len(reference))
        numbers, base = self.scale(outputs, column[:, None]), self.base[column]
        unit, gap = sampled.unit_of(numbers), (self.scale(reference, column) - base)[:, None]
        measured = sampled.full(self.plan, effects.measure_effects(self.shared, numbers / unit))
        more = {"unit": unit, "gap": gap, "base_values": base, "column": column}
        return {"measured": self.torch.stack(tuple(measured), 1), **more}

    def importance(self, rows: Any, positive: Any, n_positive: Any, able: Any) -> Any:
        """(n, f) d1 of rows whose samples have (n, s) weights in C+."""
        torch, n_negative = self.torch, positive.shape[1] - n_positive
        found = torch.zeros(able.shape, dtype=torch.float64, device=self.device)
        variations = planned.variations(self.part, positive[:, : 2 * self.pairs], rows)
        found[:, self.part.features] = Overlap().of_variation(variations)
        return torch.where(((n_positive > 0) & (n_negative > 0))[:, None] & able, found, 0.0)

    def changes(self, rows: Any) -> Any:
        """(n, f) features that took another value in any sample."""
        return sampled.differing(self.plan, rows, self.fixed)

    def ask(self, rows: Any) -> Any:
        """(N, k) outputs, as the host reads them."""
        try:
            answers = self.module(rows)
        except (self.torch.cuda.OutOfMemoryError, MemoryError, XcidError):
            raise
        except Exception as error:
            raise ModelError(f"the model failed: {type(error).__name__}: {error}") from error
        if not isinstance(answers, self.torch.Tensor) or len(answers) != len(rows):
            raise ModelError("the module must return one tensor that has a line for every row")
        answers = answers.reshape(len(rows), -1).to(self.torch.float64)
        if self.are_logits:
            answers = answers.softmax(1)
        if self.is_logit:
            answers = answers.sigmoid()
        if answers.shape[1] == 1 and self.n_outputs == 2:
            answers = self.torch.cat([1 - answers, answers], 1)
        return answers


class _SlotGroups:
    """All parts of :mod:`xcid.cid.planned` in one, on the device: a dense product counts and smooths."""

    def __init__(self, parts: list[planned.SlotGroup], send: Any) -> None:
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
    reasons = {
        "the model is no torch.nn.Module": not isinstance(subject.model, torch.nn.Module),
        "the generator draws for each row by itself": draw is None,
        "the score is not Adjusted": not isinstance(setup.score, Adjusted),
        "its density depends on the labels": not hasattr(setup.score.density, "slots"),
        "there is more than one run of a row": setup.stop != Repeats(1),
        "some columns have levels": any(column.levels for column in subject.space.columns),
        "there are groups": bool(subject.features.values),
        "constraints fit the new values to each row": bool(limited(subject.features.space).any()),
        "limits are to allow for more than sampling": setup.sources is not None,
        "the outcome takes no tensors": not as_question(setup.outcome).takes_tensors,
    }
    if found := [reason for reason, holds in reasons.items() if holds]:
        raise InvalidParameter(f"this cannot run on a device: {'; '.join(found)}; call the explainer itself")
    found_draw: Callable[..., Drawn] = draw
    return found_draw


def _explanation(setup: Setup, rows: Array, seed: int, found: dict[str, Array]) -> records.Explanation:
    """Add to what the device found what is known on the host."""
    n_negative = found["n_evaluations"] - found["n_positive"]
    is_hard = as_question(setup.outcome).least is None
    lacks = (is_hard & (total < LEAST_WEIGHT) for total in (found["n_positive"], n_negative))
    types = {each.name: each.dtype for each in fields.list_fields(Explanation)}
    known: dict[str, Any] = {name: part.astype(types.get(name), copy=False) for name, part in found.items()}
    names, column, how = np.array(setup.subject.output_names), known.pop("column").astype(np.int64), setup.contributing
    about = np.full(len(rows), "") if len(names) == 1 else names[column]
    known |= {"about": about, "scale": "" if how is None else how.scale.name}
    status = pipeline.flipless(lacking(*lacks), known["n_flips"], setup.outcome)
    known |= {"rows": rows, "status": status, "n_negative": n_negative, "cloud": None}
    return pipeline.record(setup, known.pop("outputs"), seed, **known)


def _probe(setup: Setup, plan: Plan, rows: Array) -> Perturbations:
    """A cloud without weights, for what follows from its plan alone."""
    none, count, status = np.zeros((len(rows), 0)), np.zeros(len(rows), dtype=np.int64), np.full(len(rows), "ok")
    return Perturbations(rows, None, none, none, count, status, setup.subject.space.discrete, plans=(plan,))
