"""From rows to counterfactuals: search, prune, choose, evaluate once more, and say what each change is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from xcid._check import as_int
from xcid._faults import Deadline, Failed, isolated
from xcid._kernels.arrays import blocks
from xcid.outcomes import Outcome
from xcid.records import Array, Flags, Integers, Texts
from xcid.subject import Subject
from xcid.whatif.choice import WITH_REAL, WITH_STEADY, choose_lines, find_least, measure_nearness
from xcid.whatif.evaluator import (
    FEWEST_DIGITS,
    Evaluator,
    Found,
    Goal,
    count_digits,
    describe_output,
    goal_of,
    join_found,
    pick_one_of_each_set,
)
from xcid.whatif.proof import ALL, NO_SUCH, prove
from xcid.whatif.pruning import shares
from xcid.whatif.record import ALREADY, FAILED, NOT_REACHED, Counterfactuals
from xcid.whatif.search import KEPT, MOST_SLOTS, PAIRS, finish, search_along, search_flips
from xcid.whatif.search_space import N_QUANTILES, SearchSpace
from xcid.whatif.steady import find_steady, measure_survival
from xcid.whatif.undeclared import Cited, Ways, find_contrary, join_blocks, note_unchangeable

MOST_ROWS = 256  # of a block
COPIES = 4  # of what is tried at once: as features, as a table, for the model


class SearchSettings(NamedTuple):
    """What is wanted for every block of rows."""

    search_space: SearchSpace
    goal: Goal
    ways: Ways
    k: int
    seed: int
    time_limit: float | None
    refits: tuple[Subject, ...] = ()


class Block(NamedTuple):
    """Counterfactuals of the rows of a block: fields of the record, by line and by row."""

    row: Integers
    kind: Texts
    rows: Array
    moved: Flags
    contrary: Flags
    unknown: Flags
    distance: Array
    was: Array
    output: Array
    digits: Integers
    about: Texts
    plausibility: Array
    likeness: Texts
    proof: Texts
    bound: Array
    among: Texts
    survival: Array
    shares: Array
    order: Integers
    path: Array
    n_evaluations: Integers


def find_counterfactuals(
    subject: Subject,
    outcome: Outcome,
    rows: Array,
    index: Any,
    target: Any = None,
    k: int = 3,
    seed: int = 0,
    time_limit: float | None = None,
    memory: int = 2**28,
    refits: tuple[Subject, ...] = (),
) -> Counterfactuals:
    """Find k counterfactuals for each of (n, d) rows; the rows of a block and what is tried take ``memory`` bytes.

    ``refits`` are models of the same kind, trained again, which say how likely changes last.
    """
    subject = join_blocks(subject)
    search_space, goal = SearchSpace.of(subject), goal_of(target, subject, outcome)
    k, ways = as_int(k, "k", at_least=1), Ways(search_space)
    settings = SearchSettings(search_space, goal, ways, k, seed, time_limit, refits)
    pieces = [
        piece
        for part in blocks(len(rows), _rows_at_once(search_space, memory))
        for piece in isolated(lambda some: _block(settings, some), rows[part])
    ]
    failed = [piece for piece in pieces if isinstance(piece, Failed)]
    if failed and len(failed) == len(pieces):
        subject.predict(subject.space.background[: len(rows)])  # a model that fails for these, too, is broken
    parts = [_unknown(settings, piece) if isinstance(piece, Failed) else piece for piece in pieces]
    starts = np.cumsum([0, *(len(part.n_evaluations) for part in parts)])
    shifted = [part._replace(row=part.row + start) for part, start in zip(parts, starts, strict=False)]
    whole = Block(*(np.concatenate(fields) for fields in zip(*shifted, strict=True)))
    notes = _notes(
        subject, rows, whole, [f"{len(failed)} of {len(rows)} rows failed: {failed[0].error}"] if failed else []
    )
    return Counterfactuals(
        index=index,
        data=rows,
        feature_names=subject.features.names,
        features=subject.features.columns,
        columns=subject.space.columns,
        notes=notes,
        decode=subject.space.decode,
        **whole._asdict(),
    )


def _rows_at_once(search_space: SearchSpace, memory: int) -> int:
    """Rows of a block."""
    f, d = len(search_space.step), len(search_space.subject.space.names)
    pairs = min(KEPT * f, MOST_SLOTS) ** 2 // 2  # that are ranked before some are evaluated
    return max(1, min(MOST_ROWS, memory // (COPIES * 8 * ((N_QUANTILES * f + PAIRS) * d + pairs))))


def _block(settings: SearchSettings, table: Array) -> Block:
    """Counterfactuals of the (n, d) rows of a block."""
    subject, counts = settings.search_space.subject, np.ones(len(table), dtype=np.int64)
    outputs, own = subject.predict(table), subject.features.fold(table)
    deadline = Deadline(settings.time_limit, len(table))
    evaluator = Evaluator(settings.search_space, settings.goal, own, table, outputs, deadline, counts)
    start = settings.goal.gain(outputs, outputs)
    open_ = np.flatnonzero(start <= 0)
    some = evaluator.of_rows(open_)
    flips, best = search_flips(some, start[open_], settings.k)
    flips, likeliest = finish(some, flips, settings.k)
    proofs = prove(some, flips, settings.time_limit)
    flips = join_found([flips, proofs.better])
    flips = flips[pick_one_of_each_set(some.find_moved(flips), flips.owner, flips.distance)]
    wanted, flips, likeliest, along = search_along(
        some, settings.ways, flips, likeliest, (settings.k, settings.time_limit)
    )
    proofs = replace(proofs, along=along)
    steady, cited = flips[np.zeros(0, dtype=np.int64)], settings.ways.cite(evaluator)
    if settings.k >= (WITH_REAL if settings.refits else WITH_STEADY):
        wanted = settings.ways.find_wanted(some)
        steady = find_steady(some, flips, settings.refits, wanted, settings.time_limit)
    both = wanted, np.where(wanted != 0, 0.0, cited.back[open_])
    found, kinds = choose_lines(some, flips, likeliest, steady, settings.k, both)
    size = some.find_moved(found).sum(axis=1)
    proof, bound, among = proofs.of_lines(found, kinds, size, find_least(some, flips, found, size))
    missed = best[np.setdiff1d(np.arange(len(open_)), found.owner)]
    evaluator.n_evaluations[open_] += some.n_evaluations
    done = np.flatnonzero(start > 0)
    parts = [
        replace(found, owner=open_[found.owner]),
        replace(missed, owner=open_[missed.owner]),
        Found(own[done], done, start[done], np.zeros(len(done))),
    ]
    kind = np.concatenate([kinds, np.full(len(missed.owner), NOT_REACHED), np.full(len(done), ALREADY)])
    unreached = np.where(proofs.none_exists(missed.owner), NO_SUCH, "")
    lines, nothing = join_found(parts), np.full(len(missed.owner) + len(done), np.nan)
    order = np.argsort(lines.owner, kind="stable")
    proof = np.concatenate([proof, unreached, np.full(len(done), "")])[order]
    among = np.concatenate([among, np.where(unreached, ALL, ""), np.full(len(done), "")])[order]
    block = _describe_lines(settings, evaluator, lines[order], kind[order], cited)
    return block._replace(proof=proof, bound=np.concatenate([bound, nothing])[order], among=among)


def _describe_lines(settings: SearchSettings, evaluator: Evaluator, lines: Found, kind: Texts, cited: Cited) -> Block:
    """All that is said about the lines of a block; ``cited`` are the reasons of its rows."""
    search_space, goal, owner = settings.search_space, settings.goal, lines.owner
    table = evaluator.complete_rows(lines.rows, owner)
    own = evaluator.outputs[owner]
    outputs = evaluator.predict(table, owner) if len(owner) else own
    column, about = describe_output(goal, outputs, own, search_space.subject.output_names)
    at = np.arange(len(owner))

    def value(mixed: Array, which: Integers) -> Array:
        predicted = evaluator.predict(evaluator.complete_rows(mixed, owner[which]), owner[which])
        return predicted[np.arange(len(which)), column[which]]

    keys = search_space.subject.space.keys(evaluator.table[owner], settings.seed)
    near = measure_nearness(search_space, goal, search_space.subject.features.fold(table), owner, evaluator.outputs)
    wanted = settings.ways.find_wanted(evaluator, np.flatnonzero(evaluator.find_moved(lines).any(axis=0)))
    wanted = np.where(wanted != 0, wanted, cited.back)[owner]
    worse = settings.ways.find_worse(evaluator, lines, table, cited.against)
    is_there = goal.gain(outputs, own) > 0
    split = shares(lines.rows, evaluator.own[owner], keys, value)
    survival = measure_survival(goal, settings.refits, table, own) if settings.refits else np.full(len(owner), np.nan)
    return Block(
        row=owner,
        kind=np.where((kind != NOT_REACHED) & ~is_there, NOT_REACHED, kind),  # evaluated once more
        rows=table,
        moved=split.order > 0,
        contrary=find_contrary(lines.rows, evaluator.own[owner], wanted) | worse,
        unknown=settings.ways.find_unknown(lines.rows, evaluator.own[owner]) | worse,
        distance=evaluator.distance(lines.rows, owner),
        was=own[at, column],
        output=outputs[at, column],
        digits=count_digits(goal, (own, outputs), own, column),
        about=about,
        plausibility=near.distance,
        likeness=near.words,
        proof=np.full(len(owner), ""),
        bound=np.full(len(owner), np.nan),
        among=np.full(len(owner), ""),
        survival=np.where(is_there, survival, np.nan),
        **split._asdict(),
        n_evaluations=evaluator.n_evaluations,
    )


def _unknown(settings: SearchSettings, failed: Failed) -> Block:
    """Lines of rows that the model failed for."""
    n, folded = len(failed.rows), settings.search_space.subject.features.fold(failed.rows)
    nothing, none = np.full(n, np.nan), np.zeros(folded.shape)
    return Block(
        row=np.arange(n),
        kind=np.full(n, FAILED),
        rows=failed.rows,
        moved=none > 0,
        contrary=none > 0,
        unknown=none > 0,
        distance=nothing,
        was=nothing,
        output=nothing,
        digits=np.full(n, FEWEST_DIGITS),
        about=np.full(n, ""),
        plausibility=nothing,
        likeness=np.full(n, ""),
        proof=np.full(n, ""),
        bound=nothing,
        among=np.full(n, ""),
        survival=nothing,
        shares=none,
        order=none.astype(np.int64),
        path=np.full(folded.shape, np.nan),
        n_evaluations=np.zeros(n, dtype=np.int64),
    )


def _notes(subject: Subject, rows: Array, whole: Block, notes: list[str]) -> tuple[str, ...]:
    """What there is to know: features that people cannot change, rows that break a rule themselves."""
    notes = [*notes, *note_unchangeable(subject, whole.moved, "lines")]
    for name, broken in subject.rules.broken(rows) if len(rows) else []:
        if broken.any():
            notes.append(f"{broken.sum()} of {len(rows)} rows break the relation {name} themselves")
    return tuple(notes)
