"""What the paper says in words, judged by the figures here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from xcid_lab.metrics import Interval, paired
from xcid_lab.reproduction.ours import AS_DESCRIBED, FAITHFULNESS, PEERS, PRINTED
from xcid_lab.reproduction.published import Case

SHIFTED, FLAT = ("SkinThickness", "DiabetesPedigreeFunction"), ("Insulin", "Glucose")  # in the caption of Figure 1
SLOWER = 5  # times, that a genetic search is said to be
FREE = 0.05  # of the time that counterfactuals take
OTHER = {"Epanechnikov": "epanechnikov-silverman", "exponential": "exponential-silverman"}


def judge(cases: Sequence[Case]) -> list[str]:
    """A sentence for each claim and data set."""
    return [*(sentence for case in cases for sentence in _of_case(case)), _caption(cases[0])]


def _of_case(case: Case) -> Iterator[str]:
    ours, results, title = case.ours, case.results, case.title
    own = [ours.agreement[f"{peer}, cid"].mean for peer in PEERS]
    others = [ours.agreement[f"{a}, {b}"].mean for a, b in combinations(PEERS, 2)]
    yield (
        f"{title}, “CID agrees less with the others than they do among themselves”: "
        f"{_verdict(max(own) < min(others))}. Its agreement is {min(own):.2f} to {max(own):.2f}, "
        f"theirs {min(others):.2f} to {max(others):.2f}."
    )
    spread = {key: float(runs.std(axis=0, ddof=1).mean()) for key, runs in case.first_row.items()}
    yield (
        f"{title}, “CID varies more from run to run than DiCE” (Figure 2): {_verdict(spread['cid'] > spread['dice'])}. "
        f"The mean standard deviation of a score is {spread['cid']:.3f} by CID and {spread['dice']:.3f} by DiCE."
    )
    first = {key: FAITHFULNESS[PRINTED](found)[0] for key, found in results.items()}
    leads = {name: paired(first["cid"], first[key]) for name, key in OTHER.items()}
    yield (
        f"{title}, “the Gaussian kernel is ahead in comprehensiveness”: "
        f"{_verdict(all(map(_is_ahead, leads.values())))}. Its lead over {_listed(leads)}."
    )
    kernels = ours.kernels[AS_DESCRIBED]
    pair = kernels["epanechnikov, exponential"]
    rest = [kernels[f"gaussian, {name}"].mean for name in ("epanechnikov", "exponential")]
    yield (
        f"{title}, “Epanechnikov and exponential are close to each other, the Gaussian is not”: "
        f"{_verdict(pair.mean > max(rest))}. They agree by {pair.mean:.2f}, with the Gaussian by {rest[0]:.2f} and "
        f"{rest[1]:.2f}."
    )
    seconds = {key: _seconds(case, key) for key in results}
    genetic = {name: seconds[key] / seconds[base] for name, key, base in SEARCHES if key in seconds}
    times = ", ".join(f"{name} {ratio:.1f} times" for name, ratio in genetic.items())
    slow = all(ratio > SLOWER for ratio in genetic.values())
    yield f"{title}, “a genetic search takes more than five times as long as a random one”: {_verdict(slow)} ({times})."
    added = {name: (seconds[key] - seconds["cid"]) / seconds["dice"] for name, key in OTHER.items()}
    times = ", ".join(f"{name} {share:+.1%}" for name, share in added.items())
    beside = ", ".join(f"{seconds[key] / seconds['cid']:.2f} with {name}" for name, key in OTHER.items())
    yield (
        f"{title}, “the kernel costs nothing”: {_verdict(max(added.values()) < FREE)} beside dice-ml. In place of the "
        f"Gaussian one, others add to the time that dice-ml takes for its random counterfactuals: {times}. Our own "
        f"counterfactuals are cheaper, so a kernel shows: by the time of CID with the Gaussian one, it takes {beside}."
    )
    moved = np.abs(results["genetic"].scores - results["cid"].scores).mean()
    again = np.abs(results["cid-again"].scores - results["cid"].scores).mean()
    yield (
        f"{title}, “the generator matters little for the distribution of scores”: {_verdict(moved < 2 * again)}. "
        f"Scores of genetic samples differ from those of random ones by {moved:.2f} on average; "
        f"other seeds by {again:.2f}."
    )


SEARCHES = (("ours", "genetic", "cid"), ("dice-ml's", "dice-genetic", "dice"))


def _caption(case: Case) -> str:
    """Figure 1's caption, by the mean over the runs of the first test entry."""
    names, runs = list(case.subject.test.columns), case.first_row["cid"]
    mean, spread = (dict(zip(names, part.tolist(), strict=True)) for part in (runs.mean(axis=0), runs.std(axis=0)))
    is_so = min(mean[name] for name in SHIFTED) > max(mean[name] for name in FLAT)
    shown = ", ".join(f"{name} {mean[name]:.2f} ± {spread[name]:.2f}" for name in (*SHIFTED, *FLAT))
    return (
        f"Figure 1's caption, “SkinThickness and PedigreeFunction show noticeable shifts, Insulin and Glucose no clear "
        f"pattern”: {_verdict(is_so)} for the first test entry here. d1 over {len(runs)} runs, with the standard "
        f"deviation of one: {shown}."
    )


def _seconds(case: Case, key: str) -> float:
    """Of one run of one row."""
    found = case.results[key]
    return float(found.seconds) / (found.runs.shape[0] * found.runs.shape[1])


def _is_ahead(lead: Interval) -> bool:
    return lead.mean > lead.margin


def _listed(leads: dict[str, Interval]) -> str:
    return ", ".join(f"{name} is {lead.mean:+.3f} ± {lead.margin:.3f}" for name, lead in leads.items())


def _verdict(is_so: object) -> str:
    return "so it is" if is_so else "not so"
