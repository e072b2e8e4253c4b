"""Which of all flips of a row are shown, and under which titles."""

from __future__ import annotations

import numpy as np

from xcid._kernels.arrays import same
from xcid.records import Array, Integers, Texts
from xcid.whatif.evaluator import Evaluator, Found, join_found
from xcid.whatif.likeness import measure_nearness
from xcid.whatif.proof import NEAREST, SPARSEST
from xcid.whatif.ways import go_against

WITH_REAL = 3  # counterfactuals from which on one is made of real rows, and with refits one is to last
WITH_STEADY = 4  # from which on one is to last without refits, which is not measured then
ALIKE = 0.5  # of the features of two lines are the same: they are not different
OF_ALL = "nearest of all"  # where another one is the nearest that goes against no way


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
