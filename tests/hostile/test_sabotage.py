"""The check of the tests themselves: what is broken on purpose is noticed. ``soak/sabotage.py`` tries all of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "soak" / "sabotage.py"


@pytest.fixture(scope="module")
def sabotage():
    if not SCRIPT.exists():
        pytest.skip("the folder soak is not there")
    spec = importlib.util.spec_from_file_location("sabotage", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["sabotage"] = module
    spec.loader.exec_module(module)
    return module


def test_every_text_to_change_is_there_once(sabotage):
    for one in sabotage.SABOTAGES:
        text = (sabotage.ROOT / "src" / "xcid" / one.file).read_text(encoding="utf-8")
        assert text.count(one.old) == 1, one.name


def test_two_sabotages_are_noticed(sabotage, capsys):
    chosen = ["min and max of d1 swapped", "report without escapes"]
    assert sabotage.main(["--only", *chosen]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:38].strip() for line in lines] == ["(nothing)", *chosen]
    assert ["red" in line for line in lines] == [False, True, True]


def test_one_that_does_no_harm_is_noticed_too(sabotage, monkeypatch, tmp_path, capsys):
    harmless = sabotage.Sabotage(
        "a comment", "errors.py", '"""The one family', '"""One family', ("tests/test_random.py",)
    )
    monkeypatch.setattr(sabotage, "SABOTAGES", (harmless,))
    assert sabotage.main([]) == 1
    assert "GREEN (red is due)" in capsys.readouterr().out
