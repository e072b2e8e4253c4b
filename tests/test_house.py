"""The house as a whole: names, and what loads what."""

from __future__ import annotations

import ast
import importlib.util
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHARED = {"Explanation"}  # the record, and what users hold
WITH = {  # rooms that are loaded on first use, each with those of them that it loads at once
    "app": {"io", "native", "show", "whatif"},
    "engines": set(),
    "interactions": set(),
    "io": {"native"},
    "native": set(),
    "runs": {"io"},
    "show": {"io", "whatif"},
    "whatif": {"native"},
}
LATE = WITH.keys()


@pytest.fixture(scope="module")
def roads():
    spec = importlib.util.spec_from_file_location("roads", ROOT / "benchmarks" / "roads.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def modules(roads):
    return roads.find_modules(ROOT / "src")


def find_rooms(reached):
    return {name.split(".")[1] for name in reached if name.startswith("xcid.")}


def test_a_class_name_occurs_once(roads, modules):
    trees = [ast.walk(roads.parse(path)) for name, path in modules.items() if name.startswith("xcid.")]
    names = Counter(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef))
    assert len(names) > 200
    assert {name for name, times in names.items() if times > 1} == SHARED


def test_an_explainer_loads_no_late_room(roads, modules):
    """A room that a call needs, such as native for a model of scikit-learn, is loaded by the call."""
    rooms = find_rooms(roads.reach(modules, "xcid.explainer", late=False))
    assert {"pipeline", "contributions", "cid"} <= rooms
    assert not rooms & LATE


def test_late_rooms_load_few_others(roads, modules):
    """What whatif searches it reads through native; the app shows all; a report has counterfactuals."""
    found = {room: set() for room in WITH}
    for name in modules:
        room = name.removeprefix("xcid.").split(".")[0]
        if name.startswith("xcid.") and room in WITH:
            found[room] |= find_rooms(roads.reach(modules, name, late=False)) & LATE - {room}
    assert found == WITH
