"""The check of the tests themselves: every promise has tests, and a change of the code that tests miss is told."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = ("Reporting a fault", "Not promised")  # parts that hold no promises


@pytest.fixture
def mutants(soak):
    return soak("mutants")


@pytest.fixture
def promises(soak):
    return soak("promises").PROMISES


@pytest.fixture
def paragraphs():
    """Parts of SECURITY.md that promise something: paragraphs and points, each in one line."""
    if not (ROOT / "SECURITY.md").exists():
        pytest.skip("SECURITY.md is not there")
    sections = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("\n## ")[1:]
    bodies = [text.partition("\n")[2] for text in sections if not text.startswith(WITHOUT)]
    parts = [" ".join(part.split()) for body in bodies for part in re.split(r"\n\n|\n- ", f"\n{body}")]
    return [part for part in parts if part and not part.startswith(WITHOUT)]


class TestPromises:
    def test_each_is_in_the_document_and_each_part_of_the_document_has_one(self, promises, paragraphs):
        assert len(paragraphs) > 20
        assert [promise for promise in promises if not any(promise in part for part in paragraphs)] == []
        assert [part for part in paragraphs if not any(promise in part for promise in promises)] == []

    def test_each_has_tests_that_exist(self, promises):
        named = {test for tests in promises.values() for test in tests}
        files = sorted({test.partition("::")[0] for test in named})
        options = ("--collect-only", "-q", "-p", "no:cacheprovider")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files], cwd=ROOT, capture_output=True, text=True, check=True
        )
        collected = done.stdout.splitlines()
        assert [test for test in sorted(named) if not any(one.startswith(test) for one in collected)] == []
        assert all(promises.values())


CODE = b'''"""Text."""
MOST = 3


def check(value: int = 1, names: str | None = None) -> None:
    """Of 2."""
    log(value)
    if value > MOST and not names:
        raise ValueError(f"{value + 1} is too much")
    try:
        return -value * 2.0 if names else "a" + names
    except KeyError:
        return True
'''
CHANGED = [
    ("3", "4"), ("1", "2"), ("log(value)", "pass"), ("value > MOST and not names", "False"),
    ("value > MOST and not names", "(value > MOST or not names)"), ("value > MOST", "(value >= MOST)"),
    ("not names", "(names)"), ('raise ValueError(f"{value + 1} is too much")', "pass"), ("names", "True"),
    ("names", "False"), ("-value * 2.0", "(-value / 2.0)"), ("-value", "(value)"), ("2.0", "3.0"),
    ("KeyError", "ZeroDivisionError"), ("True", "False"),
]  # fmt: skip


class TestMutants:
    def test_every_change_of_a_piece_of_code(self, mutants):
        found = [(old, new) for _, _, _, old, new in mutants.changes(CODE)]
        assert found == CHANGED
        for _, start, end, old, new in mutants.changes(CODE):
            assert CODE[start:end].decode() == old
            compile(CODE[:start] + new.encode() + CODE[end:], "code", "exec")

    def test_every_room_has_files_and_tests(self, mutants):
        for name, room in mutants.ROOMS.items():
            assert all(list((ROOT / "src" / "xcid").glob(pattern)) for pattern in room.files), name
            assert [test for test in room.tests if not (ROOT / test).exists()] == []
            assert len(mutants.every(name, room)) > 50

    def test_a_sample_is_the_same_for_a_seed(self, mutants):
        first, again, other = (mutants.sampled(list(range(100)), 10, seed) for seed in (1, 1, 2))
        assert first == again == sorted(first)
        assert first != other
        assert mutants.sampled(list(range(9)), 0, 1) == list(range(9))


class TestOneRoom:
    """A package of one file, whose tests see one of its two mutants."""

    @pytest.fixture
    def room(self, mutants, monkeypatch, tmp_path):
        for folder in ("src/xcid", "tests", "soak"):
            (tmp_path / folder).mkdir(parents=True)
        (tmp_path / "src" / "xcid" / "code.py").write_text("seen = 1\nunseen = 2\n")
        (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n')
        test = "import runpy\n\ndef test_it():\n    assert runpy.run_path('src/xcid/code.py')['seen'] == {}\n"
        monkeypatch.setattr(mutants, "ROOT", tmp_path)
        monkeypatch.setattr(mutants, "WARM", ())

        def make(least, due=1):
            (tmp_path / "tests" / "test_it.py").write_text(test.format(due))
            one = mutants.Room(("code.py",), ("tests/test_it.py",), (), least)
            monkeypatch.setattr(mutants, "ROOMS", {"one": one})

        return make

    @pytest.mark.parametrize(("least", "status"), [(0.5, 0), (0.6, 1)])
    def test_survivors_are_named_and_counted(self, mutants, room, capsys, least, status):
        room(least)
        assert mutants.main([]) == status
        printed = capsys.readouterr().out
        assert re.search(r"killed +[\d.]+ s  code.py:1: 1  ->  2", printed)
        assert re.search(r"SURVIVED +[\d.]+ s  code.py:2: 2  ->  3", printed)
        assert printed.splitlines()[-1] == f"mutants: 1 tried, {1 - status} held"

    def test_tests_that_fail_by_themselves_tell_nothing(self, mutants, room, capsys):
        room(0.5, due=7)
        assert mutants.main([]) == 1
        assert "the tests fail without any change" in capsys.readouterr().out
