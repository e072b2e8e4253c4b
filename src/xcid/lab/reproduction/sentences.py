"""What the figures say, in sentences: every number in them is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xcid.lab.reproduction.measure import versions
from xcid.lab.reproduction.ours import Cells
from xcid.lab.reproduction.published import APPENDIX, MAIN, Case, Pairs, agree, faithful, gap, of_kernels, shared
from xcid.lab.reproduction.readings import AS_DESCRIBED, FAITHFULNESS, KERNELS, PRINTED
from xcid.lab.reproduction.settings import MODEL_SEED, Settings
from xcid.lab.reproduction.tables import TITLES
from xcid.lab.subjects import SPLIT_SEED, TEST_SHARE


def opening(settings: Settings, cases: Sequence[Case]) -> Iterator[str]:
    """What was run."""
    for subject, results, *_ in cases:
        accuracy = subject.model.score(subject.test, subject.test_target)
        yield (
            f"{subject.title}: {len(results['cid'].full)} of {len(subject.test)} test rows, {len(subject.train)} "
            f"training rows, {subject.n_features} features, {subject.model!r}, accuracy {accuracy:.3f} on the whole "
            "test set."
        )
    minutes = sum(float(part.seconds) for case in cases for part in case.results.values()) / 60
    few = "not run" if not settings.dice_genetic_rows else f"{settings.dice_genetic_rows} rows, one run"
    short = sum(int(case.results["cid"].short) for case in cases)
    yield (
        f"Split: {TEST_SHARE:.0%} test rows, seed {SPLIT_SEED}; seed of the forest {MODEL_SEED}; no scaling. "
        "Six missing cells of Heart are filled with the training rows' median. All features count as numbers, as in "
        "the paper."
    )
    yield (
        f"m = {settings.m} counterfactuals of each kind, k = {settings.k}, {settings.repeats} runs averaged for CID, "
        "the recommended setting and DiCE (dice-ml's random method); SHAP (exact, on 100 background rows) and LIME "
        f"(5,000 samples, quartiles, its own default) once. "
        f"Rows that lacked counterfactuals of a kind, over all runs of CID: {short}."
    )
    yield (
        f"The first test entry is explained {settings.first_row_repeats} times for Figure 2. "
        f"dice-ml's own genetic search: {few}."
    )
    yield "The appendix speaks of 100 instances; here kernels and generators have the same rows and runs as the rest."
    yield (
        f"Made by xcid.lab.reproduction.reproduce with {settings!r}. All scores together took "
        f"{minutes:.1f} minutes. {', '.join(f'{name} {number}' for name, number in versions().items())}."
    )


def findings(settings: Settings, cases: Sequence[Case]) -> Iterator[str]:
    """What reproduces, and what does not."""
    yield _tally(cases)
    yield from map(_agreement, cases)
    for case in cases:
        yield from _leads(case)
    yield from _impossible(settings, cases)
    yield _order(cases)


def _tally(cases: Sequence[Case]) -> str:
    """How many published figures lie within the intervals of ours, read as printed."""
    found: dict[str, list[bool]] = {}
    for case in cases:
        ours, published = case.ours, case.published
        pairs: dict[str, Pairs] = {
            "feature agreement (Tables 1 and 2)": shared(ours.agreement, published.agreement),
            "agreement of kernels (Tables 5 and 6)": of_kernels(case, AS_DESCRIBED),
            "agreement of generators": [(ours.genetic["sets, genetic"], published.genetic)],
            "faithfulness (Tables 3 and 4)": faithful(case, PRINTED, MAIN),
            "other settings (Tables 7 and 8)": faithful(case, PRINTED, APPENDIX),
        }
        for what, figures in pairs.items():
            found.setdefault(what, []).extend(agree(figures))
    counts = "; ".join(f"{what}: {sum(within)} of {len(within)}" for what, within in found.items())
    return f"Published figures that lie within the intervals, every formula read as it is printed: {counts}."


def _agreement(case: Case) -> str:
    """Tables 1 and 2 in a sentence."""
    ours, published = case.ours.agreement, case.published.agreement
    within = agree(shared(ours, published))
    worst = max(filter(published.__contains__, ours), key=lambda pair: abs(ours[pair].mean - published[pair].mean))
    return (
        f"{case.title}, feature agreement: {sum(within)} of {len(within)} pairs lie within the intervals; the "
        f"farthest is {' and '.join(TITLES[name] for name in worst.split(', '))}, {ours[worst].mean:.2f} here and "
        f"{published[worst].mean:.2f} there. Two averaged runs of CID agree with each other by "
        f"{ours['cid, cid-again'].mean:.2f}, two single ones by {ours['single run'].mean:.2f}."
    )


def _leads(case: Case) -> Iterator[str]:
    """Whether CID is the most faithful, as the paper finds."""
    for key, lead in case.ours.lead.items():
        named = {TITLES.get(peer, peer): one for peer, one in lead.items()}
        ahead = ", ".join(peer for peer, one in named.items() if one.mean > one.margin) or "none"
        behind = ", ".join(peer for peer, one in named.items() if one.mean < -one.margin) or "none"
        differences = ", ".join(f"{peer} {one.mean:+.3f} ± {one.margin:.3f}" for peer, one in named.items())
        yield (
            f"{case.title}, is {TITLES[key]} the most faithful? Beyond the interval it is ahead of {ahead} and behind "
            f"{behind}. Its comprehensiveness minus sufficiency, less that of the others, row by row, all ranked by "
            f"magnitude: {differences}."
        )


def _impossible(settings: Settings, cases: Sequence[Case]) -> Iterator[str]:
    """What the printed formulas cannot give, and what no run here gives."""
    above, wide, below, lowest = [], [], [], []
    for case in cases:
        published, title = case.published, case.title
        both = (published.comprehensiveness, published.sufficiency)
        figures = [figure for metric in both for figure in metric.values()]
        above.append(f"{sum(abs(one.mean) > 1 for one in figures)} of {len(figures)} for {title}")
        most = 2 / len(case.subject.test) ** 0.5
        main = [metric[key] for key in MAIN for metric in both]
        wide.append(f"{sum(one.margin > most for one in main)} of {len(main)} for {title} (above {most:.2f})")
        chance = settings.k / case.subject.n_features
        few = {one for one in (*published.kernels.values(), published.genetic) if one.mean + one.margin < chance}
        shown = ", ".join(f"{one.mean:.2f}" for one in sorted(few)) or "none"
        below.append(f"{shown} for {title} (chance {chance:.2f})")
        sets = [cells for reading, cells in case.ours.kernels.items() if reading.startswith("sets")]
        lowest.append(f"{min(one.mean for cells in sets for one in cells.values()):.2f} for {title}")
    yield (
        "A mean of differences of probabilities lies between −1 and 1. Published values of comprehensiveness and "
        f"sufficiency beyond that: {'; '.join(above)}. The printed formula cannot give them."
    )
    yield (
        "Nor can its standard deviation exceed 1, so that 2σ/√n is at most 2/√n. Published intervals of Tables 3 and 4 "
        f"that are wider, if n is the size of the test set used here: {'; '.join(wide)}."
    )
    yield (
        "Sets of k features drawn at random share k / d of their members. Published agreements of kernels and of "
        f"generators below that by more than their interval: {'; '.join(below)}. Settings that look at the same model "
        "would have to avoid each other's features to do so. The lowest agreement of kernels by sets, under any "
        f"reading here: {'; '.join(lowest)}."
    )


def _order(cases: Sequence[Case]) -> str:
    """Whether comprehensiveness exceeds sufficiency."""

    def larger(comprehensiveness: Cells, sufficiency: Cells) -> int:
        return sum(comprehensiveness[key].mean > sufficiency[key].mean for key in MAIN)

    here = sum(larger(case.ours.comprehensiveness[PRINTED], case.ours.sufficiency[PRINTED]) for case in cases)
    there = sum(larger(case.published.comprehensiveness, case.published.sufficiency) for case in cases)
    total = len(MAIN) * len(cases)
    return (
        "Masking the best l features is keeping the worst d − l. So the comprehensiveness of a ranking is the "
        "sufficiency of its reverse, and a ranking whose comprehensiveness is the smaller of the two is less faithful "
        f"than its own reverse. Comprehensiveness is the larger one for {here} of {total} methods and data sets here, "
        f"and for {there} of {total} in the published tables."
    )


def closest(case: Case) -> str:
    """Under which reading the published figures come closest."""
    distances = {reading: gap(faithful(case, reading, MAIN)) for reading in FAITHFULNESS}
    kernels = {reading: gap(of_kernels(case, reading)) for reading in KERNELS}
    best, best_kernels = min(distances, key=distances.__getitem__), min(kernels, key=kernels.__getitem__)
    genetic = ", ".join(f"{name} {figure.mean:.2f}" for name, figure in case.ours.genetic.items())
    return (
        f"{case.title}: Tables 3 and 4 are closest as “{best}” (mean distance {distances[best]:.2f}; as printed "
        f"{distances[PRINTED]:.2f}), the kernels' agreement as “{best_kernels}” ({kernels[best_kernels]:.2f}; as "
        f"described {kernels[AS_DESCRIBED]:.2f}). Genetic against random samples: {genetic}; published "
        f"{case.published.genetic.mean:.2f}."
    )
