"""What happens to a block of rows: perturb, ask, score, record. Functions of a setup, a seed and rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from xcid._check import LOG, Progress, silent, warn
from xcid._faults import Deadline, Failed, counted, filled, isolated, warn_of_few
from xcid._kernels.random import run_key, variants
from xcid.cid.calibrated import ContributionsAlone
from xcid.cid.generators.search import Drawn, Generator
from xcid.contributions.scale import column_in_question, contribute, count_out, get_contributions
from xcid.outcomes import Outcome
from xcid.outcomes.protocol import as_question
from xcid.records import UNKNOWN, Array, Explanation, Flags, Integers, Perturbations, Unsigned, fields
from xcid.setup import Membership, Setup, is_one_sided, weights
from xcid.table import met

Blocks: TypeAlias = list[Explanation | Failed]
Apply: TypeAlias = Callable[[Callable[[Array], Blocks], list[Array]], Iterable[Blocks]]
REFERENCE_ROWS = 4  # that a model is tried on when it failed for all others
FEWEST_FLIPS = 5  # that a set can be described by
CHANGED = 1e-5  # of an output: further than a model that is read from inside may be from what it answers
SURE = 0.01  # p-value of some feature of a row that needs no flips to be explained


def explain(setup: Setup, rows: Array, seed: int, apply: Apply = map, progress: Progress = silent) -> Explanation:
    """Explain (n, d) rows block by block; samples are kept while they are few."""
    pieces, kept_bytes, blocks = list[Explanation | Failed](), 0, split(setup, rows)
    steps = progress(apply(functools.partial(explain_block, setup, seed=seed), blocks), total=len(blocks))
    for done, block in enumerate(steps, start=1):
        for piece in block:
            if isinstance(piece, Explanation) and piece.cloud is not None:
                kept_bytes += piece.cloud.nbytes
                piece = piece if kept_bytes <= setup.max_evidence_bytes else replace(piece, cloud=None)
            pieces.append(piece)
        LOG.info("explained %d of %d blocks of rows", done, len(blocks))
    return Explanation.concatenate(filled(pieces, functools.partial(_of_reference, setup, seed), setup.failed))


def explain_table(setup: Setup, table: Any, seed: int, apply: Apply = map, progress: Progress = silent) -> Explanation:
    """Explain the rows of a table; the model decides about those that hold what the background does not."""
    space, rows, unseen = met(setup.subject.space, table)
    if not unseen.any():
        return explain(setup, rows, seed, apply, progress)
    wide = replace(setup, subject=setup.subject.with_room(space))
    found = explain(wide, rows, seed, apply, progress)
    refused = unseen & (found.status == "model_failed")
    taken = int(np.sum(unseen & ~refused))
    if taken:
        warn(
            f"{taken} of {len(rows)} rows: levels or missing cells that the reference data lack; "
            "the model accepted them"
        )
    return replace(found, status=np.where(refused, "unseen_value", found.status))


def split(setup: Setup, rows: Array) -> list[Array]:
    """Rows in blocks that fit into memory."""
    starts = range(0, max(len(rows), 1), setup.rows_at_once)
    return [rows[start : start + setup.rows_at_once] for start in starts]


def _of_reference(setup: Setup, seed: int) -> Blocks:
    """Explain some background rows, without their samples."""
    pieces = explain_block(setup, setup.subject.space.rows[:REFERENCE_ROWS], seed)
    return [piece if isinstance(piece, Failed) else replace(piece, cloud=None) for piece in pieces]


def explain_block(setup: Setup, rows: Array, seed: int) -> Blocks:
    """Explain a block of (n, d) rows; those that the model fails for are set apart."""

    def explain(some: Array) -> Explanation:
        more = functools.partial(_run, setup, some, setup.subject.predict.own(some), seed)
        return setup.stop(more(slice(None), 0), more)

    return isolated(explain, rows)


def _run(setup: Setup, rows: Array, outputs: Array, seed: int, chosen: Any, replicate: int) -> Explanation:
    """Explain some rows of a block once."""
    rows, outputs = rows[chosen], outputs[chosen]
    exact = _exact_contributions(setup, rows, outputs)
    if exact is not None and isinstance(setup.score, ContributionsAlone):
        return _unperturbed(setup, rows, outputs, seed, exact)
    keys, run = setup.subject.space.keys(rows, seed, replicate), functools.partial(run_key, seed, replicate)
    parts, clouds = perturb_by_plan(setup, rows, keys, outputs, run)
    measured = [_scored(setup, cloud) for cloud in clouds]
    known = {name: fields.joined([each[name] for each in measured], parts) for name in measured[0]}
    cloud = Perturbations.concatenate(clouds, parts)
    known |= _sampled_contributions(setup, cloud, keys, outputs, run) if exact is None else exact
    found = _recorded(setup, seed, cloud, outputs, known)
    return _searched(setup, found, rows, keys, outputs, seed)


def _exact_contributions(setup: Setup, rows: Array, outputs: Array) -> dict[str, Any] | None:
    """Contributions to the outputs of rows by name, where the model adds up on their scale; else None."""
    how, exact, names = setup.contributing, setup.subject.exact, setup.subject.output_names
    if how is None or exact is None or exact.scale != how.scale.name:
        return None
    column = column_in_question(setup.outcome, outputs, names)
    return count_out(*exact(rows), outputs, names, column, how.scale)


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
    found = contribute(cloud, outputs, names, column, how.scale, setup.subject.usual, how.measure)
    return {**found, "n_evaluations": spent}


def perturb_by_plan(
    setup: Setup, rows: Array, keys: Unsigned, outputs: Array, run: Callable[[int], Unsigned]
) -> tuple[list[Integers], list[Perturbations]]:
    """Perturb rows: the places of some of them, and their cloud.

    A generator that draws for many rows at once draws for some of them, chosen by what is in them: a row gets the same
    scores alone and in a batch, and rows do not all share what chance does.
    """
    draw = getattr(setup.generator, "draw", None)
    if draw is None:
        return [np.arange(len(rows))], [perturb(setup, setup.generator, rows, keys, outputs)]
    which, shared = variants(keys), setup.subject.features.space
    parts = [np.flatnonzero(which == variant) for variant in np.unique(which)]
    drawn = [(part, draw(shared, run(int(which[part[0]])))) for part in parts]
    return parts, [perturb(setup, one, rows[part], keys[part], outputs[part]) for part, one in drawn]


def _searched(setup: Setup, found: Explanation, rows: Array, keys: Unsigned, outputs: Array, seed: int) -> Explanation:
    """Search further for the rows that hardly flip, and that have no feature which probabilities tell from chance."""
    rare = np.flatnonzero((found.n_flips < FEWEST_FLIPS) & ~_told(found))
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
        none = np.full((better.size, size or 0, outputs.shape[1]), np.nan)  # what was asked on the way was not kept
        kept = None if size is None else replace(cloud[better].sized(size), outputs=none)
        more = replace(more[better], cloud=kept)
        found = Explanation.concatenate([found[others], more])[np.argsort(np.concatenate([others, rare[better]]))]
    return replace(found, n_evaluations=spent)


def _told(found: Explanation) -> Flags:
    """(n,) rows with a feature whose importance is not chance, or whose contribution where probabilities tell of it."""
    by_probability = found.outcome is not None and as_question(found.outcome).least is not None
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
    return _recorded(setup, seed, cloud, outputs, {**_scored(setup, cloud), **contributed})


def _scored(setup: Setup, cloud: Perturbations) -> dict[str, Any]:
    """The scores of a cloud by name; without what they lack."""
    return {name: part for name, part in setup.score(cloud)._asdict().items() if part is not None}


def _recorded(setup: Setup, seed: int, cloud: Perturbations, outputs: Array, measured: dict[str, Any]) -> Explanation:
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


def perturb(setup: Setup, generator: Generator, rows: Array, keys: Unsigned, outputs: Array) -> Perturbations:
    """Let a generator perturb the features, and give its cloud back in columns of the table."""
    subject, deadline = setup.subject, Deadline(setup.time_limit, len(rows))
    heard, cloud = list[Array](), None
    if isinstance(generator, Drawn):
        cloud = _read(setup, generator, rows, outputs, deadline)
    if cloud is None:
        more = {"hear": heard.append} if isinstance(generator, Drawn) else {}  # a search asks about more than it keeps
        member = Membership(subject, setup.outcome, rows, outputs, deadline, **more)
        cloud = generator(subject.features.fold(rows), keys, subject.features.space, member)
    if heard:
        cloud = replace(cloud, outputs=np.concatenate(heard).reshape(*cloud.positive.shape, -1))
    return subject.features.unfold_cloud(by_log_odds(cloud, setup.outcome), rows, subject.space)


def _read(setup: Setup, drawn: Drawn, rows: Array, outputs: Array, deadline: Deadline) -> Perturbations | None:
    """The cloud of a plan by a model that is read from inside; None where it is not, or samples are made for rows."""
    subject, plan = setup.subject, drawn.plan
    if plan.fitted.any():
        return None
    answers = subject.predict.planned(subject.features.unfold_plan(plan, subject.space), len(rows))
    if answers is None:
        return None
    deadline.check()
    found = answers(rows)
    deadline.check()
    own = found[:, ~plan.taken.any(axis=1)]  # samples that take nothing: the row itself
    if np.any(np.abs(own - outputs[:, None]) > CHANGED * np.maximum(1, np.abs(outputs[:, None]))):
        LOG.info("the model is asked, since it has changed since the explainer read it")
        return None
    folded, space = subject.features.fold(rows), subject.features.space
    return replace(drawn.cloud(folded, weights(setup.outcome, found, outputs), space), outputs=found)


def by_log_odds(cloud: Perturbations, outcome: Outcome) -> Perturbations:
    """The same cloud, which knows how small its probabilities get where it has some; log odds need no flips."""
    least = as_question(outcome).least
    if least is not None and cloud.plans:
        cloud = replace(cloud, status=np.full(len(cloud), "ok"))
    return replace(cloud, least=least)


def record(
    setup: Setup, outputs: Array, seed: int, *, rows: Array, n_evaluations: Integers, **known: Any
) -> Explanation:
    """Put all that is known of (n, d) rows together, their scores by name; engines call it too."""
    parts = {name: getattr(setup, name) for name in ("generator", "score", "outcome", "stop")}
    return setup.subject.explanation(
        rows,
        outputs,
        **known,
        n_evaluations=n_evaluations + 1,  # and the row itself
        density=setup.score.density,
        outcome=setup.outcome,
        settings={name: repr(part) for name, part in (parts | {"seed": seed}).items()} | setup.subject.record,
    )


def flipless(status: Any, n_flips: Integers, outcome: Outcome) -> Any:
    """The status of rows: one that says so where a row is explained although few perturbations flip it, or none."""
    few = np.where(n_flips == 0, "no_flips", "few_flips" if as_question(outcome).least is not None else "ok")
    return np.where((status == "ok") & (n_flips < FEWEST_FLIPS), few, status)


def is_nothing(found: Explanation) -> bool:
    """Whether no row that the model could be asked about has a flip, nor a significant feature."""
    is_known = not np.isin(found.status, UNKNOWN).all()
    return is_known and not found.n_flips.any() and not _told(found).any()


def checked(setup: Setup, explanation: Explanation) -> Explanation:
    """Do what the setup says where no decision could be explained; warn where some rows lack perturbations."""
    if isinstance(setup.score, ContributionsAlone):
        return explanation
    if is_nothing(explanation) and is_one_sided(setup.outcome, setup.subject):
        setup.one_sided(
            f"all {len(setup.subject.space.rows)} reference rows and all perturbations lie on one side of "
            f"{setup.outcome!r}: one class only, no decision to explain ({counted(explanation, 0)}); check the "
            "model and the outcome, or give reference data (background) that reach both sides"
        )
    warn_of_few(explanation)
    return explanation
