"""Which of all flips of a row are shown, and under which titles; how like real rows each of them is.

A row is like real ones if the next of them is near, and if its values go together as theirs do: two rows may be equally
near to real ones although the values of one never meet. What goes together is told by ranks: as normal scores they have
a matrix of correlations, and a row scores by how much likelier it is with these than without (a Gaussian copula against
independence).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from xcid._kernels.arrays import blocks, products, same, thinned
from xcid.records import Array, Flags, Integers, Texts
from xcid.whatif.evaluator import MOST_CELLS, Evaluator, Found, Goal, find_reaching, join_found
from xcid.whatif.proof import NEAREST, SPARSEST
from xcid.whatif.search_space import SearchSpace
from xcid.whatif.undeclared import go_against

WITH_REAL = 3  # counterfactuals from which on one is made of real rows, and with refits one is to last
WITH_STEADY = 4  # from which on one is to last without refits, which is not measured then
ALIKE = 0.5  # of the features of two lines are the same: they are not different
OF_ALL = "nearest of all"  # where another one is the nearest that goes against no way
N_MEASURED = 128  # reference rows whose distance to the next one says what is usual
NEAR, TOGETHER = 0.97, 0.93  # of the reference rows are as near to another, and go together as well
MOST_GROUPS = 8  # of reference rows with different wanted outputs that are measured by themselves
LIKE_REAL, RARE_ROW, UNLIKE = "like real rows", "rare among real rows", "unlike any reference row"
NO_SUCH_ROW = "no reference row has this output"
SHRUNK = 0.05  # of each correlation
FOLDS = 5  # that scores of reference rows are found without
FEWEST, MOST_FEATURES = 50, 300  # reference rows and features by which dependence is measured


def find_least(evaluator: Evaluator, flips: Found, lines: Found, size: Integers) -> Array:
    """(m,) the smallest distance of flips with as many changes as each line."""
    least, sizes = lines.distance.copy(), evaluator.find_moved(flips).sum(axis=1)
    for line in range(len(least)):
        alike = (flips.owner == lines.owner[line]) & (sizes == size[line])
        least[line] = min(least[line], flips.distance[alike].min(initial=np.inf))
    return least


def choose_lines(
    evaluator: Evaluator, flips: Found, taken: Found, steady: Found, k: int, wanted: tuple[Array, Array]
) -> tuple[Found, Texts]:
    """The sparsest, the nearest, the steady, the likeliest, the nearest of all, then others that share few changes.

    Of as many changes those are preferred that go against no (n, f) ways that are wanted, as a rule or by the reasons
    of a row. The nearest goes against no rule and the likeliest against neither, where there are such.
    """
    everything = join_found([flips, taken, steady])
    moved, place = evaluator.find_moved(everything), np.arange(len(everything.owner))
    size, is_steady = moved.sum(axis=1), place >= len(flips.owner) + len(taken.owner)
    is_taken = (place >= len(flips.owner)) & ~is_steady
    near = measure_plausibility(evaluator, everything) if k >= WITH_REAL else np.zeros(0)
    as_a_rule, by_reasons = (go_against(evaluator, everything, one) for one in wanted)
    owner, is_contrary = everything.owner, as_a_rule | by_reasons
    picked, kinds = [], []
    for one in np.unique(owner):
        both = np.flatnonzero(owner == one)
        both = both[np.lexsort((is_taken[both], everything.distance[both], is_contrary[both], size[both]))]
        mine = both[~is_steady[both]]
        nearest = int(mine[np.argmin(everything.distance[mine])])
        along = mine[~as_a_rule[mine]]
        usual = int(along[np.argmin(everything.distance[along])]) if len(along) else nearest
        named = [(SPARSEST, int(mine[0])), (NEAREST, usual)]
        named += [("steady", int(one)) for one in both[is_steady[both]]]
        if k >= WITH_REAL and np.isfinite(near[both]).any():
            named.append(("likeliest", int(both[np.lexsort((near[both], is_contrary[both]))[0]])))
        named += [(OF_ALL, nearest)] if usual != nearest else []
        titles = dict[int, list[str]]()
        for title, one in named:
            equal = mine[same(everything.rows[mine], everything.rows[one]).all(axis=1)]
            titles.setdefault(int(equal[0]) if len(equal) else one, []).append(title)
        chosen = list(titles)[:k]
        left = [int(one) for one in mine[~is_taken[mine]] if one not in titles]
        while left and len(chosen) < k:
            common = moved[left][:, None] & moved[chosen][None]
            either = moved[left][:, None] | moved[chosen][None]
            overlap = (common.sum(axis=2) / either.sum(axis=2)).max(axis=1)
            best = int(np.lexsort((overlap, is_contrary[left]))[0])
            if overlap[best] > ALIKE:
                left.pop(best)
                continue
            chosen.append(left.pop(best))
        picked += chosen
        kinds += [" and ".join(titles.get(one, ["different"])) for one in chosen]
    return everything[np.array(picked, dtype=np.int64)], np.array(kinds, dtype=np.str_)


def measure_plausibility(evaluator: Evaluator, lines: Found) -> Array:
    """(m,) distances to the nearest real row with the wanted output, without those that there is none for."""
    rows = evaluator.search_space.subject.features.fold(evaluator.complete_rows(lines.rows, lines.owner))
    near = measure_nearness(evaluator.search_space, evaluator.goal, rows, lines.owner, evaluator.outputs).distance
    return np.where(np.isnan(near), np.inf, near)


class Nearness(NamedTuple):
    """How far (m,) rows are from the nearest reference row with the wanted output, and in words how like such rows."""

    distance: Array
    words: Texts


def measure_nearness(search_space: SearchSpace, goal: Goal, rows: Array, owner: Integers, outputs: Array) -> Nearness:
    """Compare (m, f) rows with the reference rows that reach the goal of their owner; the (n, k) outputs are of owners.

    Words compare the distance with those of such reference rows to their own next ones, and what goes together with
    what does in all reference rows.
    """
    distance, words = np.full(len(rows), np.nan), np.full(len(rows), NO_SUCH_ROW)
    owners = np.unique(owner)
    parts = blocks(max(1, len(owners)), MOST_CELLS // len(search_space.donors))
    there = np.concatenate([find_reaching(search_space, goal, outputs[owners[part]]) for part in parts])
    _, first, which = np.unique(np.packbits(there, axis=1), axis=0, return_index=True, return_inverse=True)
    group = which.ravel()[np.searchsorted(owners, owner)]
    usual, (is_like, is_known) = _measure_usual(search_space, search_space.donors), _judge(search_space.donors, rows)
    for at, line in enumerate(first):
        donors, mine = search_space.donors[there[line]], np.flatnonzero(group == at)
        if len(donors):
            distance[mine] = _measure_nearest(search_space, rows[mine], donors)
            like, rare = (
                _measure_usual(search_space, donors) if len(first) <= MOST_GROUPS and len(donors) > 1 else usual
            )
            words[mine] = np.where((distance[mine] <= rare) & is_known[mine], RARE_ROW, UNLIKE)
            words[mine] = np.where((distance[mine] <= like) & is_like[mine], LIKE_REAL, words[mine])
    return Nearness(distance, words)


def _measure_usual(search_space: SearchSpace, donors: Array) -> tuple[float, float]:
    """How far most reference rows are from the next one, at most, and how far any is."""
    some = thinned(len(donors), N_MEASURED)
    between = search_space.metric.between(donors[some, None], donors[None])
    between[np.arange(len(some)), some] = np.inf
    nearest = between.min(axis=1)
    return float(np.quantile(nearest, NEAR)), float(nearest.max())


def _measure_nearest(search_space: SearchSpace, rows: Array, donors: Array) -> Array:
    parts = blocks(len(rows), MOST_CELLS // max(1, len(donors)))
    return np.concatenate([search_space.metric.between(rows[part, None], donors[None]).min(axis=1) for part in parts])


def _judge(donors: Array, rows: Array) -> tuple[Flags, Flags]:
    """(m,) whether the values of rows go together as in most of (N, f) reference rows, and as in any."""
    if len(donors) < FEWEST or donors.shape[1] > MOST_FEATURES or not len(rows):
        return np.ones(len(rows), dtype=bool), np.ones(len(rows), dtype=bool)
    fold, usual = np.arange(len(donors)) % FOLDS, np.zeros(len(donors))
    for one in range(FOLDS):
        usual[fold == one] = Dependence.of(donors[fold != one]).score(donors[fold == one])
    score = Dependence.of(donors).score(rows)
    return np.asarray(score <= np.quantile(usual, TOGETHER)), np.asarray(score <= usual.max())


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """What goes with what in reference rows: their sorted values, and by how much correlations sharpen the density."""

    known: Array  # (N, f) each column in order, NaN last
    counts: Integers  # (f,) cells that are not missing
    sharpened: Array  # (f, f) the inverse of the correlations of normal scores, less that of independence

    @staticmethod
    def of(rows: Array) -> Dependence:
        """Learn it from (N, f) rows."""
        known, counts = np.sort(rows, axis=0), np.sum(~np.isnan(rows), axis=0)
        scores = _find_scores(known, counts, rows)
        spread = np.sqrt(np.mean(scores**2, axis=0))
        spread[spread == 0] = 1.0
        together = (1 - SHRUNK) * products(scores.T) / len(rows) / spread[:, None] / spread
        np.fill_diagonal(together, 1.0)
        return Dependence(known, counts, np.linalg.inv(together) - np.eye(len(together)))

    def score(self, rows: Array) -> Array:
        """(m,) the higher, the less do the values of (m, f) rows go together."""
        scores = _find_scores(self.known, self.counts, rows)
        return np.asarray(np.einsum("ij,jk,ik->i", scores, self.sharpened, scores))


def _find_scores(known: Array, counts: Integers, rows: Array) -> Array:
    """(m, f) normal scores of the ranks of cells among the known ones; 0 for missing cells."""
    made = np.zeros(rows.shape)
    for at, count in enumerate(counts.tolist()):
        cells = known[:count, at]
        low, high = (np.searchsorted(cells, rows[:, at], side) for side in ("left", "right"))
        made[:, at] = special.ndtri(((low + high) / 2 + 0.5) / (count + 1))
    return np.where(np.isnan(rows), 0.0, made)
