"""Every stop obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, fields, is_dataclass

import numpy as np
import pytest

import xcid
from xcid import calibration
from xcid.calibration import Decided, Repeats
from xcid.errors import InvalidParameter
from xcid.generators import Balanced, Marginal
from xcid.models.predictor import FEW
from xcid.scores import PerFeature, Resampled

N, D = 120, 5
RUN = N + 1  # evaluations of a run: its samples and the row itself
BUDGET = 8 * RUN
FIXED = {"once": Repeats(), "three times": Repeats(3)}
OPEN = {
    "decided": Decided(k=2, max_evaluations=BUDGET),
    "decided by and large": Decided(k=2, confidence=0.7, max_evaluations=BUDGET),
    "decided on one": Decided(k=1, confidence=0.99, max_evaluations=BUDGET + 7),
    "all of them": Decided(k=99, max_evaluations=BUDGET),
    "less than a run": Decided(k=2, max_evaluations=RUN // 2),
}
STOPS = FIXED | OPEN
PARTS = ("values", "importance", "lower", "upper", "p_values", "spread")
COUNTS = ("n_evaluations", "n_flips", "n_positive", "n_negative")

TABLE = np.random.default_rng(2).normal(size=(150, D))
ROWS = TABLE[:10]


def model(x):
    """Two features decide, more or less clearly from row to row."""
    return 1 / (1 + np.exp(-1.5 * x[:, 0] - x[:, 1] * x[:, 2] - 0.4 * x[:, 3]))


def explained(stop, rows=ROWS, **settings):
    settings = {"generator": Balanced(n=N), **settings}
    return xcid.Explainer(model, TABLE, stop=stop, **settings)(rows)


def budget(stop):
    """Most runs that a stop may ask for."""
    return stop.count if isinstance(stop, Repeats) else max(1, stop.max_evaluations // RUN)


@pytest.fixture(scope="module")
def runs():
    """Single runs of all rows, by a stop that is a plain function."""
    found = []

    def keep(first, more):
        found.extend([first, *(more(np.arange(len(first)), replicate) for replicate in range(1, 12))])
        return first

    explained(keep)
    return found


@pytest.fixture(params=STOPS)
def name(request):
    return request.param


@pytest.fixture
def stop(name):
    return STOPS[name]


@pytest.fixture(scope="module")
def explanations():
    return {name: explained(stop) for name, stop in STOPS.items()}


@pytest.fixture
def explanation(explanations, name):
    return explanations[name]


def n_runs(explanation):
    return explanation.n_evaluations // RUN


def test_the_list_is_complete():
    public = (getattr(calibration, name) for name in calibration.__all__)
    made = {one for one in public if isinstance(one, type) and is_dataclass(one)}
    assert made | {Repeats} == {type(stop) for stop in STOPS.values()}


def test_a_row_gets_whole_runs_and_never_more_than_its_budget(stop, explanation):
    assert np.all(explanation.n_evaluations % RUN == 0)
    assert np.all((n_runs(explanation) >= 1) & (n_runs(explanation) <= budget(stop)))
    if isinstance(stop, Repeats):
        assert np.all(n_runs(explanation) == stop.count)


def test_the_model_is_not_asked_more_than_is_counted(stop):
    asked = []

    def counting(x):
        asked.append(len(x))
        return model(x)

    explainer = xcid.Explainer(counting, TABLE, stop=stop, generator=Balanced(n=N))
    asked.clear()
    explanation = explainer(ROWS)
    assert (
        N * n_runs(explanation).sum() < sum(asked) - FEW <= explanation.n_evaluations.sum()
    )  # and reference rows, once a call


def test_a_row_gets_the_same_alone_in_a_batch_and_in_any_order(stop, explanation):
    order = np.random.default_rng(0).permutation(len(ROWS))
    shuffled = explained(stop, ROWS[order])
    for part in (*PARTS, *COUNTS):
        found, due = getattr(shuffled, part), getattr(explanation, part)
        assert (found is None) == (due is None), part
        assert due is None or found == pytest.approx(due[order], abs=1e-9, nan_ok=True), part
    for row in (0, 3, 7):
        alone = explained(stop, ROWS[row])
        assert alone.n_evaluations[0] == explanation.n_evaluations[row]
        assert alone.values[0] == pytest.approx(explanation.values[row], abs=1e-9)
        assert alone.p_values[0] == pytest.approx(explanation.p_values[row], abs=1e-9)


def test_rows_keep_their_places(explanation):
    assert np.array_equal(explanation.data, ROWS)
    assert explanation.outputs[:, 1] == pytest.approx(model(ROWS))
    assert np.array_equal(explanation.index, np.arange(len(ROWS)))


def test_scores_are_the_mean_of_the_runs(explanation, runs):
    for row, count in enumerate(n_runs(explanation)):
        values, importance = (np.array([getattr(run, part)[row] for run in runs[:count]]) for part in PARTS[:2])
        assert explanation.values[row] == pytest.approx(values.mean(axis=0), abs=1e-9)
        assert explanation.importance[row] == pytest.approx(importance.mean(axis=0), abs=1e-9)
        for part in COUNTS:
            assert getattr(explanation, part)[row] == pytest.approx(
                sum(getattr(run, part)[row] for run in runs[:count])
            )


def test_spread_is_that_of_the_runs_and_of_one_run_there_is_none(explanation, runs):
    for row, count in enumerate(n_runs(explanation)):
        if count > 1:
            values = np.array([run.values[row] for run in runs[:count]])
            assert explanation.spread[row] == pytest.approx(values.std(axis=0, ddof=1), abs=1e-9)
        else:
            assert explanation.spread is None or np.isnan(explanation.spread[row]).all()


def test_every_sample_is_counted_on_one_side(explanation):
    assert explanation.n_positive + explanation.n_negative == pytest.approx(N * n_runs(explanation))
    assert np.all(explanation.n_flips <= N * n_runs(explanation))


def test_limits_hold_together(explanation):
    assert np.all((explanation.lower <= explanation.values) & (explanation.values <= explanation.upper))
    assert np.all((explanation.p_values >= 0) & (explanation.p_values <= 1))


def test_limits_shrink_with_the_root_of_the_number_of_runs(explanation, runs):
    for row, count in enumerate(n_runs(explanation)):
        for lower, upper, part in ((-1, 0, "lower"), (0, 1, "upper")):
            reach = np.mean([(upper + lower) * (getattr(run, part) - run.values)[row] for run in runs[:count]], axis=0)
            found = (upper + lower) * (getattr(explanation, part) - explanation.values)[row]
            assert found == pytest.approx(reach / np.sqrt(count), abs=1e-9)


@pytest.mark.parametrize("name", OPEN)
def test_a_row_gets_what_as_many_repeats_give(explanation):
    for count in np.unique(n_runs(explanation)):
        due, at = explained(Repeats(int(count))), n_runs(explanation) == count
        for part in (*PARTS[:-1], *COUNTS):
            assert getattr(explanation, part)[at] == pytest.approx(getattr(due, part)[at], abs=1e-9), part


@pytest.mark.parametrize("name", OPEN)
def test_a_row_goes_on_until_it_is_decided_and_no_further(stop, explanation):
    decided = explanation.stable(stop.k, stop.confidence)
    spent = explanation.n_evaluations + RUN > stop.max_evaluations
    assert np.all(decided | spent)
    for row in np.flatnonzero(n_runs(explanation) > 1):
        before = explained(Repeats(int(n_runs(explanation)[row]) - 1))
        assert not before.stable(stop.k, stop.confidence)[row]


def test_rows_differ_in_what_they_need(explanations):
    assert len(np.unique(n_runs(explanations["decided"]))) > 2


def test_whoever_wants_to_be_surer_asks_more():
    asked = [
        explained(Decided(k=2, confidence=sure, max_evaluations=BUDGET)).n_evaluations
        for sure in (0.01, 0.8, 0.9999999)
    ]
    assert np.all(asked[0] == RUN)
    assert np.all((asked[0] <= asked[1]) & (asked[1] <= asked[2]))
    assert asked[0].sum() < asked[1].sum() < asked[2].sum()


def test_a_larger_budget_changes_no_row_that_was_decided(explanations):
    small, large = (explained(Decided(k=2, max_evaluations=runs * RUN)) for runs in (3, 8))
    decided = small.stable(2)
    assert 0 < decided.sum() < len(ROWS)
    assert np.all(small.n_evaluations <= large.n_evaluations)
    assert np.array_equal(small.n_evaluations[decided], large.n_evaluations[decided])
    assert small.values[decided] == pytest.approx(large.values[decided], abs=1e-9)
    assert np.array_equal(large.n_evaluations, explanations["decided"].n_evaluations)


def test_nothing_hangs_on_a_frozen_feature_in_any_run(stop):
    explanation = explained(stop, constraints=xcid.Constraints(frozen=["x1"]))
    assert explanation.values[:, 1].all()  # what its value did is another question
    assert explanation.importance[:, 1] == pytest.approx(0, abs=1e-12)
    assert np.all(explanation.feature_status[:, 1] == "frozen")


@pytest.mark.parametrize("stop", [Repeats(3), Decided(k=2, max_evaluations=4_000)], ids=str)
def test_distances_are_averaged_too(stop):
    """Of unsigned scores opposite runs do not cancel."""
    score = Resampled(PerFeature(), permutations=39, resamples=20)
    explanation = explained(stop, ROWS[:4], generator=Marginal(m=20, max_evaluations=400), score=score)
    assert np.all(explanation.values >= 0)
    assert np.all((explanation.p_values >= 0) & (explanation.p_values <= 1))


def test_only_scores_with_limits_tell_what_is_decided(name, stop):
    if name in FIXED:
        explanation = explained(stop, score=PerFeature())
        assert explanation.lower is None
        assert np.array_equal(explanation.n_evaluations, np.full(len(ROWS), RUN * stop.count))
    else:
        with pytest.raises(InvalidParameter, match="only a score with limits"):
            explained(stop, score=PerFeature())


def test_a_stop_is_what_its_words_say_and_travels(stop):
    assert eval(repr(stop), vars(calibration)) == stop
    assert pickle.loads(pickle.dumps(stop)) == stop


def test_a_stop_cannot_be_changed(stop):
    for each in fields(stop):
        with pytest.raises(FrozenInstanceError):
            setattr(stop, each.name, 2)


@pytest.mark.parametrize(
    "settings",
    [{"k": 0}, {"k": 1.5}, {"confidence": 0.0}, {"confidence": 1.0}, {"max_evaluations": 0}, {"max_evaluations": "9"}],
    ids=str,
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidParameter):
        Decided(**settings)
    with pytest.raises(InvalidParameter):
        Repeats(next(iter(settings.values())) if "confidence" not in settings else 0)
