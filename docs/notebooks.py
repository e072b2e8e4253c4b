"""The notebooks of ``examples``: ``python docs/notebooks.py [examples/what_if.ipynb ...]`` runs them anew.

Their code is plain Python in one namespace, run in a folder that is thrown away: what a cell prints, its last
expression and its pictures become its outputs, as in Jupyter, but no kernel is needed. The first picture of each stands
for it in ``docs/examples.md``. ``to_markdown`` is how a notebook becomes a page of the site.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import copy
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
PICTURES = ROOT / "docs" / "images" / "examples"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs that its cells have now, and nothing that differs between two runs."""
    import matplotlib as mpl  # the site needs the pages alone
    from matplotlib import pyplot as plt

    cells, count = copy.deepcopy(notebook["cells"]), 0
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), mpl.rc_context({"figure.dpi": 100}):
        plt.switch_backend("Agg")
        for number, cell in enumerate(cells, 1):
            cell["id"] = f"cell-{number:02}"
            if cell["cell_type"] == "code":
                count += 1
                cell |= {"outputs": run_cell("".join(cell["source"]), names, count), "execution_count": count}
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}


def run_cell(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Run one cell: its outputs are what it printed, the value of its last expression, and the pictures it drew."""
    from matplotlib import pyplot as plt

    body, value = ast.parse(source).body, None
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())})
    if value is not None and not source.rstrip().endswith(";"):
        shown = {"text/plain": lines_of(repr(value))}
        if hasattr(value, "_repr_html_"):
            shown["text/html"] = lines_of(value._repr_html_())
        outputs.append({"data": shown, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    for number in plt.get_fignums():
        picture = {"image/png": base64.b64encode(draw(plt.figure(number))).decode()}
        outputs.append({"data": picture, "metadata": {}, "output_type": "display_data"})
    plt.close("all")
    return outputs


def draw(figure: Any) -> bytes:
    """A figure as a small picture, of 128 colours."""
    from PIL import Image  # matplotlib brings it

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, bbox_inches="tight")
    Image.open(drawn).convert("RGB").quantize(128).save(small, "png", optimize=True)
    return small.getvalue()


def lines_of(text: str) -> list[str]:
    """A text as notebooks keep it."""
    return text.splitlines(keepends=True)


def pictures_of(notebook: dict[str, Any]) -> list[bytes]:
    """The pictures of a notebook, in order."""
    outputs = [output.get("data", {}) for cell in notebook["cells"] for output in cell.get("outputs", ())]
    return [base64.b64decode(data["image/png"]) for data in outputs if "image/png" in data]


def to_markdown(notebook: dict[str, Any]) -> str:
    """A notebook as a page: its texts as they are, with links between pages, its code, and its outputs."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace("](../docs/", "](../"))
        else:
            parts += [f"```python\n{source}\n```", *(show(output, cell["metadata"]) for output in cell["outputs"])]
    return "\n\n".join(parts) + "\n"


def show(output: dict[str, Any], metadata: dict[str, str]) -> str:
    """One output of a cell, in the richest form that it has; pictures are described by ``alt`` of the cell."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f"![{metadata['alt']}](data:image/png;base64,{data['image/png']})"
    if "text/html" in data:
        return f"````{{raw}} html\n{''.join(data['text/html'])}\n````"
    return f"````text\n{''.join(data['text/plain']).rstrip()}\n````"


def main(paths: list[Path]) -> None:
    """Run notebooks, and write them and their first pictures."""
    PICTURES.mkdir(exist_ok=True)
    for path in paths:
        done = execute(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(done, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        (PICTURES / f"{path.stem}.png").write_bytes(pictures_of(done)[0])


if __name__ == "__main__":
    main([Path(name).resolve() for name in sys.argv[1:]] or NOTEBOOKS)
