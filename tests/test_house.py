"""The house as a whole: names, and what loads what."""

from __future__ import annotations

import ast
import importlib.util
import re
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
PAGE = (ROOT / "docs" / "architecture.md").read_text()
DRIFT = 0.03  # of a figure of the page: it changes with every commit, and python benchmarks/roads.py has the true one
PARTS = PAGE.partition("## The path of a row")[0]
FIGURES = re.findall(r"^\| (`[^|]+`) \| ([\d,]+) \| (\d+) \|", PARTS, re.MULTILINE)
REACHED = re.findall(r"\| ([\d,]+) lines in (\d+) files \|$", PAGE, re.MULTILINE)


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


def find_files(names):
    """The modules that a line of the page is about: packages end with a slash, and lie in xcid but for three."""
    found = []
    for name in names:
        place = ROOT / "src" / name if name.startswith("xcid") else ROOT / "src" / "xcid" / name.rstrip("/")
        found += [*place.rglob("*.py")] if place.is_dir() else [place.with_suffix(".py")]
    return found


@pytest.mark.parametrize(("names", "lines", "files"), FIGURES, ids=[names for names, *_ in FIGURES])
def test_the_page_has_lines_and_files_of_each_room(roads, names, lines, files):
    found = find_files(re.findall("`([^`]+)`", names))
    assert len(found) == pytest.approx(int(files), rel=DRIFT)
    assert sum(map(roads.count_lines, found)) == pytest.approx(int(lines.replace(",", "")), rel=DRIFT, abs=9)


def test_the_page_has_all_rooms(modules):
    rooms = [re.findall("`([^`]+)`", names) for names, *_ in FIGURES if not names.startswith("`xcid")]
    named = {path for names in rooms for path in find_files(names)}
    left = {name for name, path in modules.items() if path not in named and name.partition(".")[0] == "xcid"}
    assert len(rooms) > 20
    assert left == {"xcid", "xcid.__main__", "xcid.show"}  # doors, and a package whose parts are rooms


@pytest.mark.parametrize("late", [False, True])
def test_the_page_says_what_an_explainer_reaches(roads, modules, late):
    lines, files = (float(one.replace(",", "")) for one in REACHED[late])
    reached = roads.reach(modules, "xcid.explainer", late=late)
    assert len(reached) == pytest.approx(files, rel=DRIFT)
    assert sum(roads.count_lines(modules[name]) for name in reached) == pytest.approx(lines, rel=DRIFT)
