"""Bars in the terminal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import InvalidParameter
from xcid.generators import Marginal
from xcid.show import text


@pytest.fixture(scope="module")
def explanation():
    """Two rows of four features; the scores are set by hand."""
    table = np.random.default_rng(2).normal(size=(60, 4))
    explainer = xcid.Explainer(
        lambda X: X[:, 0] > 0, table, generator=Marginal(m=10), feature_names=["a", "b", "long name", "d"]
    )
    values = np.array([[0.25, -0.5, 1.0, 0.0], [0.1, 0.2, 0.3, 0.4]])
    found = replace(explainer(table[:2]), p_values=None, lower=None, upper=None)
    return replace(found, values=values, importance=np.abs(values))


@pytest.fixture(scope="module")
def unsigned(explanation):
    return replace(explanation, values=explanation.importance, base_values=None, scale="d1")


def lines_of(explanation, **settings):
    """The lines of features."""
    lines = text.bars(explanation, **settings).splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("  feature ")) + 1
    return lines[start : start + min(settings.get("most", 4), 4)]


def test_largest_first(explanation):
    assert [line.split("  ")[1].strip() for line in lines_of(explanation)] == ["long name", "b", "a", "d"]


def test_lengths_of_bars(explanation):
    bars = {line.split()[0]: line.count("█") for line in lines_of(explanation, width=40)}
    assert bars == {"long": 40, "b": 20, "a": 10, "d": 0}


def test_eighths(explanation):
    finer = replace(explanation, values=np.array([[1, 0.5 / 8, 0, 0]] * 2))
    assert lines_of(finer, width=2)[1].endswith("▏")


def test_signs(explanation, unsigned):
    assert "+1.000" in text.bars(explanation)
    assert "-0.500" in text.bars(explanation)
    assert "contribution in probability of True: + raises it, - lowers it" in text.bars(explanation)
    assert "+1.000" not in text.bars(unsigned)
    assert "score: d1" in text.bars(unsigned)


def test_where_contributions_begin_and_end(explanation):
    one = explanation[0]
    due = "contributions in probability of True: from 0.55 on average over the reference data to 0.75 here"
    told = replace(one, values=np.array([[0.25, -0.5, 0.45, 0.0]]), base_values=np.array([0.55]))
    assert text.bars(told).splitlines()[2].strip() == due
    odds = replace(told, scale="log_odds", base_values=np.array([-1.2]))
    assert "from -1.20 on average over the reference data to -1.00 (0.27) here" in text.bars(odds)


def test_how_many_values_were_tried():
    reference = np.random.default_rng(0).normal(size=(200, 3))
    found = xcid.Explainer(lambda X: X[:, 1] > 0, reference)(reference[:2])
    assert "alone: of 8 usual values that were tried, the share with which" in text.bars(found)
    assert "alone: of the usual values that were tried, the share with which" in text.bars(replace(found, cloud=None))


def test_what_is_frozen_says_so(explanation):
    frozen = replace(explanation, feature_status=np.array([["ok", "frozen", "ok", "ok"]] * 2))
    assert [line.endswith("(frozen)") for line in lines_of(frozen)] == [False, True, False, False]


def test_title(explanation):
    title = text.bars(explanation, 1).splitlines()[0]
    top = explanation.output_names[explanation.outputs[1].argmax()]
    assert title.startswith(f"row 1: predicted {top}; 10 of 20 changed copies of the row flip it (")
    assert title.endswith(f"({explanation.n_evaluations[1]:,} evaluations of the model, status: ok)")
    assert text.bars(explanation, -1) == text.bars(explanation, 1)


def test_values_of_the_row(explanation):
    for value in explanation.data[0]:
        assert f"{value:.6g}" in text.bars(explanation)


def test_most(explanation):
    lines = text.bars(explanation, most=2).splitlines()
    assert len(lines_of(explanation, most=2)) == 2
    assert "  2 more features have smaller scores" in lines


def test_str_is_the_first_row(explanation):
    assert str(explanation) == text.bars(explanation, 0) + "\n(and 1 more row: print(explanation[i]))"
    assert str(explanation[1]) == text.bars(explanation[1], 0)
    assert str(explanation[[]]) == repr(explanation[[]])
    assert str(explanation[1]) == text.bars(explanation, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"row": 2}, "no row 2: positions go from 0 to 1"),
        ({"row": "x"}, "row.*'x'"),
        ({"most": 0}, "most must be at least 1, not 0"),
        ({"most": 1.5}, "most must be a whole number, not 1.5"),
        ({"width": 0}, "width must be at least 1, not 0"),
    ],
    ids=str,
)
def test_bad_settings(explanation, settings, message):
    with pytest.raises(InvalidParameter, match=message):
        text.bars(explanation, **settings)


def test_what_is_not_significant_is_marked(explanation):
    marked = replace(explanation, p_values=np.array([[0.2, 0.001, 0.001, 0.9], [0.5, 0.5, 0.5, 0.5]]))
    assert ["~" in line for line in lines_of(marked)] == [False, False, True, True]
    assert text.bars(marked).splitlines()[-1] == "  ~ not significant (adjusted p > 0.05)"


@pytest.mark.parametrize("letter", ["\x1b", "\x07", "\u202e", "\x00", "\r"])
def test_no_text_commands_a_terminal(letter):
    table = pd.DataFrame({f"a{letter}b": np.arange(60.0) % 7, "level": [f"x{letter}", "y", "z"] * 20})
    model = lambda X: np.where(X.iloc[:, 0].to_numpy(dtype=float) > 3, 0.9, 0.1)  # noqa: E731
    explainer = xcid.Explainer(model, table)
    explanation = explainer(table.iloc[:4])
    shown = [explanation[0], explanation, explainer.counterfactuals(table.iloc[:2]), explainer.actions(table.iloc[:6])]
    shown += [explanation[:2].compare(explanation[2:]), explainer.interactions(table.iloc[:1], n=96)]
    assert all(letter not in str(each) for each in shown)


def test_a_tie_at_one_half_says_whether_it_is_enough(approved):
    rows = np.random.default_rng(0).uniform(0, 4, (200, 2)).round()

    def steps(X):
        p = np.clip(np.asarray(X)[:, 0] / 4, 0, 1)
        return np.column_stack([1 - p, p])

    explainer = xcid.Explainer(steps, rows, class_names=["no", "yes"], feature_names=["a", "b"])
    for value in (3.0, 1.0):
        approved(text.format_outputs(explainer.counterfactuals([[value, 2.0]], k=1), 0))
