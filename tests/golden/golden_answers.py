"""More cases: what else is asked of an explainer or of scores, and what files hold; see ``golden_cases``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import golden_subjects as subjects
import numpy as np
from golden_cases import CASES, LIMITS, case, explainer, lender
from golden_record import Found, of_explanation, of_frame, under
from golden_subjects import MIXED, MIXED_ROWS, NUMBERS, ROWS

import xcid
from xcid import densities, metrics
from xcid.cid.distances import hellinger, total_variation
from xcid.generators import Balanced, Marginal
from xcid.metrics.agreement import kendall_tau, sparsity
from xcid.metrics.maskings import MarginalRows, median
from xcid_lab import baselines
from xcid_lab import metrics as lab_metrics

KERNELS = ("gaussian", "epanechnikov", "exponential", "tophat", "triangular", "cosine")


@case
def interactions() -> Found:
    found, more = explainer().interactions(ROWS[:2], n=400), lender().interactions(MIXED_ROWS.iloc[[1]], n=400)
    return of_frame(found.to_frame(), "numbers") | of_frame(more.to_frame(), "mixed")


@case
def counterfactuals() -> Found:
    explanation = lender(generator=Balanced(n=200))(MIXED_ROWS)
    found = of_frame(explanation.sampled_flips(1), "kept")
    found |= of_frame(lender().counterfactuals(MIXED_ROWS, k=2).to_frame(), "searched, mixed")
    return found | of_frame(explainer().counterfactuals(ROWS[3:5]).to_frame(), "searched, numbers")


@case
def per_class() -> Found:
    found: Found = {}
    for name, explanation in explainer(subjects.three_classes, generator=Balanced(n=200)).per_class(ROWS).items():
        found |= under(name, of_explanation(explanation))
    return found


@case
def baseline_scores() -> Found:
    found = under("occlusion", of_explanation(baselines.Occlusion(subjects.two_classes, NUMBERS)(ROWS)))
    rows = baselines.Occlusion(subjects.lender, MIXED, masking=metrics.JointRows(10))
    found |= under("occlusion by rows", of_explanation(rows(MIXED_ROWS)))
    return found | under("chance", of_explanation(baselines.Chance(subjects.lender, MIXED)(MIXED_ROWS, seed=4)))


@case
def faithfulness() -> Found:
    found: Found = {}
    scores = explainer(generator=Balanced(n=100))(ROWS).values
    maskings = {"mean": metrics.mean, "joint": metrics.JointRows(10), "marginal": MarginalRows(10)}
    maskings |= {"similar": metrics.SimilarRows(5), "median": median}
    for name, masking in maskings.items():
        settings = (subjects.two_classes, ROWS, scores, NUMBERS)
        found[f"comprehensiveness {name}"] = metrics.comprehensiveness(*settings, masking=masking)
        found[f"sufficiency {name}"] = metrics.sufficiency(*settings, masking=masking)
    return found


@case
def a_model_that_fails_for_some_rows() -> Found:
    rows = ROWS.copy()
    rows[2, 0] += 0.25  # not in the background, which the model must know
    return of_explanation(explainer(subjects.Fragile(rows[2]))(rows))


@case
def stream() -> Found:
    found: Found = {}
    for at, piece in enumerate(lender(generator=Balanced(n=200)).stream([MIXED_ROWS[:3], MIXED_ROWS[3:]], seed=1)):
        found |= under(f"piece {at}", of_explanation(piece))
        found[f"piece {at} has evidence"] = [piece.cloud is not None]
    return found


@case
def one_feature() -> Found:
    smooth = NUMBERS[40:90, 1]
    pairs = [(NUMBERS[:40, 0], smooth), (NUMBERS[:30, 4], NUMBERS[30:, 4]), (np.full(4, 2.0), smooth)]
    kinds = [densities.Kernel(kind, tolerance=fine) for kind in KERNELS for fine in (1e-3, 1e-5)]
    kinds += [densities.Kernel(bandwidth=rule) for rule in ("scott", "pooled-silverman", "pooled-scott", 0.4)]
    kinds += [densities.Mixed(), densities.Mixed(densities.Kernel("cosine"), share=0.2), densities.Discrete()]
    return {"d1": [xcid.d1(*pair, density=density) for density in kinds for pair in pairs]}


@case
def distances_and_agreement() -> Found:
    p, q = (np.abs(part) / np.abs(part).sum() for part in NUMBERS[:40, :2].T)
    found = {f"d_{k}": xcid.distances.d_k(p, q, weights=np.ones(40), k=k) for k in (1, 2)}
    found |= {one.__name__: one(p, q, np.ones(40)) for one in (hellinger, total_variation)}
    first, second = (explainer(generator=Balanced(n=100))(ROWS, seed=seed).values for seed in (0, 1))
    for one in (metrics.feature_agreement, metrics.rank_agreement, metrics.sign_agreement):
        found[one.__name__] = one(first, second, k=3)
    found |= {"tau": kendall_tau(first, second), "sparsity": sparsity(first)}
    return found | {
        "stability": metrics.stability([first, second]),
        "paired": list(lab_metrics.paired(first[:, 0], second[:, 0])),
    }


# What files hold


def planned() -> Any:
    """An explanation whose samples follow from a plan."""
    return lender(generator=Balanced(n=100))(MIXED_ROWS)


def sampled() -> Any:
    """An explanation that keeps its samples."""
    return lender(generator=Marginal(m=15))(MIXED_ROWS)


def grouped() -> Any:
    """An explanation of groups, repeated."""
    return lender(constraints=xcid.Constraints(**LIMITS["groups"]), generator=Balanced(n=100), repeats=2)(MIXED_ROWS)


FILES: dict[str, Callable[[], Any]] = {
    "planned.npz": planned,
    "sampled.npz": sampled,
    "planned.json": planned,
    "grouped.parquet": grouped,
}
EVIDENCE = [(row, feature) for row in (0, 2) for feature in ("size", "count", "city", "since")]
CASES |= {
    f"saved {name}": partial(lambda make, *more: of_explanation(make(), *more), make, *EVIDENCE * name.endswith("npz"))
    for name, make in FILES.items()
}
