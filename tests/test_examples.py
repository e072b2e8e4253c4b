"""The notebooks of ``examples``: they run as they stand, print what they show, and are on the site."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)

MOST_BYTES = 300_000


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(output):
    """What an output says, without its picture."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    return {kind: "".join(lines) for kind, lines in data.items() if kind != "image/png"}


@pytest.fixture(params=notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


def missing_in(notebook):
    """Packages that a notebook imports, or xcid for it, and that are not installed."""
    source = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    wanted = {match[1] for match in re.finditer(r"^(?:import|from) (\w+)", source, flags=re.MULTILINE)}
    wanted |= {name.lower() for name in re.findall(r"baselines\.(Shap|Lime)", source)}
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of other libraries, as they are imported
def test_notebooks_run_and_say_what_they_store(path):
    stored = read(path)
    if missing := missing_in(stored):
        pytest.skip(f"not installed: {', '.join(missing)}")
    fresh = notebooks.execute(stored)
    assert fresh["metadata"] == stored["metadata"]
    for old, new in zip(stored["cells"], fresh["cells"], strict=True):
        assert [text_of(output) for output in old.get("outputs", ())] == [
            text_of(output) for output in new.get("outputs", ())
        ], f"{path.name}, {old['id']}: `make pages` stores what is said now"
    assert len(notebooks.pictures_of(fresh)) == len(notebooks.pictures_of(stored))


def test_notebooks_are_small_and_clean(path):
    """A title, plain Python, described pictures; no errors, no places of a machine, nothing that a run changes."""
    text, notebook = path.read_text(encoding="utf-8"), read(path)
    assert len(text.encode()) < MOST_BYTES
    assert notebook["cells"][0]["cell_type"] == "markdown"
    assert notebook["cells"][0]["source"][0].startswith("# ")
    assert notebook["metadata"] == notebooks.METADATA
    assert len(notebooks.pictures_of(notebook)) >= 1
    assert not re.search(r"/home/|/tmp/|/root/|/Users/|\bfile://|object at 0x", text)
    for number, cell in enumerate(notebook["cells"], 1):
        assert cell["id"] == f"cell-{number:02}"
        assert not re.search(r"^[%!]", "".join(cell["source"]), flags=re.MULTILINE) or cell["cell_type"] == "markdown"
        assert {output["output_type"] for output in cell.get("outputs", ())} <= {
            "stream",
            "execute_result",
            "display_data",
        }
        drawn = bool(notebooks.pictures_of({"cells": [cell]}))
        assert set(cell["metadata"]) == ({"alt"} if drawn else set()), cell["id"]


def test_notebooks_are_on_the_page(path):
    """With their first picture, a line, and a place in the list of the site."""
    assert f"](images/examples/{path.stem}.png)](../examples/{path.name}) | **[" in PAGE
    assert f"\nexamples/{path.stem}\n" in PAGE
    assert (notebooks.PICTURES / f"{path.stem}.png").read_bytes() == notebooks.pictures_of(read(path))[0]


def test_there_is_one_kind_of_example():
    """Notebooks; and a service, which is a program to copy."""
    assert len(notebooks.NOTEBOOKS) == PAGE.count("](../examples/") / 2 == 7
    others = {file.name for file in (ROOT / "examples").iterdir() if file.suffix != ".ipynb"}
    assert others - {"__pycache__"} == {"service.py"}
    assert {file.stem for file in notebooks.PICTURES.iterdir()} == {file.stem for file in notebooks.NOTEBOOKS}


def test_links_lead_to_pages(path):
    text = "".join("".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == "markdown")
    for target in re.findall(r"\]\(([^)\s#]+)", text):
        assert (path.parent / target).is_file(), target


def test_cells_have_the_outputs_of_jupyter():
    """What is printed, the last expression unless a semicolon hides it, and pictures; an assignment has none."""
    names = {}
    printed, value = notebooks.run_cell("x = 2\nprint('two')\nx + 1", names, 1)
    assert printed == {"name": "stdout", "output_type": "stream", "text": ["two\n"]}
    assert value["data"] == {"text/plain": ["3"]}
    assert notebooks.run_cell("x;", names, 2) == notebooks.run_cell("y = x", names, 3) == []
    pytest.importorskip("matplotlib")
    (picture,) = notebooks.run_cell("from matplotlib import pyplot\npyplot.plot([1, 2]);", names, 4)
    assert picture["data"].keys() == {"image/png"}


def test_a_notebook_becomes_a_page():
    cells = [
        {"cell_type": "markdown", "source": ["# A\n", "[b](../docs/b.md)"]},
        {
            "cell_type": "code",
            "source": ["1"],
            "metadata": {"alt": "bars"},
            "outputs": [
                {"output_type": "stream", "text": ["two\n"]},
                {"data": {"text/html": ["<b>1</b>"], "text/plain": ["1"]}},
                {"data": {"image/png": "AA=="}},
            ],
        },
    ]
    assert notebooks.to_markdown({"cells": cells}) == (
        "# A\n[b](../b.md)\n\n```python\n1\n```\n\n````text\ntwo\n````\n\n````{raw} html\n<b>1</b>\n````\n\n"
        "![bars](data:image/png;base64,AA==)\n"
    )
