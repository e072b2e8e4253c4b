"""xcid tests itself: what holds is not called a fault, planted faults are found, and records are run again."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import schemas
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid import cli, pipeline
from xcid.errors import InvalidFile, InvalidParameter
from xcid_lab.validation import (
    Effort,
    cases,
    cautions,
    chance,
    data,
    differences,
    find_differences,
    judging,
    laws,
    load,
    stability,
    truth,
    validate,
)
from xcid_lab.validation.records import FAILED, HELD, Caution, to_document

FEW = Effort(rows=12, seeds=3, walked=3, walks=200, parts=4)
RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(300, 4))
CLASS = (TABLE[:, 0] + TABLE[:, 1] * TABLE[:, 2] > 0).astype(int)
ROWS = RNG.normal(size=(60, 4))


def forest(seed=0):
    return RandomForestClassifier(20, random_state=seed).fit(TABLE, CLASS)


@pytest.fixture(scope="module")
def explainer():
    return xcid.Explainer(forest(), TABLE)


@pytest.fixture(scope="module")
def case(explainer):
    return cases.Case.of(explainer, ROWS, None, FEW, 0, 90.0)


@pytest.fixture(scope="module")
def found(explainer):
    return validate(explainer, ROWS, effort=FEW)


def enumerate_subsets(function, row, reference, players):
    """Shapley values by all subsets and all reference rows."""
    f = len(players)
    value = {}
    for size in range(f + 1):
        for kept in itertools.combinations(range(f), size):
            mixed = reference.copy()
            for player in kept:
                mixed[:, players[player]] = row[list(players[player])]
            value[kept] = function(mixed).mean()
    found = np.zeros(f)
    for player in range(f):
        others = [one for one in range(f) if one != player]
        for size in range(f):
            share = math.factorial(size) * math.factorial(f - size - 1) / math.factorial(f)
            for kept in itertools.combinations(others, size):
                found[player] += share * (value[tuple(sorted((*kept, player)))] - value[kept])
    return found


class TestJudging:
    def test_a_share_fails_only_where_its_whole_interval_does(self):
        held = judging.judge("a", "", judging.Share(0.89, 0.80, 0.95), "at least", 0.9, ("yes", "no"))
        failed = judging.judge("a", "", judging.Share(0.85, 0.80, 0.89), "at least", 0.9, ("yes", "no"))
        above = judging.judge("a", "", judging.Share(0.15, 0.11, 0.2), "at most", 0.1, ("yes", "no"))
        assert [one.verdict for one in (held, failed, above)] == [HELD, FAILED, FAILED]
        assert (held.meaning, failed.meaning) == (f"yes {judging.SHORT}", "no")

    def test_what_is_short_by_chance_alone_held_and_says_so(self):
        short, long, clear = (
            judging.judge("a", "", judging.Share(*share), "at least", 0.9, ("yes", "no"))
            for share in ((0.85, 0.7, 0.95), (0.95, 0.85, 1.0), (0.5, 0.4, 0.6))
        )
        above = judging.judge("a", "", judging.Share(0.15, 0.05, 0.2), "at most", 0.1, ("yes", "no"))
        assert [one.verdict for one in (short, long, clear, above)] == [HELD, HELD, FAILED, HELD]
        assert [one.meaning for one in (short, long, clear, above)] == [
            f"yes {judging.SHORT}", "yes", "no", f"yes {judging.SHORT}",
        ]  # fmt: skip

    def test_what_is_no_number_has_not_held(self):
        assert judging.judge("a", "", float("nan"), "at most", 0.1, ("yes", "no")).verdict == FAILED

    def test_intervals_hold_the_share_that_clusters_are_drawn_with(self):
        rng, held = np.random.default_rng(1), 0
        for _ in range(300):
            of_cluster = rng.beta(8, 2, size=12)  # mean 0.8
            low, high = judging.share_of(rng.random((12, 30)) < of_cluster[:, None])[1:]
            held += low <= 0.8 <= high
        assert 0.90 <= held / 300 <= 0.99

    def test_unknown_cells_count_nowhere(self):
        assert judging.share_of([[1.0, np.nan], [np.nan, 1.0], [0.0, np.nan]]).figure == pytest.approx(2 / 3)


class TestVariants:
    def test_walks_find_the_values_that_all_subsets_give(self):
        players, row, reference = ((0, 3), (1,), (2,)), np.array([1.0, -2.0, 0.5, 1.5]), TABLE[:40]

        def function(rows):
            return rows[:, 0] * rows[:, 1] + np.abs(rows[:, 2] + rows[:, 3]) * rows[:, 1]

        due = enumerate_subsets(function, row, reference, players)
        values, errors = truth.walk(function, row, reference, players, 4_000, np.random.default_rng(3))
        assert np.abs(values - due).max() < 4 * errors.max() + 1e-9
        assert errors.max() < 0.1 * np.abs(due).max()

    def test_planted_columns_are_never_given_to_the_model(self, case):
        setup, rows = cases.planted(case.setup, case.rows, 3, np.random.default_rng(0))
        assert rows.shape == (len(case.rows), 7)
        changed = rows.copy()
        changed[:, 4:] = 99
        assert np.array_equal(setup.subject.predict(rows), setup.subject.predict(changed))
        assert np.array_equal(setup.subject.predict(rows), case.setup.subject.predict(case.rows))
        own = [sorted(column) for column in TABLE.T]
        assert all(sorted(column) in own for column in setup.subject.space.rows[:, 4:].T)
        assert not any((column == other).all() for column in setup.subject.space.rows[:, 4:].T for other in TABLE.T)
        found = pipeline.explain(setup, rows, 0)
        assert found.values.shape == (len(case.rows), 7)
        assert not found.exact.any()

    def test_a_called_model_is_sampled_on_the_scale_on_which_it_was_exact(self, case):
        sampled = pipeline.explain(cases.alone(cases.called(case.setup)), case.rows, 0)
        assert case.is_exact
        assert not sampled.exact.any()
        assert sampled.scale == case.found.scale
        assert np.corrcoef(sampled.values.ravel(), case.found.values.ravel())[0, 1] > 0.95

    def test_part_of_the_reference_rows_is_an_explainer_of_these(self, case):
        chosen = np.arange(100, 200)
        found = pipeline.explain(cases.alone(cases.on_part(case.setup, chosen)), case.rows, 0)
        due = xcid.Explainer(case.setup.subject.model, TABLE[chosen]).contributions(case.rows)
        assert np.allclose(found.values, due.values, atol=1e-9)
        assert np.allclose(found.base_values, due.base_values, atol=1e-9)

    def test_weights_groups_and_constraints_are_planted_beside(self):
        constraints = xcid.Constraints(groups={"pair": ["x0", "x3"]}, frozen=["x1"])
        weighted = xcid.Explainer(
            forest(), TABLE, weights=RNG.integers(0, 3, len(TABLE)), constraints=constraints,
            feature_names=["x0", "x1", "x2", "x3"],
        )  # fmt: skip
        made = validate(weighted, ROWS, effort=FEW)
        assert [check.name for check in made.failed] == []
        assert made.check(chance.CONTRIBUTION).verdict == HELD


class TestFaults:
    def test_nothing_is_found_where_nothing_is_wrong(self, found):
        assert [check.name for check in found.failed] == []
        tried = [check.name for check in found.checks if check.verdict == HELD]
        assert {truth.COVERAGE, truth.AGREEMENT, laws.SUMS, laws.ORDER, chance.IMPORTANCE, data.COLUMNS} <= set(tried)

    def test_a_function_is_held_against_random_orders(self):
        explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2])), TABLE)
        made = validate(explainer, ROWS, effort=FEW)
        assert [check.name for check in made.failed] == []
        assert "random orders" in made.check(truth.COVERAGE).tried
        assert made.settings["model"].endswith("digest unknown")

    def test_a_regression_is_validated(self):
        model = RandomForestRegressor(10, random_state=0).fit(TABLE, TABLE[:, 0] + TABLE[:, 1])
        assert [check.name for check in validate(xcid.Explainer(model, TABLE), ROWS, effort=FEW).failed] == []

    def test_levels_missing_cells_and_xgboost_in_a_pipeline_are_validated(self):
        xgboost = pytest.importorskip("xgboost")
        rng = np.random.default_rng(3)
        table = pd.DataFrame({"amount": rng.gamma(2, 900, 400), "age": rng.integers(19, 70, 400).astype(float)})
        table["savings"] = rng.choice(["none", "little", "much"], 400)
        good = (table.savings == "much") * 1.5 - table.amount / 2000 + rng.logistic(size=400) > 0
        table.loc[::20, "age"] = np.nan
        encode = make_column_transformer((OneHotEncoder(), ["savings"]), remainder="passthrough")
        model = make_pipeline(encode, xgboost.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1, random_state=0))
        model.fit(table[:300], good[:300])
        refits = xcid.refits(model, table[:300], good[:300], n=5)
        found = validate(xcid.Explainer(model, table[:300], refits=refits), table[300:], effort=FEW)
        assert not found.failed
        assert {check.verdict for check in found.checks} == {HELD}

    @pytest.mark.parametrize("limits", ["reference", "training"])
    def test_no_verdict_depends_on_the_limits_that_are_shown(self, limits):
        models = [forest(seed) for seed in range(1, 6)]
        usual, other = (
            cases.Case.of(xcid.Explainer(forest(), TABLE, refits=models, limits=one), ROWS, None, FEW, 0, 90.0)
            for one in ("computation", limits)
        )
        assert other.found.significant.sum() < usual.found.significant.sum()
        stays = np.ones((len(usual.rows), 2), dtype=bool)
        assert cautions.find_cautions(other, stays) == cautions.find_cautions(usual, stays)
        replaced = replace(other, found=replace(other.found, p_computation=np.ones_like(other.found.values)))
        assert len(cautions.find_cautions(replaced, stays)) == len(other.rows)

    def test_a_model_that_was_trained_again_is_found(self):
        model = forest()
        explainer = xcid.Explainer(model, TABLE)
        model.fit(TABLE, CLASS[::-1])
        assert [check.name for check in validate(explainer, ROWS, effort=FEW).failed] == [laws.CHANGED]

    def test_a_function_whose_model_was_replaced_is_found(self):
        held = [forest()]
        explainer = xcid.Explainer(lambda X: held[0].predict_proba(X), TABLE)
        held[0] = forest(seed=1)
        failed = {check.name for check in validate(explainer, ROWS, effort=FEW).failed}
        assert laws.CHANGED in failed

    @pytest.mark.filterwarnings("ignore:the model is not deterministic")
    def test_noise_is_found(self):
        model, rng = forest(), np.random.default_rng(0)

        def noisy(X):
            p = np.clip(model.predict_proba(X)[:, 1] + rng.normal(scale=1e-4, size=len(X)), 0, 1)
            return np.column_stack([1 - p, p])

        failed = {check.name for check in validate(xcid.Explainer(noisy, TABLE), ROWS, effort=FEW).failed}
        assert {laws.NOISE, laws.ORDER, laws.SUMS} <= failed

    def test_rows_from_another_distribution_are_found(self, explainer):
        moved = ROWS + np.array([1.5, 0, 0, 0])
        made = validate(explainer, moved, effort=FEW)
        assert [check.name for check in made.failed] == [data.COLUMNS]
        assert "'0'" in made.check(data.COLUMNS).meaning or "x0" in made.check(data.COLUMNS).meaning

    def test_reference_data_of_a_part_of_the_cases_are_found(self):
        part = TABLE[TABLE[:, 1] < -0.3]
        made = validate(xcid.Explainer(forest(), part), ROWS, effort=FEW)
        assert {data.COLUMNS, data.ROWS} & {check.name for check in made.failed}

    def test_rows_that_are_alike_in_each_column_and_not_together_are_found(self):
        copied = np.column_stack([TABLE[:, 0], TABLE[:, 0] + 0.01 * TABLE[:, 1]])
        explainer = xcid.Explainer(lambda X: X[:, 0] + X[:, 1], copied)
        apart = np.column_stack([ROWS[:, 0], ROWS[::-1, 0]])
        made = validate(explainer, apart, effort=FEW)
        assert data.ROWS in {check.name for check in made.failed}
        assert made.cautions
        assert all("unlike every reference row" in " ".join(one.reasons) for one in made.cautions)

    def test_limits_that_are_too_narrow_fail(self, case, monkeypatch):
        explain = pipeline.explain

        def narrow(setup, rows, seed):
            one = explain(setup, rows, seed)
            reach = (one.upper - one.lower) / 8
            return replace(one, lower=one.values - reach, upper=one.values + reach)

        monkeypatch.setattr(truth.pipeline, "explain", narrow)
        assert truth.check_coverage(case, truth.once(case)).verdict == FAILED

    def test_false_alarms_fail(self, case, monkeypatch):
        explain = pipeline.explain
        monkeypatch.setattr(
            chance.pipeline, "explain", lambda *given: replace(explain(*given), p_values=explain(*given).p_values / 5)
        )
        assert chance.check_planted(case)[0].verdict == FAILED

    def test_another_estimator_that_disagrees_fails(self, case):
        wrong = replace(case, found=replace(case.found, values=case.found.values[:, ::-1]))
        known = truth.walk_rows(case)
        share = truth.explained(wrong.found.values[known.places], known.values)
        assert share.high < truth.AGREES < truth.explained(case.found.values[known.places], known.values).figure

    def test_other_scores_have_no_limits_to_hold(self, approved):
        with approved.raises(InvalidParameter):
            validate(xcid.CID(forest(), TABLE), ROWS)


class TestTrainings:
    def test_limits_by_all_but_one_hold_the_one_they_do_not_know(self):
        rng = np.random.default_rng(5)
        values = rng.normal(size=(400, 3))
        again = values[:, :, None] + rng.normal(size=(400, 3, 12))
        held = np.nanmean(stability.hold_left_out(values, again))
        assert 0.94 <= held <= 0.96
        few = again[:, :, :8]
        few[:, :, 0] = values + 40  # so far that limits which knew of it would hold it
        assert not stability.hold_left_out(values, few)[:, :, 0].any()

    def test_refits_are_looked_at_where_there_are_some(self, case):
        rng = np.random.default_rng(0)
        none = stability.check_refits(case)
        assert {check.verdict for check in none} == {"not tried"}

        class Found:
            values, status = case.found.values, case.found.status
            retrained = values[:, :, None] + 1e-6 * rng.normal(size=(*values.shape, 10))

        same = stability.check_refits(replace(case, found=Found))
        assert {check.verdict for check in same} == {HELD}
        Found.retrained = rng.permuted(Found.retrained, axis=1)
        assert stability.check_refits(replace(case, found=Found))[0].verdict == FAILED

    def test_refits_of_which_some_are_unlike_the_others_fail(self, case):
        rng, values = np.random.default_rng(1), case.found.values
        shape = (*values.shape, 20)
        is_other = np.argsort(rng.random(shape), axis=2) < rng.integers(3, 5, size=(*values.shape, 1))
        apart = np.where(is_other, 10.0, 0.5) * rng.choice([-1, 1], size=shape)

        class Found:
            status, retrained = case.found.status, values[:, :, None] + apart

        Found.values = values
        assert stability.check_refits(replace(case, found=Found))[1].verdict == FAILED


class TestRecords:
    def test_a_record_comes_back(self, found, tmp_path):
        some = replace(found, cautions=(Caution("7", ("because",)),))
        some.save(tmp_path / "a.json")
        assert load(tmp_path / "a.json") == some
        schemas.check("validation-1", json.loads((tmp_path / "a.json").read_text("utf-8")))

    @pytest.mark.parametrize(
        "change",
        [
            {"format": "other"},
            {"version": 2},
            {"checks": {}},
            {"checks": [{"name": "a"}]},
            {"checks": [{"name": 3, "tried": ""}]},
            {"effort": []},
            {"settings": 3},
            {"cautions": [{"row": "a"}]},
            {"seed": "x"},
        ],
    )
    def test_a_damaged_record_is_refused(self, found, tmp_path, change):
        path = tmp_path / "a.json"
        path.write_text(json.dumps(to_document(found) | change), "utf-8")
        with pytest.raises(InvalidFile):
            load(path)

    def test_the_same_effort_gives_the_same_figures(self, explainer, found):
        again = validate(explainer, ROWS, effort=found.effort)
        assert find_differences(found, again) == []
        assert again.checks == found.checks

    def test_differences_are_told(self, found):
        other = replace(found.checks[4], figure=0.5, verdict=FAILED)
        settings = {**found.settings, "model": "another", "versions": "others"}
        now = replace(found, checks=(*found.checks[:4], other, *found.checks[5:]), settings=settings)
        told = find_differences(found, now)
        assert [one.what for one in told] == ["versions", "model", other.name]
        assert [one.is_serious for one in told] == [False, True, True]
        assert "failed 0.5" in str(told[2])
        assert differences.find_differences(now, now) == []

    def test_the_page_runs_and_loads_nothing_and_shows_names_as_they_are(self, found, tmp_path):
        evil = "<script>alert(1)</script>"
        bad = replace(found.checks[0], meaning=evil, name=evil, verdict=FAILED)
        some = replace(found, checks=(bad,), cautions=(Caution(evil, (evil,)),), command=f"xcid {evil}")
        some.report(tmp_path / "a.html")
        text = (tmp_path / "a.html").read_text("utf-8")
        assert "<script" not in text
        assert text.count("&lt;script&gt;") >= 5
        assert not re.search(r"""(src|href)=|url\(|@import|https?://""", text)
        assert "default-src 'none'; style-src 'sha256-" in text
        assert text.count("<h1>") == 1

    def test_the_page_counts_thousands_of_reference_rows(self, found, tmp_path):
        settings = {"model": "Pipeline, digest unknown", "reference": "2,400 rows, sha256 ab"}
        replace(found, settings=settings, n_rows=1500, date="2026-01-01").report(tmp_path / "a.html")
        text = (tmp_path / "a.html").read_text("utf-8")
        assert ">Pipeline, 2,400 rows of reference data; 1,500 rows tried; 2026-01-01<" in text

    def test_it_is_told_in_the_terminal(self, found):
        told = str(found)
        assert all(check.name in told for check in found.checks)
        assert f"{found.n_rows} rows" in told


@pytest.mark.slow
class TestCommand:
    @pytest.fixture
    def table(self, tmp_path):
        path = tmp_path / "train.csv"
        lines = [
            "a,b,c,d,y",
            *(f"{','.join(f'{x:.4f}' for x in row)},{y}" for row, y in zip(TABLE, CLASS, strict=True)),
        ]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    @pytest.fixture
    def record(self, table, tmp_path, capsys):
        given = ["--reference", str(table), "--target", "y", "--train", "forest", "--quiet", "--seconds", "2"]
        outputs = ["--out", str(tmp_path / "v.html"), "--json", str(tmp_path / "v.json")]
        assert cli.main(["validate", *given, *outputs]) == 0
        told = capsys.readouterr().out
        held, untried = map(int, re.match(r"(\d+) checks held, 0 failed, (\d+) not tried", told).groups())
        checks = load(tmp_path / "v.json").checks
        assert held + untried == len(checks)
        assert sum(line.startswith("  held") for line in told.splitlines()) == held
        assert told.count("no models were trained again: --refits 20 in the shell") == 1
        (line,) = (line for line in told.splitlines() if line.startswith("  not tried"))
        assert all(check.name in line for check in checks if check.verdict == "not tried")
        return tmp_path / "v.json"

    def test_a_record_is_verified(self, record, capsys):
        made = load(record)
        assert made.command.startswith("xcid validate --reference")
        assert set(made.inputs["files"]) == {"reference"}
        schemas.check("validation-1", json.loads(record.read_text("utf-8")))
        assert cli.main(["verify", str(record), "--quiet"]) == 0
        assert "the same model, data and figures" in capsys.readouterr().out

    def test_another_table_is_told(self, record, table, capsys):
        lines = table.read_text("utf-8").splitlines()
        table.write_text("\n".join([lines[0], *lines[30:]]) + "\n", "utf-8")
        assert cli.main(["verify", str(record), "--quiet"]) == 1
        told = capsys.readouterr().out
        verdict = told.splitlines()[0]
        assert verdict.startswith("another file of the reference, another model, another reference, ")
        assert re.search(r"; \d+ checks held, \d+ failed", verdict)
        assert "held" not in told.splitlines()[-1]  # where a verdict is the same, it is not repeated
        assert "file of the reference: sha256" in told
        assert "\nmodel: RandomForestClassifier, sha256" in f"\n{told}"

    def test_a_failed_check_is_the_exit_status(self, table, tmp_path, capsys):
        lines = table.read_text("utf-8").splitlines()
        moved = [
            ",".join([f"{float(cells[0]) + 3:.4f}", *cells[1:]]) for cells in (line.split(",") for line in lines[1:81])
        ]
        (tmp_path / "rows.csv").write_text("\n".join([lines[0], *moved]) + "\n", "utf-8")
        given = ["--reference", str(table), "--data", str(tmp_path / "rows.csv"), "--target", "y", "--seconds", "2"]
        assert cli.main(["validate", *given, "--quiet"]) == 1
        assert f"failed: {data.COLUMNS}" in capsys.readouterr().out

    def test_a_record_cannot_ask_for_a_pickle(self, record, tmp_path, capsys):
        (tmp_path / "model.pkl").write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
        known = json.loads(record.read_text("utf-8"))
        known["inputs"]["options"] |= {"model": str(tmp_path / "model.pkl"), "train": None, "unsafe_pickle": True}
        record.write_text(json.dumps(known), "utf-8")
        assert cli.main(["verify", str(record), "--quiet"]) == 2
        assert "--unsafe-pickle" in capsys.readouterr().err
        assert not Path("pwned").exists()

    def test_a_record_that_names_nothing_is_refused(self, record, capsys):
        known = json.loads(record.read_text("utf-8"))
        for change in ({"seed": -1}, {"train": "evil"}, {"reference": None}, {"drop": 3}):
            other = known | {"inputs": known["inputs"] | {"options": known["inputs"]["options"] | change}}
            record.write_text(json.dumps(other), "utf-8")
            assert cli.main(["verify", str(record), "--quiet"]) == 2
        assert "does not say what was validated" in capsys.readouterr().err
