"""What happens to a block of rows: perturb, predict, score, record. Functions of a setup, a seed and rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid._check import LOG, Progress, silent, warn
from xcid._faults import Failed, counted, filled, isolated, length, warn_of_few
from xcid._kernels.random import run_key
from xcid.cid.calibrated import ContributionsAlone
from xcid.contributions.scale import column_in_question, contribute, count_out, get_contributions
from xcid.outcomes import Outcome
from xcid.outcomes.protocol import as_question
from xcid.records import UNKNOWN, Array, Explanation, Flags, Integers, Perturbations, SampleStore, Unsigned, fields
from xcid.setup import Setup, is_one_sided, perturb, perturb_by_plan
from xcid.table import FeatureSpace, encode_unseen, flag_unseen

Blocks: TypeAlias = list[Explanation | Failed]
Apply: TypeAlias = Callable[[Callable[[Array], Blocks], list[Array]], Iterable[Blocks]]
REFERENCE_ROWS = 4  # that a model is tried on when it failed for all others
FEWEST_FLIPS = 5  # that a set can be described by
SURE = 0.01  # p-value of some feature of a row that needs no flips to be explained


class Roads(NamedTuple):
    """How rows of a table are explained of which some hold what the reference data do not.

    A row takes the same road alone and in a batch: ``usual`` those that hold nothing new, ``read`` those for which what
    was read of the model gives what it predicts, ``called`` all others.
    """

    space: FeatureSpace  # of the reference data
    usual: Setup
    read: Setup
    called: Setup

    @classmethod
    def of(cls, setup: Setup, space: FeatureSpace) -> Roads:
        """The roads of a setup to rows of a space with more room."""
        subject, sources = setup.subject, setup.sources
        called, read = subject.with_room(space), subject.read_with_room(space)
        by_call = by_reading = None
        if sources is not None:
            by_call = sources.with_room(space)
            by_reading = by_call if read.predict.native is None else sources.read_with_room(space)
        return cls(
            subject.space,
            replace(setup, subject=replace(called, predict=subject.predict, exact=subject.exact)),
            replace(setup, subject=read, sources=by_reading),
            replace(setup, subject=called, sources=by_call),
        )

    def divide(self, rows: Array) -> list[tuple[Integers, Setup]]:
        """The places of (n, d) rows by the setup that explains them."""
        road = np.where(flag_unseen(self.space, rows).any(axis=1), 2, 0)
        unseen = np.flatnonzero(road)
        sources, is_read = self.read.sources, np.ones(len(unseen), dtype=bool)
        for subject in (self.read.subject, *(() if sources is None else sources.refits)):
            is_read[is_read] = subject.predict.reads(rows[unseen[is_read]], self.space)
        road[unseen[is_read]] = 1
        chosen = zip((np.flatnonzero(road == at) for at in range(3)), (self.usual, self.read, self.called), strict=True)
        return [(places, setup) for places, setup in chosen if places.size]


def explain(
    setup: Setup, rows: Array, seed: int, apply: Apply = map, progress: Progress = silent, roads: Roads | None = None
) -> Explanation:
    """Explain (n, d) rows block by block; samples are kept where there is room for those of all rows."""
    pieces, start, blocks = list[Explanation | Failed](), 0, split(setup, rows)
    kept = SampleStore(len(rows), setup.max_evidence_bytes)
    steps = progress(apply(functools.partial(explain_block, setup, seed=seed, roads=roads), blocks), total=len(blocks))
    for done, block in enumerate(steps, start=1):
        for piece in block:
            if isinstance(piece, Explanation) and piece.cloud is not None:
                piece = replace(piece, cloud=kept.keep(piece.cloud, start))
            pieces.append(piece)
            start += length(piece)
        LOG.info("explained %d of %d blocks of rows", done, len(blocks))
    found = Explanation.concatenate(filled(pieces, functools.partial(_of_reference, setup, seed), setup.failed))
    return found if found.cloud is None else replace(found, cloud=kept.restore(found.cloud))


def explain_table(setup: Setup, table: Any, seed: int, apply: Apply = map, progress: Progress = silent) -> Explanation:
    """Explain the rows of a table; the model decides about those that hold what the reference data do not."""
    space, rows, unseen = encode_unseen(setup.subject.space, table)
    if not unseen.any():
        return explain(setup, rows, seed, apply, progress)
    roads = Roads.of(setup, space)
    found = explain(roads.called, rows, seed, apply, progress, roads)
    refused = unseen & (found.status == "model_failed")
    taken = int(np.sum(unseen & ~refused))
    if taken:
        lack = "levels or missing cells that the reference data lack"
        warn(f"{taken} of {len(rows)} rows: {lack}; the model accepted them")
    return replace(found, status=np.where(refused, "unseen_value", found.status))


def split(setup: Setup, rows: Array) -> list[Array]:
    """Rows in blocks that fit into memory."""
    starts = range(0, max(len(rows), 1), setup.rows_at_once)
    return [rows[start : start + setup.rows_at_once] for start in starts]


def _of_reference(setup: Setup, seed: int) -> Blocks:
    """Explain some reference rows, without their samples."""
    pieces = explain_block(setup, setup.subject.space.rows[:REFERENCE_ROWS], seed)
    return [piece if isinstance(piece, Failed) else replace(piece, cloud=None) for piece in pieces]


def explain_block(setup: Setup, rows: Array, seed: int, roads: Roads | None = None) -> Blocks:
    """Explain a block of (n, d) rows; those that the model fails for are set apart."""

    def explain(some: Array) -> Explanation:
        parts = [(np.arange(len(some)), setup)] if roads is None else roads.divide(some)
        found = [_explain_alike(one, some[places], seed) for places, one in parts]
        return found[0] if len(found) == 1 else fields.join(found, [places for places, _ in parts])

    return isolated(explain, rows)


def _explain_alike(setup: Setup, rows: Array, seed: int) -> Explanation:
    """Explain rows that take the same road."""
    more = functools.partial(_run, setup, rows, setup.subject.predict.own(rows), seed)
    return _allow_for_sources(setup, setup.stop(more(slice(None), 0), more), rows, seed)


def _allow_for_sources(setup: Setup, found: Explanation, rows: Array, seed: int) -> Explanation:
    if setup.sources is None:
        return found
    from xcid.uncertainty import allow_for

    return allow_for(setup, found, rows, seed)


def _run(setup: Setup, rows: Array, outputs: Array, seed: int, chosen: Any, replicate: int) -> Explanation:
    """Explain some rows of a block once."""
    rows, outputs = rows[chosen], outputs[chosen]
    exact = _exact_contributions(setup, rows, outputs)
    if exact is not None and isinstance(setup.score, ContributionsAlone):
        return _unperturbed(setup, rows, outputs, seed, exact)
    keys, run = setup.subject.space.keys(rows, seed, replicate), functools.partial(run_key, seed, replicate)
    parts, clouds = perturb_by_plan(setup, rows, keys, outputs, run)
    measured = [_measure_cloud(setup, cloud) for cloud in clouds]
    known = {name: fields.joined([each[name] for each in measured], parts) for name in measured[0]}
    cloud = Perturbations.concatenate(clouds, parts)
    known |= _sampled_contributions(setup, cloud, keys, outputs, run) if exact is None else exact
    found = _record(setup, seed, cloud, outputs, known)
    return _find_rare(setup, found, rows, keys, outputs, seed)


def _exact_contributions(setup: Setup, rows: Array, outputs: Array) -> dict[str, Any] | None:
    """Contributions to the outputs of rows by name, where the model adds up on their scale; else None."""
    how, exact, names = setup.contributing, setup.subject.exact, setup.subject.output_names
    if how is None or exact is None or exact.scale != how.scale.name:
        return None
    return count_out(*exact(rows), outputs, names, column_in_question(setup.outcome, outputs, names), how.scale)


def _unperturbed(setup: Setup, rows: Array, outputs: Array, seed: int, known: dict[str, Any]) -> Explanation:
    """Rows of which nothing but their contributions is known."""
    nothing, none = np.full((len(rows), len(setup.subject.features.names)), np.nan), np.zeros(len(rows), dtype=np.int64)
    counts: Any = {"n_evaluations": none, "n_flips": none, "n_positive": none * 1.0, "n_negative": none * 1.0}
    return record(
        setup, outputs, seed, rows=rows, status=np.full(len(rows), "ok"), importance=nothing, **counts, **known
    )


def _sampled_contributions(
    setup: Setup, cloud: Perturbations, keys: Unsigned, outputs: Array, run: Callable[[int], Unsigned]
) -> dict[str, Any]:
    """Contributions to the output of rows, by name, by the perturbations behind their importance or by others."""
    how, spent, names = setup.contributing, cloud.n_evaluations, setup.subject.output_names
    if how is None:
        return {}
    if how.generator is not None and how.features is not None:
        subject = replace(setup.subject, features=how.features)
        other = replace(setup, subject=subject, generator=how.generator)
        parts, clouds = perturb_by_plan(other, cloud.origin, keys, outputs, run)
        cloud = Perturbations.concatenate(clouds, parts)
        spent = spent + cloud.n_evaluations
    column = column_in_question(setup.outcome, outputs, names)
    subject, exact = setup.subject, setup.subject.exact
    known = None if exact is None else (exact.scale, exact(cloud.origin)[0])
    found = contribute(cloud, outputs, names, column, how.scale, subject.usual, how.measure, known)
    return {**found, "n_evaluations": spent}


def _find_rare(setup: Setup, found: Explanation, rows: Array, keys: Unsigned, outputs: Array, seed: int) -> Explanation:
    """Search further for the rows that hardly flip, and that have no feature which probabilities tell from chance."""
    rare = np.flatnonzero((found.n_flips < FEWEST_FLIPS) & ~_have_effects(found))
    if setup.search is None or not rare.size:
        return found
    cloud = perturb(setup, setup.search(), rows[rare], keys[rare], outputs[rare])
    more = score_cloud(setup, seed, cloud, outputs[rare], get_contributions(found[rare]))
    better = np.flatnonzero(more.n_flips >= FEWEST_FLIPS)
    spent = found.n_evaluations.copy()
    spent[rare] += more.n_evaluations
    if better.size:
        size = None if found.cloud is None else found.cloud.positive.shape[1]
        others = np.setdiff1d(np.arange(len(rows)), rare[better])
        none = np.full((better.size, size or 0, outputs.shape[1]), np.nan)  # what was evaluated on the way was not kept
        kept = None if size is None else replace(cloud[better].sized(size), outputs=none)
        more = replace(more[better], cloud=kept)
        found = Explanation.concatenate([found[others], more])[np.argsort(np.concatenate([others, rare[better]]))]
    return replace(found, n_evaluations=spent)


def _have_effects(found: Explanation) -> Flags:
    """(n,) rows with a feature whose importance is not chance, or whose contribution where probabilities tell of it."""
    by_probability = found.details.outcome is not None and as_question(found.details.outcome).least is not None
    p_values = found.p_values if by_probability else found.importance_p_values
    p_values = found.p_values if p_values is None else p_values
    if p_values is None:
        return np.zeros(len(found), dtype=bool)
    told: Flags = np.any(p_values < SURE / p_values.shape[1], axis=1)
    return told


def score_cloud(
    setup: Setup, seed: int, cloud: Perturbations, outputs: Array, contributed: Mapping[str, Any]
) -> Explanation:
    """Score (n, s) samples, and record what was found beside the contributions that are known."""
    return _record(setup, seed, cloud, outputs, {**_measure_cloud(setup, cloud), **contributed})


def _measure_cloud(setup: Setup, cloud: Perturbations) -> dict[str, Any]:
    """The scores of a cloud by name; without what they lack."""
    return {name: part for name, part in setup.score(cloud)._asdict().items() if part is not None}


def _record(setup: Setup, seed: int, cloud: Perturbations, outputs: Array, measured: dict[str, Any]) -> Explanation:
    spent = measured.pop("n_evaluations", cloud.n_evaluations)
    n_flips = np.sum(cloud.positive > 0.5, axis=1)
    status = flipless(cloud.status, n_flips, setup.outcome)
    if isinstance(setup.score, ContributionsAlone):
        status = np.full(len(cloud), "ok")  # contributions need no flips
    return record(
        setup,
        outputs,
        seed,
        rows=cloud.origin,
        status=status,
        n_evaluations=spent,
        n_flips=n_flips,
        n_positive=cloud.positive.sum(axis=1),
        n_negative=cloud.negative.sum(axis=1),
        cloud=cloud,
        **measured,
    )


def record(
    setup: Setup, outputs: Array, seed: int, *, rows: Array, n_evaluations: Integers, **known: Any
) -> Explanation:
    """Put all that is known of (n, d) rows together, their scores by name; engines call it too."""
    parts = {name: getattr(setup, name) for name in ("generator", "score", "outcome", "stop")}
    trained = {} if setup.sources is None else setup.sources.record
    return setup.subject.explanation(
        rows,
        outputs,
        **known,
        n_evaluations=n_evaluations + 1,  # and the row itself
        density=setup.score.density,
        outcome=setup.outcome,
        settings={name: repr(part) for name, part in (parts | {"seed": seed}).items()} | setup.subject.record | trained,
    )


def flipless(status: Any, n_flips: Integers, outcome: Outcome) -> Any:
    """The status of rows: one that says so where a row is explained although few perturbations flip it, or none."""
    few = np.where(n_flips == 0, "no_flips", "few_flips" if as_question(outcome).least is not None else "ok")
    return np.where((status == "ok") & (n_flips < FEWEST_FLIPS), few, status)


def is_nothing(found: Explanation) -> bool:
    """Whether no row that the model can take has a flip, nor a significant feature."""
    is_known = not np.isin(found.status, UNKNOWN).all()
    return is_known and not found.n_flips.any() and not _have_effects(found).any()


def checked(setup: Setup, explanation: Explanation) -> Explanation:
    """Do what the setup says where no decision could be explained; warn where some rows lack perturbations."""
    if isinstance(setup.score, ContributionsAlone):
        return explanation
    if is_nothing(explanation) and is_one_sided(setup.outcome, setup.subject):
        setup.one_sided(
            f"all {len(setup.subject.space.rows)} reference rows and all perturbations lie on one side of "
            f"{setup.outcome!r}: one class only, no decision to explain ({counted(explanation, 0)}); check the "
            "model and the outcome, or give reference data that reach both sides"
        )
    warn_of_few(explanation)
    return explanation
