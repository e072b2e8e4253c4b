"""Whether the rows to explain look like the reference data: column by column, and as a whole."""

from __future__ import annotations

import numpy as np

from xcid._kernels.arrays import thinned
from xcid.records import Array, Flags
from xcid.table import FeatureSpace
from xcid_lab.validation.cases import Case
from xcid_lab.validation.judging import CONFIDENCE, Share, binomial, judge
from xcid_lab.validation.records import Check

APART = 0.10  # two distributions: the largest difference of their shares that is of no account
FAR, MOST_FAR = 0.99, 0.05  # a row is far that is farther away than this share of the reference rows; most such rows
MOST = 1_000  # reference rows that distances are measured to
COLUMNS, ROWS = "columns are distributed alike", "rows are like reference rows"


def check_columns(case: Case) -> Check:
    """Compare each column of the rows with that of the reference data."""
    space = case.setup.subject.space
    d = len(space.columns)
    found = [
        _distance(case.all_rows[:, at], space.background[:, at], len(space.columns[at].levels), d) for at in range(d)
    ]
    worst = max(range(d), key=lambda at: found[at].low)
    off = [space.names[at] for at in range(d) if found[at].low > APART]
    tried = (
        f"{len(case.all_rows):,} rows beside {len(space.background):,} reference rows, {d} columns: the largest "
        "difference of two cumulative shares, or of shares of levels (intervals hold for all columns together)"
    )
    meaning = (
        "As far as so many rows can tell, each column is distributed as in the reference data.",
        f"{len(off)} of {d} columns, most of all {space.names[worst]!r}, are distributed differently in the rows and "
        "in the reference data: base values and contributions are about cases unlike these.",
    )
    return judge(COLUMNS, tried, found[worst], "at most", APART, meaning)


def _distance(cells: Array, reference: Array, n_levels: int, n_columns: int) -> Share:
    """How far two distributions are apart, and limits that hold for all columns together."""
    alpha = (1 - CONFIDENCE) / n_columns
    size = np.sqrt(1 / len(cells) + 1 / len(reference))
    places = np.unique(np.concatenate([cells, reference]))
    shares = [
        np.array([np.mean(_same(one, place) if n_levels else _below(one, place)) for place in places])
        for one in (cells, reference)
    ]
    gaps = np.abs(shares[0] - shares[1])
    figure = float(gaps.sum() / 2 if n_levels else gaps.max())
    likely = len(places) * np.log(2) if n_levels else np.log(2)
    reach = float(np.sqrt((likely + np.log(1 / alpha)) / 2) * size)
    return Share(figure, max(0.0, figure - reach), min(1.0, figure + reach))


def _same(cells: Array, place: float) -> Flags:
    return np.isnan(cells) if np.isnan(place) else cells == place


def _below(cells: Array, place: float) -> Flags:
    """Missing cells count as below all numbers."""
    return np.isnan(cells) if np.isnan(place) else np.isnan(cells) | (cells <= place)


def find_far(case: Case, rows: Array) -> Flags:
    """(n,) rows that are farther from the nearest reference row than nearly all reference rows are."""
    space = case.setup.subject.space
    reference = space.rows[thinned(len(space.rows), MOST)]
    among = np.array([_nearest(space, row, np.delete(reference, at, axis=0)) for at, row in enumerate(reference)])
    limit = np.quantile(among, FAR)
    return np.array([_nearest(space, row, reference) > limit for row in rows])


def _nearest(space: FeatureSpace, row: Array, reference: Array) -> float:
    """The mean difference to the nearest row, in steps of each column; another level, or a missing cell, is a step."""
    gaps = np.abs(reference - row) / space.scales
    gaps = np.where(np.isnan(gaps), np.isnan(reference) != np.isnan(row), gaps)
    gaps = np.where(space.discrete, gaps > 0, gaps)
    return float(gaps.mean(axis=1).min())


def check_rows(case: Case) -> Check:
    """Count the rows that no reference row is near."""
    rows = case.all_rows[thinned(len(case.all_rows), MOST)]
    far = find_far(case, rows)
    share = binomial(int(far.sum()), len(far))
    tried = f"{len(rows):,} rows: those farther from the nearest reference row than 99% of the reference rows are"
    meaning = (
        f"{share.figure:.1%} of the rows are unlike every reference row; 1% are to be expected.",
        f"{share.figure:.1%} of the rows are unlike every reference row, and 1% are to be expected: the model and its "
        "explanations are about cases unlike these.",
    )
    return judge(ROWS, tried, share, "at most", MOST_FAR, meaning)
