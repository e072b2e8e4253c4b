"""Changes that last: how likely they still work in a model trained on other data, and those that do.

The search stops where exactly this model says yes, so its own margin flatters. With refits, the chance is a tail of
Student's t about their mean with twice their standard deviation, less what refits that share its rows flatter: a fresh
model is not centred where they are, and their plain share promises too much. Changes that a search chose by the very
refits that promise flatter themselves, so with many refits one half searches and the other one promises; few promise no
more than their number can tell. Without refits a margin of probability is all there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from xcid.outcomes.classes import are_probabilities
from xcid.records import Array
from xcid.subject import Subject
from xcid.whatif.evaluator import Evaluator, Found, Goal, join_found
from xcid.whatif.proof import Asked, prove
from xcid.whatif.pruning import prune, refine
from xcid.whatif.search import search_flips
from xcid.whatif.undeclared import go_against, restrict

MARGINS = float(np.log(7 / 3)), float(np.log(9))  # log odds beyond the goal: probabilities of 0.7 and 0.9
MOST_WORK = 2e7  # leaves that are looked at for a row, each time
WORTH = 0.2  # of the chance that each change must add
SPREAD = 2.0  # standard deviations of refits that one of a fresh model counts for
FLATTERED = 0.5  # of t, by refits that share the rows of the model that was searched
HALVED = 16  # refits from which on one half searches, and the other one promises
LARGEST = 30.0  # log odds: those of a probability of 1 are infinite


def halve(refits: Sequence[Subject]) -> tuple[tuple[Subject, ...], tuple[Subject, ...]]:
    """Refits that a search is led by, and those that say what lasts: other ones where there are many."""
    every = tuple(refits)
    return (every[::2], every[1::2]) if len(every) >= HALVED else (every, every)


def measure_survival(goal: Goal, refits: Sequence[Subject], table: Array, own: Array) -> Array:
    """(m,) chances that (m, d) rows reach the goal of (m, k) own outputs in a fresh model, by all refits.

    Fewer than 16 led the search themselves: of n that agree, no more than n / (n + 2) is promised then.
    """
    judges, n = halve(refits)[1], len(refits)
    found = special.stdtr(len(judges) - 1, _measure_t(goal, judges, table, own) - FLATTERED)
    return np.minimum(found, 1.0 if n >= HALVED else n / (n + 2))


def _measure_t(goal: Goal, refits: Sequence[Subject], table: Array, own: Array) -> Array:
    """(m,) mean gains of rows by some refits, in the errors of one fresh model."""
    if not len(table):
        return np.zeros(0)
    most = LARGEST if are_probabilities(refits[0].known) else np.inf
    gains = np.clip([goal.gain(one.predict(table), own) for one in refits], -most, most)
    error = np.maximum(SPREAD * gains.std(axis=0, ddof=1), 1e-9)
    return np.asarray(gains.mean(axis=0) / error)


def find_steady(
    evaluator: Evaluator, flips: Found, refits: tuple[Subject, ...], wanted: Array, time_limit: float | None
) -> Found:
    """For each row the changes that last longest, where each one more must be worth it.

    Without refits they are the fewest and smallest that keep a margin, or those that keep the largest. Of as many
    changes those come first that go against none of the (n, f) ways that are wanted.
    """
    refits = halve(refits)[0]
    subject, nothing = evaluator.search_space.subject, flips[np.zeros(0, dtype=np.int64)]
    if subject.is_regression or not are_probabilities(subject.outputs):
        return nothing
    parts = [flips]
    for rows, along in restrict(evaluator, wanted, np.arange(len(evaluator.own))):
        for margin in (0.0, *MARGINS):
            part = replace(along, goal=replace(along.goal, margin=margin))
            made = [prove(part, nothing, time_limit, Asked((1,), MOST_WORK, refits)).better] if refits else []
            if margin:
                found, _ = search_flips(part, part.goal.gain(part.outputs, part.outputs), 1)
                found = refine(part, prune(part, found, np.ones(len(found.owner), dtype=bool)))
                made += [found, prove(part, found, time_limit, Asked((1,), MOST_WORK)).better]
            parts += [replace(one, owner=rows[one.owner]) for one in made]
        evaluator.n_evaluations[rows] += along.n_evaluations
    every = join_found(parts)
    own, size = evaluator.outputs[every.owner], evaluator.find_moved(every).sum(axis=1)
    if refits:
        table = evaluator.complete_rows(every.rows, every.owner)
        chance = special.stdtr(len(refits) - 1, _measure_t(evaluator.goal, refits, table, own))
        worth = chance - WORTH * size
    else:
        gain = np.minimum(evaluator.gain(every.rows, every.owner), LARGEST)
        worth = np.where(gain >= MARGINS[-1] - 1e-9, LARGEST + 1.0 / (1.0 + size), gain)
    is_contrary = go_against(evaluator, every, wanted)
    order = np.lexsort((every.distance, is_contrary, -worth, every.owner))
    return every[order[np.unique(every.owner[order], return_index=True)[1]]]
