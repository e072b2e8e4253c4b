"""What the figures say: the numbers and sentences that the text in ``page.md`` names, all of them computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xcid_lab.output import versions
from xcid_lab.reproduction.claims import judge
from xcid_lab.reproduction.measure import PACKAGES
from xcid_lab.reproduction.methods import MODEL_SEED, Settings
from xcid_lab.reproduction.ours import AS_DESCRIBED, FAITHFULNESS, KERNELS, PRINTED, Cells
from xcid_lab.reproduction.published import APPENDIX, MAIN, Case, Pairs, agree, faithful, gap, of_kernels, shared
from xcid_lab.reproduction.tables import TITLES
from xcid_lab.subjects import SPLIT_SEED, TEST_SHARE


def facts(settings: Settings, cases: Sequence[Case]) -> dict[str, object]:
    """What was run, what reproduces and what does not: by name, lists where there is a sentence for each data set."""
    packages = versions(PACKAGES, "none")
    return {
        "settings": settings,
        "test_share": TEST_SHARE,
        "split_seed": SPLIT_SEED,
        "model_seed": MODEL_SEED,
        "minutes": sum(float(part.seconds) for case in cases for part in case.results.values()) / 60,
        "short": sum(int(case.results["cid"].short) for case in cases),
        "dice_genetic": f"{settings.dice_genetic_rows} rows, one run" if settings.dice_genetic_rows else "not run",
        "packages": ", ".join(f"{name} {number}" for name, number in packages.items()),
        "subjects": list(map(_subject, cases)),
        "tally": _tally(cases),
        "whole": list(map(_whole, cases)),
        "agreement": list(map(_agreement, cases)),
        "widths": [_widths(number, case) for number, case in enumerate(cases, start=1)],
        "leads": [sentence for case in cases for sentence in _leads(case)],
        **_impossible(settings, cases),
        **_order(cases),
        "closest": list(map(_closest, cases)),
        "claims": judge(cases),
    }


def _subject(case: Case) -> str:
    subject = case.subject
    accuracy = subject.model.score(subject.test, subject.test_target)
    return (
        f"{subject.title}: {len(case.results['cid'].full)} of {len(subject.test)} test rows, {len(subject.train)} "
        f"training rows, {subject.n_features} features, {subject.model!r}, accuracy {accuracy:.3f} on the whole "
        "test set."
    )


def _whole(case: Case) -> str:
    """Which columns are whole numbers, and what becomes of them."""
    train = case.subject.train
    whole = [name for name in train.columns if (train[name] % 1 == 0).all()]
    return (
        f"{case.title}: {len(whole)} of {train.shape[1]} columns hold whole numbers alone ({', '.join(whole)}). All "
        "are floats here: masking puts the mean of a column into its cells, and an integer type has no room for it. "
        "dice-ml gives floats at least one decimal, so that counterfactuals hold tenths there; in columns of an "
        "integer type it would keep to whole numbers. CID follows it either way. The paper does not say which it had."
    )


def _widths(number: int, case: Case) -> str:
    """How many rows the intervals of Tables 1 and 2 fit."""
    pairs = shared(case.ours.agreement, case.published.agreement)
    ratios = [ours.margin / published.margin for ours, published in pairs if ours.margin > 0]
    ratio, n = float(np.exp(np.mean(np.log(ratios)))) if ratios else 0.0, len(case.results["cid"].full)
    return (
        f"{case.title}: intervals are 2σ/√n here and there. Ours of Table {number} are {ratio:.2f} times as wide as "
        f"the published ones, in the geometric mean over pairs. With the spread of our rows, the published ones fit "
        f"{n * ratio**2:.0f} rows; here there are {n}."
    )


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
    return "; ".join(f"{what}: {sum(within)} of {len(within)}" for what, within in found.items())


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


def _impossible(settings: Settings, cases: Sequence[Case]) -> Mapping[str, str]:
    """What the printed formulas cannot give, and what no run here gives."""
    found: dict[str, list[str]] = {"above": [], "wide": [], "below": [], "lowest": []}
    for case in cases:
        published, title = case.published, case.title
        both = (published.comprehensiveness, published.sufficiency)
        figures = [figure for metric in both for figure in metric.values()]
        found["above"].append(f"{sum(abs(one.mean) > 1 for one in figures)} of {len(figures)} for {title}")
        most = 2 / len(case.subject.test) ** 0.5
        main = [metric[key] for key in MAIN for metric in both]
        found["wide"].append(f"{sum(one.margin > most for one in main)} of {len(main)} for {title} (above {most:.2f})")
        chance = settings.k / case.subject.n_features
        few = {one for one in (*published.kernels.values(), published.genetic) if one.mean + one.margin < chance}
        shown = ", ".join(f"{one.mean:.2f}" for one in sorted(few)) or "none"
        found["below"].append(f"{shown} for {title} (chance {chance:.2f})")
        sets = [cells for reading, cells in case.ours.kernels.items() if reading.startswith("sets")]
        found["lowest"].append(f"{min(one.mean for cells in sets for one in cells.values()):.2f} for {title}")
    return {name: "; ".join(parts) for name, parts in found.items()}


def _order(cases: Sequence[Case]) -> Mapping[str, int]:
    """For how many methods comprehensiveness exceeds sufficiency."""

    def larger(comprehensiveness: Cells, sufficiency: Cells) -> int:
        return sum(comprehensiveness[key].mean > sufficiency[key].mean for key in MAIN)

    return {
        "larger_here": sum(
            larger(case.ours.comprehensiveness[PRINTED], case.ours.sufficiency[PRINTED]) for case in cases
        ),
        "larger_there": sum(larger(case.published.comprehensiveness, case.published.sufficiency) for case in cases),
        "n_rankings": len(MAIN) * len(cases),
    }


def _closest(case: Case) -> str:
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
