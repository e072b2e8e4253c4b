"""Every example of the documents runs, Python blocks and commands typed after a $, and prints what the page shows."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib import pyplot as plt

from xcid import cli
from xcid.io.readers import OPENERS
from xcid.io.writers import FORMATS
from xcid.records import FEATURE_STATUSES, STATUSES

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TOO_LONG = {"app", "bench", "reproduce"}  # verbs whose options are only read
FENCE = re.compile(r"^```([\w{}-]*)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
SHOWN = "what the Python block before it prints"  # the language of a bare fence that follows one at once


class Section(NamedTuple):
    """Part of a page under a heading of the second level; the part before the first one has the title ""."""

    page: Path
    title: str
    blocks: tuple[tuple[str, str], ...]  # language and text


def sections_of(page: Path) -> list[Section]:
    text = page.read_text(encoding="utf-8")
    masked = re.sub(r"```.*?```", lambda fence: " " * len(fence[0]), text, flags=re.DOTALL)  # no headings in there
    starts = [(match.start(), match[1]) for match in re.finditer(r"^## (.*)$", masked, flags=re.MULTILINE)]
    parts = [(0, ""), *starts, (len(text), "")]
    return [
        Section(page, title, tuple(blocks_of(text[start:end])))
        for (start, title), (end, _) in itertools.pairwise(parts)
    ]


def blocks_of(text: str) -> Iterator[tuple[str, str]]:
    """Language and text of each fence; a bare one is ``SHOWN`` where nothing stands between it and a Python block."""
    before, end = "", 0
    for fence in FENCE.finditer(text):
        follows = before == "python" and not text[end : fence.start()].strip()
        before, end = SHOWN if follows and not fence[1] else fence[1], fence.end()
        yield before, fence[2]


SECTIONS = [
    section
    for page in PAGES
    for section in sections_of(page)
    if any(language in ("python", "console") for language, _ in section.blocks)
]


def run(section: Section, names: dict[str, object]) -> None:
    """Run the blocks of a section in order."""
    for language, text in section.blocks:
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(text, f"{section.page.name}, {section.title or 'top'}", "exec"), names)
        elif language == SHOWN:
            assert lines_of(text) == lines_of(printed.getvalue()), f"{section.page.name}: this is printed now"
        elif language == "console":
            for line in text.replace("\\\n", " ").splitlines():  # a command may go on behind a backslash
                assert line.startswith("$ xcid "), f"a line of a console block is a command: {line!r}"
                type_in(shlex.split(line)[2:])


def lines_of(text: str) -> list[str]:
    """Lines without blanks at their ends, or empty ones before and after them."""
    return [line.rstrip() for line in text.strip().splitlines()]


def type_in(arguments: list[str]) -> None:
    if arguments[0] in TOO_LONG:
        cli.parser().parse_args(arguments)
    else:
        assert cli.main(arguments) == 0, arguments


@functools.cache
def top_of(page: Path) -> dict[str, object]:
    """What the part before the first heading of a page leaves behind; its sections build on that alone."""
    names: dict[str, object] = {}
    first = sections_of(page)[0]
    run(first, names)
    return names


def missing_in(section: Section) -> list[str]:
    """Packages that the Python blocks of a section import and that are not installed."""
    text = "\n".join(text for language, text in section.blocks if language == "python")
    wanted = {match[1] for match in re.finditer(r"^\s*(?:import|from) (\w+)", text, flags=re.MULTILINE)}
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory):
    """One folder for each page, so that what its top writes is there for all sections."""
    return functools.cache(lambda page: tmp_path_factory.mktemp(page.stem))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of other libraries, as they are imported
@pytest.mark.filterwarnings("ignore:.*:UserWarning:mlflow.*")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.page.stem}: {section.title or 'top'}")
def test_examples_of_the_pages_run(section, folder_of, monkeypatch, capsys):
    if missing := missing_in(section):
        pytest.skip(f"not installed: {', '.join(missing)}")
    monkeypatch.chdir(folder_of(section.page))
    try:
        names = dict(top_of(section.page))
        if section.title:
            run(section, names)
    finally:
        plt.close("all")


def test_sections_are_found():
    """The search for examples sees what is there: none is passed over by a slip of the pattern."""
    fences = sum(len(re.findall(r"^```(?:python|console)$", page.read_text("utf-8"), re.MULTILINE)) for page in PAGES)
    found = sum(language in ("python", "console") for section in SECTIONS for language, _ in section.blocks)
    assert found == fences > 30


@pytest.mark.parametrize("verb", cli.VERBS)
def test_every_verb_and_option_is_described(verb, capsys):
    """A section with a typed example for each verb, and a word about each option that ``--help`` lists."""
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert f"## `xcid {verb}`" in text
    assert f"\n$ xcid {verb} " in text
    with pytest.raises(SystemExit):
        cli.main([verb, "--help"])
    options = set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", capsys.readouterr().out, flags=re.MULTILINE))
    assert "--help" in options
    assert {option for option in options if not re.search(rf"{option}\b", text)} == set()


@pytest.mark.parametrize(("line", "known"), [("tables in", OPENERS), ("tables out", FORMATS)])
def test_every_extension_is_listed(line, known):
    text = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    (listed,) = re.findall(rf"^\| {line} \| (.*) \|$", text, flags=re.MULTILINE)
    assert re.findall(r"`(\.\w+)`", listed) == list(known)


def test_every_status_is_described():
    text = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    assert [name for name in STATUSES if f"`{name}`" not in text] == []
    assert [name for name in FEATURE_STATUSES if f'"{name}"' not in text] == []


def test_readme_examples_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
        plt.close("all")
        if "print(explanation[0])" in block or "counterfactuals(" in block:
            printed = capsys.readouterr().out.strip()
            assert printed in text
    assert names["explanation"].values.shape == (154, 8)
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
