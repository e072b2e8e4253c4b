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
DRIFT = 0.05  # of a figure of the page: it changes with every commit, and --renew of benchmarks/roads.py counts again
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def load_roads():
    spec = importlib.util.spec_from_file_location("roads", ROOT / "benchmarks" / "roads.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROADS = load_roads()
FIGURES = ROADS.ROOM.findall(PAGE.partition("## The path of a row")[0])
REACHED = ROADS.REACHED.findall(PAGE)


@pytest.fixture(scope="module")
def modules():
    return ROADS.find_modules(ROOT / "src")


def find_rooms(reached):
    return {name.split(".")[1] for name in reached if name.startswith("xcid.")}


def test_a_class_name_occurs_once(modules):
    trees = [ast.walk(ROADS.parse(path)) for name, path in modules.items() if name.startswith("xcid.")]
    names = Counter(node.name for tree in trees for node in tree if isinstance(node, ast.ClassDef))
    assert len(names) > 200
    assert {name for name, times in names.items() if times > 1} == SHARED


def test_an_explainer_loads_no_late_room(modules):
    """A room that a call needs, such as native for a model of scikit-learn, is loaded by the call."""
    rooms = find_rooms(ROADS.reach(modules, "xcid.explainer", late=False))
    assert {"pipeline", "contributions", "cid"} <= rooms
    assert not rooms & LATE


def test_late_rooms_load_few_others(modules):
    """What whatif searches it reads through native; the app shows all; a report has counterfactuals."""
    found = {room: set() for room in WITH}
    for name in modules:
        room = name.removeprefix("xcid.").split(".")[0]
        if name.startswith("xcid.") and room in WITH:
            found[room] |= find_rooms(ROADS.reach(modules, name, late=False)) & LATE - {room}
    assert found == WITH


@pytest.mark.parametrize(("names", "lines", "files"), FIGURES, ids=[names for names, *_ in FIGURES])
def test_the_page_has_lines_and_files_of_each_room(names, lines, files):
    found = ROADS.find_files(names, ROOT / "src")
    assert len(found) == pytest.approx(int(files), rel=DRIFT)
    assert sum(map(ROADS.count_lines, found)) == pytest.approx(int(lines.replace(",", "")), rel=DRIFT, abs=9)


def test_the_page_has_all_rooms(modules):
    rooms = [names for names, *_ in FIGURES if not names.startswith("`xcid")]
    named = {path for names in rooms for path in ROADS.find_files(names, ROOT / "src")}
    left = {name for name, path in modules.items() if path not in named and name.partition(".")[0] == "xcid"}
    assert len(rooms) > 20
    assert left == {"xcid", "xcid.__main__", "xcid.show"}  # doors, and a package whose parts are rooms


@pytest.mark.parametrize("late", [False, True])
def test_the_page_says_what_an_explainer_reaches(modules, late):
    lines, files = (float(one.replace(",", "")) for one in REACHED[late])
    reached = ROADS.reach(modules, "xcid.explainer", late=late)
    assert len(reached) == pytest.approx(files, rel=DRIFT)
    assert sum(ROADS.count_lines(modules[name]) for name in reached) == pytest.approx(lines, rel=DRIFT)
