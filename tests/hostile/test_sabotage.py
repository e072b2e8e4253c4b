"""The check of the tests themselves: a guard that is taken away is missed. ``soak/sabotage.py`` takes all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = ("Reporting a fault", "Not promised")  # parts that hold no promises


@pytest.fixture
def sabotage(soak):
    return soak("sabotage")


@pytest.fixture
def paragraphs():
    """Parts of SECURITY.md that promise something: paragraphs and points, each in one line."""
    if not (ROOT / "SECURITY.md").exists():
        pytest.skip("SECURITY.md is not there")
    sections = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("\n## ")[1:]
    bodies = [text.partition("\n")[2] for text in sections if not text.startswith(WITHOUT)]
    parts = [" ".join(part.split()) for body in bodies for part in re.split(r"\n\n|\n- ", f"\n{body}")]
    return [part for part in parts if part and not part.startswith(WITHOUT)]


def test_every_text_to_change_is_there_once(sabotage):
    for one in sabotage.listed():
        text = (sabotage.ROOT / "src" / "xcid" / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, one.name
    names = [one.name for one in sabotage.listed()]
    assert len(names) == len(set(names))


def test_every_promise_has_a_guard_and_every_guard_a_promise(soak, sabotage, paragraphs):
    promises = list(sabotage.GUARDS)[1:]
    assert len(paragraphs) > 20
    assert [promise for promise in promises if not any(promise in part for part in paragraphs)] == []
    assert [part for part in paragraphs if not any(promise in part for promise in promises)] == []


def test_two_sabotages_are_noticed(sabotage, capsys):
    chosen = ["min and max of d1 swapped", "report without escapes"]
    assert sabotage.main(["--only", *chosen]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:46].strip() for line in lines if " s  " in line] == [*chosen, "(nothing)"]
    assert [" red " in line for line in lines if " s  " in line] == [True, True, False]
    assert lines[-1] == "guards: 3 tried, 3 held"


@pytest.mark.parametrize(("old", "said"), [('"""The one family', "GREEN (red is due)"), ("no such text", "0 times")])
def test_one_that_does_no_harm_is_noticed_too(sabotage, monkeypatch, capsys, old, said):
    harmless = sabotage.Guard("a comment", "errors.py", old, '"""One family', "tests/test_random.py")
    monkeypatch.setattr(sabotage, "GUARDS", {"nothing": (harmless,)})
    assert sabotage.main([]) == 1
    assert said.upper() in capsys.readouterr().out.upper()
