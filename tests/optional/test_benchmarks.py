"""A small case of benchmarks/generators.py."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xcid.generators import Dice, Gradient, Marginal

pytest.importorskip("dice_ml", reason="needs the extra bench")
torch = pytest.importorskip("torch", reason="needs the extra torch")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "generators.py"
CHOSEN = ("Random", "Nearest", "dice-ml random", "dice-ml kdtree")
M = 4


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("generators_benchmark", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    gradients = {
        "Gradient": lambda net, m: Gradient(net, m=m, steps=10),
        "dice-ml gradient": lambda net, m: Dice("gradient", m=m, module=net, steps=5),
    }
    monkeypatch.setattr(module, "GENERATORS", {name: module.GENERATORS[name] for name in CHOSEN})
    monkeypatch.setattr(module, "GRADIENTS", gradients)
    monkeypatch.setattr(module, "M_QUICK", M)
    return module


@pytest.fixture(autouse=True)
def same_threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def table(text, title):
    """The lines of the first table behind a title, split into cells."""
    lines = iter(text[text.index(title) :].splitlines())
    found = []
    for line in lines:
        if line.startswith("|"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
        elif found:
            break
    return found


def test_prints_and_writes_the_page(script, capsys, tmp_path):
    assert script.main(["--quick", "--out", str(tmp_path / "page.md")]) == 0
    text = capsys.readouterr().out
    assert (tmp_path / "page.md").read_text(encoding="utf-8").strip() == text.strip()
    head, _, *lines = table(text, "## Means over all cells")
    assert [line[0] for line in lines] == list(CHOSEN)
    for name in ("valid C+", "valid C−", "found C+", "found C−"):
        assert {line[head.index(name)] for line in lines} == {"1.00"}
    _, _, *goals = table(text, "## Goals")
    assert [line[0] for line in goals] == ["Random / random", "Nearest / kdtree", "Gradient / gradient"]
    assert {len(line) for line in goals} == {10}
    assert "{" not in text


def test_validity_is_the_word_of_the_model_not_of_the_generator(script, monkeypatch, capsys):
    """A generator that takes negatives for positives is found out."""

    def swapped(rows, keys, space, member):
        cloud = Marginal(m=M)(rows, keys, space, member)
        return replace(cloud, positive=cloud.negative, negative=cloud.positive)

    monkeypatch.setattr(script, "COUNTERPARTS", ())
    monkeypatch.setattr(script, "GENERATORS", {"swapped": lambda m: swapped})
    monkeypatch.setattr(script, "run_gradients", lambda *settings: {})
    monkeypatch.setattr(script, "page", lambda cells, *settings: "\n".join(script.cell_table(script.pooled(cells))))
    assert script.main(["--quick"]) == 1
    assert "| swapped | 0.00 | 0.00 | 1.00 | 1.00 |" in capsys.readouterr().out


def test_measures_what_the_page_says(script):
    row, scales = np.zeros(3), np.array([1.0, 2.0, 1.0])
    positives = np.array([[1.0, 0.0, 0.0], [0.0, 4.0, 0.0], [3.0, 2.0, 0.0]])

    class Model:
        def predict(self, X):
            return X.sum(axis=1) > 0.5

    valid, valid_negative, *found, distance, changes, diversity = script.quality(
        row, positives, np.array([[0.1, 0.0, 0.0], [9.0, 0.0, 0.0]]), Model(), scales
    )
    assert (valid, valid_negative, *found) == (1.0, 0.5, 3.0, 2.0)
    assert distance == pytest.approx((1 + 2 + 4) / 3)
    assert changes == pytest.approx(4 / 3)
    assert diversity == pytest.approx((3 + 3 + 4) / 3)


def test_nothing_found_has_no_distance(script):
    class Model:
        def predict(self, X):
            return np.zeros(len(X))

    figures = script.quality(np.zeros(2), np.empty((0, 2)), np.ones((1, 2)), Model(), np.ones(2))
    assert figures[1:4] == (1.0, 0.0, 1.0)
    assert np.isnan([figures[0], *figures[4:]]).all()


@pytest.mark.parametrize(
    ("ratio", "sign", "said"),
    [((-0.5, 0.1), -1, "better"), ((-0.5, 0.1), 1, "worse"), ((0.05, 0.1), 1, "unclear"), ((0.3, 0.1), 1, "better")],
)
def test_verdicts(script, ratio, sign, said):
    assert script.verdict(ratio, sign) == said
