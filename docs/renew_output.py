"""Print again what the pages show below their Python: ``python docs/renew_output.py [docs/reading.md ...]``.

A bare fence that follows a Python block at once holds what that block prints; ``tests/test_documents.py`` compares the
two. By default all pages and the README are renewed, in a folder that is thrown away.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n*^```\n(.*?)^```$)?", flags=re.DOTALL | re.MULTILINE)


def renew(page: Path) -> str:
    """The text of a page with what its blocks print now; every section builds on the top of its page alone."""
    head, *sections = re.split(r"^(?=## )", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    top: dict[str, object] = {}
    renewed = [renew_section(head, top)]
    is_one_story = page.name == "README.md"
    renewed += [renew_section(text, top if is_one_story else dict(top)) for text in sections]
    return "".join(renewed)


def renew_section(text: str, names: dict[str, object]) -> str:
    """Run the blocks of a section in order, and put what they print where it is shown."""

    def run(block: re.Match[str]) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block[1], "page", "exec"), names)
        if block[2] is None:
            return block[0]
        lines = "\n".join(line.rstrip() for line in printed.getvalue().strip("\n").splitlines())
        start, end = block.start(2) - block.start(), block.end(2) - block.start()
        return f"{block[0][:start]}{lines}\n{block[0][end:]}"

    return BLOCK.sub(run, text)


if __name__ == "__main__":
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    failed = list[str]()
    for page in pages:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            try:
                text = renew(page)
            except Exception as error:  # a page that fails stays as it is, and the others are renewed
                failed.append(f"{page.name}: {type(error).__name__}: {error}")
                continue
        page.write_text(text, encoding="utf-8")
    sys.exit("\n".join(failed) or 0)
