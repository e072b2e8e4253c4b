"""What the library answers today is what it answered when the values were stored: see ``make.py``."""

from __future__ import annotations

import golden_record as record
import numpy as np
import pytest
from golden_answers import CASES
from golden_command import COMMANDS, VERSION

TOLERANCE = 1e-10  # other processors add up in another order; far below anything that is shown
OTHER_MODEL = 1e-2  # another version of scikit-learn ends its search at another place
STORED = record.load()


def test_every_case_is_stored_and_every_stored_case_is_tested():
    assert list(STORED) == [*CASES, *COMMANDS]


@pytest.mark.parametrize("name", CASES)
def test_the_values_are_the_stored_ones(name):
    assert apart(record.run(CASES[name]), STORED[name], TOLERANCE) == {}


def _with_cost(name):
    """Runs in a folder start processes: more than half the time of all cases, for the values of the other roads."""
    return pytest.param(name, marks=pytest.mark.slow) if "--run" in name else name


@pytest.mark.parametrize("name", [_with_cost(name) for name in COMMANDS])
def test_the_command_writes_the_stored_values(name):
    found, due = (dict(one) for one in (record.run(COMMANDS[name]), STORED[name]))
    versions = [list(one.pop(VERSION, [])) for one in (found, due)]
    assert apart(found, due, TOLERANCE if versions[0] == versions[1] else OTHER_MODEL) == {}


def test_a_difference_is_seen():
    due = {"numbers": np.arange(3.0), "text": np.array(["a"]), "nothing": None, "whole": np.arange(2)}
    other = {
        "numbers": np.array([0.0, 1.0, 2.0 + 1e-9]),
        "text": ["b"],
        "nothing": np.zeros(1),
        "whole": np.arange(2.0),
        "more": [1],
    }
    assert apart(due, due, TOLERANCE) == {}
    for name, value in other.items():
        assert list(apart({**due, name: value}, due, TOLERANCE)) == [name]
    assert list(apart({"text": ["a"]}, due, TOLERANCE)) == ["numbers", "nothing", "whole"]
    assert list(apart({**due, "numbers": [0.0, 1.0, np.nan]}, due, TOLERANCE)) == ["numbers"]


def apart(found, due, tolerance):
    """What differs by more than a tolerance, and by how much."""
    return {name: gap for name, gap in record.gaps(found, due).items() if gap > tolerance}
