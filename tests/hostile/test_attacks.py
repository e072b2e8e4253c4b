"""Some seconds of ``soak/app.py`` and ``soak/inputs.py``; the scripts try as much as time allows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).resolve().parents[2] / "soak"


def family(name):
    """A script of the folder soak as a module."""
    if not SOAK.exists():
        pytest.skip("the folder soak is not there")
    spec = importlib.util.spec_from_file_location(f"soak_{name}", SOAK / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_survives_its_clients(capsys):
    pytest.importorskip("uvicorn", reason="needs the extra app")
    status = family("app").main(["--count", "60", "--crowd", "300"])
    assert (status, capsys.readouterr().out) == (0, "app: 61 tried, 61 held\n")


def test_objects_that_misbehave_get_an_error_of_ours(capsys):
    status = family("inputs").main(["--count", "600"])
    assert (status, capsys.readouterr().out) == (0, "inputs: 600 tried, 600 held\n")
