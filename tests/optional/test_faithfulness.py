"""A small case of benchmarks/faithfulness.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

for package in ("shap", "lime", "dice_ml"):
    pytest.importorskip(package, reason="needs the extra bench")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "faithfulness.py"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("faithfulness", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    chosen = ("xcid", "SHAP", "LIME", "chance")
    monkeypatch.setattr(module, "METHODS", {name: module.METHODS[name] for name in chosen})
    return module


def test_tables_have_no_holes_and_one_has_more_than_20_features(script):
    tables = list(script.tables())
    assert all(np.isfinite(X).all() for _, X, _ in tables)
    assert len(tables) == 8
    assert sum(X.shape[1] > 20 for _, X, _ in tables) == 2


def test_prints_tables_of_all_methods(script, capsys):
    cells = script.run(4, n_tables=1, models=["logistic"])
    script.summary(cells)
    script.differences(cells)
    cell, means, apart = (part.splitlines() for part in capsys.readouterr().out.strip().split("\n\n"))
    assert len(cell) == 3
    assert [line.split(" | ")[0] for line in means[2:]] == ["| xcid", "| SHAP", "| LIME", "| chance"]
    assert all(len({line.count("|") for line in part}) == 1 for part in (cell, means, apart))
    to_itself = apart[3].split(" | ")[1]
    assert to_itself == "+0.0000 ± 0.0000 (0/1)"


def test_all_that_know_the_model_beat_chance(script):
    (cell,) = script.run(10, n_tables=1, models=["logistic"]).values()
    for masking in script.MASKINGS:
        means = {name: figures.faithfulness[masking].mean() for name, figures in cell.items()}
        assert min(means, key=means.get) == "chance"
