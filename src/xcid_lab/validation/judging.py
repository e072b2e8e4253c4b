"""From what was counted to a verdict: shares with intervals over independent parts, and gaps without chance."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from xcid_lab.validation.records import FAILED, HELD, Check

CONFIDENCE = 0.95
SHORT = "That is beyond the threshold, but so few rows cannot tell it from chance: try more of them."


class Share(NamedTuple):
    """A mean with its interval."""

    figure: float
    low: float
    high: float


def share_of(flags: Any) -> Share:
    """The mean of (clusters, ...) flags; the interval is by what clusters differ in, NaN cells count nowhere."""
    cells = np.asarray(flags, dtype=np.float64)
    cells = cells.reshape(len(cells), -1)
    sums, counts = np.nansum(cells, axis=1), np.sum(~np.isnan(cells), axis=1)
    sums, counts = sums[counts > 0], counts[counts > 0]
    n = len(sums)
    figure = float(sums.sum() / counts.sum())
    if n < 2 or np.ptp(sums / counts) == 0:  # nothing to see of chance: the rule of three
        reach = 3 / max(n, 1)
        return Share(figure, max(0.0, figure - reach), min(1.0, figure + reach))
    rest = (sums - figure * counts) / counts.mean()
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * np.sqrt(np.sum(rest**2) / (n - 1) / n))
    return Share(figure, max(0.0, figure - reach), min(1.0, figure + reach))


def binomial(count: int, total: int) -> Share:
    """A share of independent cases with Clopper and Pearson's interval.

    Examples
    --------
    >>> [round(part, 3) for part in binomial(2, 40)]
    [0.05, 0.006, 0.169]
    """
    tail = (1 - CONFIDENCE) / 2
    low = 0.0 if count == 0 else float(stats.beta.ppf(tail, count, total - count + 1))
    high = 1.0 if count == total else float(stats.beta.ppf(1 - tail, count + 1, total - count))
    return Share(count / total, low, high)


def judge(
    name: str,
    tried: str,
    found: Share | float,
    wanted: Literal["at least", "at most"],
    threshold: float,
    meaning: tuple[str, str],
) -> Check:
    """Hold a figure against its threshold; of the two meanings the first is that of a check that held."""
    share = found if isinstance(found, Share) else Share(found, found, found)
    share = Share(*map(float, share))
    is_beyond = share.high < threshold if wanted == "at least" else share.low > threshold
    verdict, said = (FAILED, meaning[1]) if is_beyond or np.isnan(share.figure) else (HELD, meaning[0])
    is_short = share.figure < threshold if wanted == "at least" else share.figure > threshold
    if verdict == HELD and is_short:
        said = f"{said} {SHORT}"
    figure, low, high = (part if np.isfinite(part) else None for part in share)
    return Check(name, tried, figure, low, high, wanted, threshold, verdict, said)


def not_tried(name: str, why: str) -> Check:
    """A check that could not be made."""
    return Check(name, why)
