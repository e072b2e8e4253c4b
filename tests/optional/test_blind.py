"""Small cases of benchmarks/blind.py and benchmarks/judges.py."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from xcid._require import quiet_and_seeded

for package in ("shap", "lime"):
    pytest.importorskip(package, reason="needs the extra bench")

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


class Sum:
    """Two classes by a weighted sum, of which the first feature matters most and the last not at all."""

    weights = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.0])

    def predict_proba(self, X):
        chance = 1 / (1 + np.exp(-X @ self.weights))
        return np.column_stack([1 - chance, chance])


@pytest.fixture
def cell(script):
    table = np.random.default_rng(0).normal(size=(300, 6))
    return script("unseen").Cell("sum", Sum(), table[4:], table[:4])


def test_the_plan_is_fixed_and_its_first_nine_have_all_tables_and_models(script):
    unseen = script("unseen")
    plan = unseen.plan()
    assert len(set(plan)) == 36
    assert {table for table, _ in plan[:9]} == set(unseen.TABLES)
    assert {model for _, model in plan[:9]} == set(script("cells").MODELS)
    shapes = {name: make()[0].shape[1] for name, make in unseen.TABLES.items()}
    assert {shapes["redundant"], shapes["skewed"]} == {30, 57}
    again = unseen.skewed()[0]
    assert np.array_equal(unseen.skewed()[0], again)


def usable(script):
    return {name: method.make for name, method in script("peers").METHODS.items() if not method.missing}


@pytest.mark.parametrize("budget", [300, 1_000])
def test_no_method_asks_for_more_than_the_budget(script, cell, budget):
    for name, make in usable(script).items():
        model = script("peers").Counted(cell.model)
        explain = make(model, cell.train, budget, 0)
        once = model.n_rows
        values = explain(cell.rows)
        assert (model.n_rows - once) / len(cell.rows) <= 1.01 * budget, name
        assert np.mean(np.abs(values).argmax(axis=1) == np.abs(cell.rows * Sum.weights).argmax(axis=1)) >= 0.5, name


@pytest.mark.parametrize("budget", [300, 1_000])
def test_no_form_of_a_peer_asks_for_more_than_the_budget(script, cell, budget):
    budgets, asked, train = script("budgets"), [], cell.train
    for name, forms in budgets.methods().items():
        free = len(train) if name == "SHAP sampling" else 0  # what is asked about all reference rows
        for explain in forms:

            def number(X):
                asked.append(len(X))
                return cell.model.predict_proba(X)[:, 1]

            asked.clear()
            with quiet_and_seeded(0):
                values = explain(number, cell.rows[0], train, budget, 0)
            assert budget / 2 < sum(asked) - free <= budget + 1, name  # the row itself is asked about, too
            assert values.shape == (6,)


def test_converged_values_add_up(script, cell):
    model = script("peers").Counted(cell.model)
    values = script("peers").converged(model, cell.train, 0, 0)(cell.rows)
    own = cell.model.predict_proba(cell.rows).argmax(axis=1)
    outputs = cell.model.predict_proba(cell.rows).max(axis=1)
    usual = cell.model.predict_proba(cell.train).mean(axis=0)[own]
    assert np.allclose(values.sum(axis=1), outputs - usual, atol=0.12)


def test_prints_all_tables_and_says_where_it_fails(script, cell):
    blind, peers = script("blind"), script("peers")
    backwards = lambda *given: lambda rows: -peers.of_xcid(*given)(rows)  # noqa: E731
    methods = {"xcid": backwards, "occlusion": peers.of_occlusion}
    cells = [cell, cell._replace(name="again", rows=cell.rows[:3])]
    results = blind.run(cells, [300, 1_000], methods)
    parts = blind.page(results, blind.default_budgets(cells), [300, 1_000])
    assert len(parts) == 7
    for part in parts[:-1]:
        assert len({line.count("|") for line in part.splitlines()}) == 1
    assert all(f"occlusion under {masking}" in parts[-1] for masking in blind.MASKINGS)
    methods["xcid"] = peers.of_xcid
    results = blind.run(cells, [], methods)
    assert {budget for cell in results.values() for budget in cell} == {1_000}
    assert "mean" not in blind.verdict(results, blind.default_budgets(cells))
    assert len(blind.page(results, blind.default_budgets(cells), [])) == 4


def test_a_missing_package_is_said(script, capsys):
    peers = script("peers")
    methods = {"here": peers.Method(peers.of_xcid), "gone": peers.Method(peers.of_xcid, ("no_such_package",))}
    assert list(script("blind").usable(methods)) == ["here"]
    assert "left out: gone, for want of no_such_package" in capsys.readouterr().out


def test_judges_are_heard_or_left_out_with_a_reason(script, capsys, monkeypatch):
    judges = script("judges")

    def absent(case):
        raise ModuleNotFoundError("No module named 'absent'")

    monkeypatch.setattr(judges, "JUDGES", {"SHAP's SequentialMasker": judges.sequential, "absent": absent})
    assert judges.main(["--tables", "1", "--rows", "3"]) == 0
    table, reason = capsys.readouterr().out.strip().split("\n\n")
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [
        "| remove positive ↓",
        "| keep positive ↑",
        "| remove negative ↑",
    ]
    assert reason == "absent is left out: ModuleNotFoundError: No module named 'absent'"


def test_games_mark_losses_and_count_a_failure_as_unknown(script):
    games = script("games")
    found = {"xcid": {"a": 0.3, "b": 0.31, "c": 0.29}, "better": {"a": 0.1, "b": 0.1, "c": 0.1}}
    found["fails once"] = {"a": 0.5, "b": float("nan"), "c": 0.4}
    lines = games.shown(found, 1_000).splitlines()
    assert lines[3] == "| better | 0.100 | +0.200 ± 0.012 **loss** | 0 of 3 |"
    assert lines[4].startswith("| fails once | 0.450 (2 games) | -0.155 ± ")
    assert games.by_game(found, 1_000).splitlines()[-1] == "| c | 0.290 | 0.100 (better) |"
    assert np.isnan(games.error(lambda *_: 1 / 0, None, 100, 0))


def test_all_coalitions_of_a_game_add_up(script):
    pytest.importorskip("shapiq_benchmark", reason="needs the extra shapiq, and Python 3.12")
    games = script("games")
    (case,) = games.cases([("condind", "random_forest")], 1)
    assert games.error(games.of_xcid, case, 3_000, 0) < 0.2
