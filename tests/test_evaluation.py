"""The page of the evaluation is made by one command, and holds all of its tables."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "benchmarks" / "evaluation.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("evaluation", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_table_has_its_place_in_the_page(script):
    for name, (file, *_) in script.SCRIPTS.items():
        page = script.page_of(name).read_text(encoding="utf-8")
        assert (PATH.parent / file).exists()
        changed = script.replaced(page, name, "| a table |")
        assert "| a table |" in changed
        assert len(changed) < len(page)  # there was a longer one


def test_a_page_without_the_place_is_refused(script):
    with pytest.raises(SystemExit, match="must have <!-- truth -->"):
        script.replaced("no place", "truth", "| a table |")
