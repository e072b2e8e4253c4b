"""The prose of pages and docstrings: no slips of the pen, no dead links. ``make prose`` checks spelling."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / ".github").rglob("*.md"))]
MODULES = sorted((ROOT / "src").rglob("*.py"))
SLIPS = {
    "a word twice": r"\b([a-z]{2,}) \1\b",
    "a for an": r"\ba [aei][a-z]+",
    "an for a": r"\ban [bcdfgjkpqtvwyz][a-z]+",
    "a space before a mark": r"[a-z] [,;.!?](?= |$)",
}
HIDDEN = (  # front matter, code, formulas, targets of links, comments
    r"^---\n.*?^---\n",
    r"^```.*?^```",
    r"`[^`]*`",
    r"\$\$.*?\$\$",
    r"\$[^$\n]*\$",
    r"\]\([^)]*\)",
    r"<!--.*?-->",
)
SOUNDS_OTHERWISE = re.compile(r"\ba (eu|ewe|one\b|once\b)")
PLANTED = {
    "a word twice": "the the row",
    "a for an": "a explanation",
    "an for a": "an row or an table",
    "a space before a mark": "a row , a column",
}


def prose_of_page(text: str) -> list[str]:
    """Paragraphs and cells, without code, links' targets and formulas."""
    for hidden in HIDDEN:
        text = re.sub(hidden, " § ", text, flags=re.DOTALL | re.MULTILINE)
    return re.split(r"\n\s*\n|\n(?=[-|#])|\|", text)


def prose_of_module(text: str) -> list[str]:
    """Docstrings up to their examples, without names in backquotes."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef)
    found = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, owners)]
    paragraphs = [part for docstring in found for part in re.split(r"\n\s*\n|\n-+\n|\n(?=\S+ : )", docstring)]
    return [re.sub(r"``?.*?``?", " § ", part, flags=re.DOTALL) for part in paragraphs if ">>>" not in part]


def slips(prose: list[str]) -> list[str]:
    lines = [" ".join(part.split()) for part in prose]
    return [
        f"{rule}: {line[max(match.start() - 30, 0) : match.end() + 20]}"
        for line in lines
        for rule, pattern in SLIPS.items()
        for match in re.finditer(pattern, line, flags=re.MULTILINE)
        if not SOUNDS_OTHERWISE.match(match[0])
    ]


def name(path: Path) -> str:
    return os.fspath(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_have_no_slips(page):
    assert slips(prose_of_page(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_docstrings_have_no_slips(module):
    assert slips(prose_of_module(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("rule", SLIPS)
def test_slips_are_found(rule):
    """Each rule finds a slip that was planted, in a page and in a docstring, and none in code."""
    assert [found.partition(":")[0] for found in slips(prose_of_page(f"# Title\n\nThis is {PLANTED[rule]}."))] != []
    assert slips(prose_of_module(f'def f():\n    """Give {PLANTED[rule]}."""\n')) != []
    assert slips(prose_of_page(f"```\n{PLANTED[rule]}\n```\n\nand `{PLANTED[rule]}`")) == []


def anchors(page: Path) -> set[str]:
    """The headings of a page, as they are linked to."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src(?:set)?="([^"]+)"', text):
        if target.startswith("https://"):
            continue
        place, _, anchor = target.partition("#")
        assert (page.parent / place).exists(), target
        if anchor:
            assert anchor in anchors(page.parent / place if place else page), target
