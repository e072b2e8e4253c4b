"""What is wrong with a counterfactual: changes that are not needed, shares that are off, rules that it breaks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from earlier import Answer, Key
from review_tables import Cell, Codes

MOST_CHANGES = 8  # of a line whose shares are counted out


def sum_of(made: Mapping[Key, Cell], answers: Mapping[Key, Answer], count: Any) -> tuple[int, int]:
    """What a function counts as wrong, and of how many, over all cells."""
    counts = [count(one, answers[key], line) for key, one in made.items() if key in answers
              for line in np.flatnonzero(answers[key].reached & (answers[key].n_changes > 0))]  # fmt: skip
    return sum(one[0] for one in counts), sum(one[1] for one in counts)


def superfluous(one: Cell, found: Answer, line: int) -> tuple[int, int]:
    """Changes of a line that can be taken back without losing the other class."""
    own, names = one.rows.iloc[found.row[line]], [name for name, _ in found.changed[line]]
    tried = pd.concat([found.table.iloc[[line]]] * len(names), ignore_index=True)
    for at, name in enumerate(names):
        tried.loc[at, name] = own[name]
    return int((one.model.predict(tried).astype(int) != one.has[found.row[line]]).sum()), len(names)


def wrong_shares(one: Cell, found: Answer, line: int) -> tuple[int, int]:
    """Shares of a line that are not the Shapley values that all its subsets give, or whose sum is not the change."""
    own, new, parts = one.rows.iloc[found.row[line]], found.table.iloc[line], found.changed[line]
    names, n = [name for name, _ in parts], len(parts)
    if n > MOST_CHANGES:
        return 0, 0
    every = list(itertools.product((0, 1), repeat=n))
    tried = pd.DataFrame([own] * len(every)).reset_index(drop=True).astype(one.train.dtypes)
    for at, name in enumerate(names):
        tried[name] = [new[name] if taken[at] else own[name] for taken in every]
    outputs = dict(zip(every, one.chance(tried)[:, int(found.about[line])], strict=True))
    wrong = abs(sum(part for _, part in parts) - (found.output[line] - found.was[line])) > 1e-5
    bad = 0
    for at, (_, part) in enumerate(parts):
        due = 0.0
        for taken in every:
            if not taken[at]:
                size = sum(taken)
                weight = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
                due += weight * (outputs[(*taken[:at], 1, *taken[at + 1 :])] - outputs[taken])
        bad += bool(wrong or abs(due - part) > 1e-5)
    return bad, n


def rules_of(one: Cell) -> dict[str, Any]:
    """Two frozen columns, and where there are three more numbers, one that rises, one that falls and one in a range."""
    numbers = [name for name in one.train if pd.api.types.is_numeric_dtype(one.train[name])]
    order = np.random.default_rng(2).permutation(list(one.train)).tolist()
    fixed, left = order[:2], [name for name in order[2:] if name in numbers]
    rules: dict[str, Any] = {"frozen": fixed}
    if len(left) >= 3:
        low, high = (float(one.train[left[2]].quantile(at)) for at in (0.1, 0.9))
        rules |= {"monotone": {left[0]: "rises", left[1]: "falls"}, "ranges": {left[2]: (low, high)}}
    return rules


def broken(made: Mapping[Key, Cell], answers: Mapping[Key, Answer]) -> tuple[int, int]:
    """Lines that break a rule, of all lines of the questions with rules."""
    bad = whole = 0
    for key, one in made.items():
        found = answers.get((*key, "ruled"))
        if found is None:
            continue
        rules, own = rules_of(one), one.rows.iloc[found.row].reset_index(drop=True)
        wrong = (found.table[rules["frozen"]] != own[rules["frozen"]]).any(axis=1).to_numpy(copy=True)
        for name, way in rules.get("monotone", {}).items():
            wrong |= ((found.table[name] - own[name]) * (1 if way == "rises" else -1) < 0).to_numpy()
        for name, (low, high) in rules.get("ranges", {}).items():
            outside = ~found.table[name].between(low, high) & (found.table[name] != own[name])
            wrong |= outside.to_numpy()
        bad, whole = bad + int(wrong[found.reached].sum()), whole + int(found.reached.sum())
    return bad, whole


def flips(one: Cell, coded: Any, at: int) -> bool:
    """Whether a coded row has another class than the row that it comes from."""
    return bool(Codes(one).predict(pd.DataFrame(coded[None], columns=one.train.columns))[0] != one.has[at])


def n_changed(one: Cell, coded: Any, at: int) -> int:
    return int((coded != Codes(one).encode(one.rows.iloc[[at]]).to_numpy(float)[0]).sum())


def held(one: Cell, judges: Sequence[Any], table: pd.DataFrame, at: int) -> float:
    """The share of models in which a changed row has another class than its own had."""
    wanted = 1 - one.has[at]
    return float(np.mean([int(judge.predict(table)[0]) == wanted for judge in judges]))
