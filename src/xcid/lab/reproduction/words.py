"""What the figures say, in sentences: every number in them is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xcid.lab.reproduction.closeness import MAIN, METRICS, TITLES, apart, faithful_gap, gap, tally
from xcid.lab.reproduction.measure import Results, versions
from xcid.lab.reproduction.ours import Ours
from xcid.lab.reproduction.published import Published
from xcid.lab.reproduction.readings import FAITHFULNESS as FAITHFULNESS_READINGS
from xcid.lab.reproduction.readings import KERNELS, PRINTED
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.subjects import MODEL_SEED, SPLIT_SEED, TEST_SHARE, Subject

INTRODUCTION = (
    "E. Conti, Á. Parafita and A. Brando, “CID: Measuring Feature Importance Through Counterfactual Distributions”: "
    "every table and figure, made anew with this library, beside the figures that the paper prints. Intervals are "
    "2σ/√n over rows. A difference is ours less the published figure, in units of both intervals together, √(a² + b²): "
    "within ±1 the two agree. The published figures are used for these comparisons only."
)
READINGS = (
    "The paper leaves open, or contradicts itself on, how some figures are counted. The same runs are therefore "
    "counted in several ways: faithfulness as the printed mean over the d + 1 stages or as a plain sum, features "
    "ranked by magnitude or by signed score, best first or (as a slip would have it) last, the output that of the "
    "predicted class (as printed) or of class 1; agreement of kernels by top sets (as printed) or rank by rank, the "
    "other kernels with Silverman's rule or with a bandwidth of 1 in the unscaled unit of each feature, on common "
    "samples or on their own, averaged over the runs or not. A reading that comes close is a guess at what was done, "
    "not evidence for it: with this many readings one of them will."
)
FAITHFULNESS = (
    "Mean and sum are by magnitude and of the predicted class. Signed lines are means with features ranked from the "
    "highest signed score down, which is how a score with a sign is meant to be used; the paper's CID and DiCE have "
    "none. A feature that is constant in C+ or in C− has d1 = 1 by definition unless it is the same constant in both; "
    "“constants 0” sets such scores to 0 instead. The paper does not say what it does, and on Heart it matters."
)


def opening(settings: Settings, subjects: Sequence[Subject], results: Sequence[Results]) -> tuple[str, ...]:
    """What was run."""
    packages = ", ".join(f"{name} {number}" for name, number in versions().items())
    told = [
        f"{one.title}: {len(found['cid'].full)} of {len(one.test)} test rows, {len(one.train)} training rows, "
        f"{one.n_features} features, {one.model_words}, accuracy {one.accuracy:.3f} on the whole test set."
        for one, found in zip(subjects, results, strict=True)
    ]
    minutes = sum(float(part.seconds) for found in results for part in found.values()) / 60
    few = "not run" if not settings.dice_genetic_rows else f"{settings.dice_genetic_rows} rows, one run"
    short = sum(int(found["cid"].short) for found in results)
    return (
        *told,
        f"Split: {TEST_SHARE:.0%} test rows, seed {SPLIT_SEED}; seed of the forest {MODEL_SEED}; no scaling. Six "
        "missing cells of Heart are filled with the training rows' median. All features count as numbers, as in the "
        "paper.",
        f"m = {settings.m} counterfactuals of each kind, k = {settings.k}, {settings.repeats} runs averaged for CID, "
        "the recommended setting and DiCE (dice-ml's random method); SHAP (exact, on 100 background rows) and LIME "
        f"(5,000 samples, quartiles, its own default) once. "
        f"Rows that lacked counterfactuals of a kind, over all runs of CID: {short}.",
        f"The first test entry is explained {settings.first_row_repeats} times for Figure 2. "
        f"dice-ml's own genetic search: {few}.",
        "The appendix speaks of 100 instances; here kernels and generators have the same rows and runs as the rest.",
        f"Made by xcid.lab.reproduction.reproduce with {settings!r}. All scores together took "
        f"{minutes:.1f} minutes. {packages}.",
    )


def tally_words(
    subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]
) -> tuple[str, ...]:
    """All tables in one sentence."""
    counts = "; ".join(f"{what}: {count}" for what, count in tally(subjects, ours, published).items())
    return (f"Published figures that lie within the intervals, every formula read as it is printed: {counts}.",)


def agreement_words(
    subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]
) -> tuple[str, ...]:
    """Tables 1 and 2 in words."""
    points = []
    for subject in subjects:
        mine, theirs = ours[subject.key].agreement, published[subject.key].agreement
        pairs = [pair for pair in mine if pair in theirs]
        within = [pair for pair in pairs if abs(apart(mine[pair], theirs[pair])) <= 1]
        worst = max(pairs, key=lambda pair: abs(mine[pair].mean - theirs[pair].mean))
        both = " and ".join(TITLES[name] for name in worst.split(", "))
        points.append(
            f"{subject.title}, feature agreement: {len(within)} of {len(pairs)} pairs lie within the intervals; the "
            f"farthest is {both}, {mine[worst].mean:.2f} here and {theirs[worst].mean:.2f} there. Two averaged runs of "
            f"CID agree with each other by {mine['cid, cid-again'].mean:.2f}, two single ones by "
            f"{mine['single run'].mean:.2f}."
        )
    return tuple(points)


def impossible_words(
    settings: Settings, subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]
) -> tuple[str, ...]:
    """What the printed formulas cannot give, and what no run here gives."""
    above, wide, below, lowest = [], [], [], []
    for subject in subjects:
        theirs, mine = published[subject.key], ours[subject.key]
        figures = [*theirs.comprehensiveness.values(), *theirs.sufficiency.values()]
        above.append(f"{sum(abs(one.mean) > 1 for one in figures)} of {len(figures)} for {subject.title}")
        most = 2 / len(subject.test) ** 0.5
        main = [metric[key] for key in MAIN for metric in (theirs.comprehensiveness, theirs.sufficiency)]
        wide.append(f"{sum(one.margin > most for one in main)} of {len(main)} for {subject.title} (above {most:.2f})")
        chance = settings.k / subject.n_features
        few = {one for one in (*theirs.kernels.values(), theirs.genetic) if one.mean + one.margin < chance}
        shown = ", ".join(f"{one.mean:.2f}" for one in sorted(few)) or "none"
        below.append(f"{shown} for {subject.title} (chance {chance:.2f})")
        sets = [
            part.mean for title, cells in mine.kernels.items() if title.startswith("sets") for part in cells.values()
        ]
        lowest.append(f"{min(sets):.2f} for {subject.title}")
    return (
        "A mean of differences of probabilities lies between −1 and 1. Published values of comprehensiveness and "
        f"sufficiency beyond that: {'; '.join(above)}. The printed formula cannot give them.",
        "Nor can its standard deviation exceed 1, so that 2σ/√n is at most 2/√n. Published intervals of Tables 3 and 4 "
        f"that are wider, if n is the size of the test set used here: {'; '.join(wide)}.",
        "Sets of k features drawn at random share k / d of their members. Published agreements of kernels and of "
        f"generators below that by more than their interval: {'; '.join(below)}. Settings that look at the same model "
        "would have to avoid each other's features to do so. The lowest agreement of kernels by sets, under any "
        f"reading here: {'; '.join(lowest)}.",
    )


def order_words(
    subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]
) -> tuple[str, ...]:
    """Whether comprehensiveness exceeds sufficiency."""
    here = there = 0
    for subject in subjects:
        mine, theirs = ours[subject.key], published[subject.key]
        first, second = (getattr(mine, metric)[PRINTED.title] for metric in METRICS)
        here += sum(first[key].mean > second[key].mean for key in MAIN)
        there += sum(theirs.comprehensiveness[key].mean > theirs.sufficiency[key].mean for key in MAIN)
    total = len(MAIN) * len(subjects)
    return (
        "Masking the best l features is keeping the worst d − l. So the comprehensiveness of a ranking is the "
        "sufficiency of its reverse, and a ranking whose comprehensiveness is the smaller of the two is less faithful "
        f"than its own reverse. Comprehensiveness is the larger one for {here} of {total} methods and data sets here, "
        f"and for {there} of {total} in the published tables.",
    )


def lead_words(subjects: Sequence[Subject], ours: Mapping[str, Ours]) -> tuple[str, ...]:
    """Whether CID is the most faithful, as the paper finds."""
    points = []
    for subject in subjects:
        for key, lead in ours[subject.key].lead.items():
            differences = ", ".join(f"{_title(peer)} {one.mean:+.3f} ± {one.margin:.3f}" for peer, one in lead.items())
            beats = [_title(peer) for peer, one in lead.items() if one.mean > one.margin]
            loses = [_title(peer) for peer, one in lead.items() if one.mean < -one.margin]
            points.append(
                f"{subject.title}, is {_title(key)} the most faithful? Beyond the interval it is ahead of "
                f"{_listed(beats)} and behind {_listed(loses)}. Its comprehensiveness minus sufficiency, less that of "
                f"the others, row by row, all ranked by magnitude: {differences}."
            )
    return tuple(points)


def closest_words(
    subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]
) -> tuple[str, ...]:
    """Under which reading the published figures come closest."""
    points = []
    for subject in subjects:
        mine, theirs = ours[subject.key], published[subject.key]
        best = min(FAITHFULNESS_READINGS, key=lambda reading: faithful_gap(mine, theirs, reading, MAIN))
        genetic = ", ".join(f"{name} {figure.mean:.2f}" for name, figure in mine.genetic.items())
        kernels = min(KERNELS, key=lambda reading: gap(mine.kernels[reading.title], theirs.kernels))
        points.append(
            f"{subject.title}: Tables 3 and 4 are closest as “{best.title}” (mean distance "
            f"{faithful_gap(mine, theirs, best, MAIN):.2f}; as printed "
            f"{faithful_gap(mine, theirs, PRINTED, MAIN):.2f}), the kernels' agreement as “{kernels.title}” "
            f"({gap(mine.kernels[kernels.title], theirs.kernels):.2f}; as described "
            f"{gap(mine.kernels[KERNELS[0].title], theirs.kernels):.2f}). Genetic against random samples: {genetic}; "
            f"published {theirs.genetic.mean:.2f}."
        )
    return tuple(points)


def _title(key: str) -> str:
    return TITLES.get(key, key)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
