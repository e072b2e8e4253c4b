"""The site builds without a warning, names everything that is public, and needs no network."""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import xcid

ROOT = Path(__file__).parents[1]
SOURCES = {source.relative_to(ROOT / "docs").with_suffix(".html") for source in (ROOT / "docs").rglob("*.md")}
SOURCES |= {source.relative_to(ROOT).with_suffix(".html") for source in (ROOT / "examples").glob("*.ipynb")}
BEYOND = tuple(f"xcid_lab.{name}" for name in ("adapters", "baselines", "generators", "metrics"))  # public, too


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build it as ``make docs`` does."""
    pytest.importorskip("sphinx", reason="the site needs the extra docs")
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-d",
        out / "trees",
        ROOT / "docs",
        out / "html",
    ]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return out / "html"


class Page(HTMLParser):
    """Places that can be linked to, links, and what a browser fetches by itself."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        known = {name: value or "" for name, value in attributes}
        self.ids.add(known.get("id", ""))
        if tag == "a" and "href" in known:
            self.links.append(known["href"])
        elif tag == "link":
            self.fetched.append(known.get("href", ""))
        self.fetched.extend(known[name] for name in ("src", "srcset", "data") if name in known)


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def is_foreign(address):
    return bool(re.match(r"(https?:)?//", address))


def test_every_page_is_there(site):
    for page in SOURCES:
        assert (site / page).is_file(), page


def test_every_page_says_of_which_version_it_is(site):
    for page in ("index.html", "reading.html", "api/index.html"):
        assert f"xcid {xcid.__version__}" in (site / page).read_text(encoding="utf-8"), page


def test_every_public_name_is_in_the_reference(site):
    lines = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", maxsplit=4)[4]).decode().splitlines()
    known = {line.split()[0] for line in lines}
    names = {f"xcid.{name}" for name in xcid.__all__ if not name.startswith("_")}
    for room in (*BEYOND, *(f"xcid.{name}" for name in xcid.__all__ if inspect.ismodule(getattr(xcid, name)))):
        names |= {f"{room}.{name}" for name in getattr(importlib.import_module(room), "__all__", ())}
    names -= {"xcid.XcidError", "xcid.XcidWarning"}  # described in xcid.errors
    names.add("xcid_lab.surrogate.Surrogate")
    assert names - known == set()


def test_every_page_is_listed_for_programs(site):
    listed = re.findall(r"^- \[.+\]\((.+\.html)\): (.*)$", (site / "llms.txt").read_text("utf-8"), flags=re.MULTILINE)
    assert {Path(page) for page, _ in listed} == SOURCES
    assert [page for page, sentence in listed if not sentence and not page.startswith("api/")] == []


def test_nothing_is_fetched(site, pages):
    for path, page in pages.items():
        assert [address for address in page.fetched if is_foreign(address)] == [], path
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_links_lead_to_places_that_exist(pages):
    count = 0
    for path, page in pages.items():
        for link in page.links:
            if is_foreign(link) or link.startswith(("mailto:", "data:")):
                continue
            place, _, anchor = unquote(link).partition("#")
            target = (path.parent / place).resolve() if place else path
            if path.name in ("search.html", "genindex.html", "py-modindex.html") and not place:
                continue  # made by a script
            assert target.exists(), f"{path.name}: {link}"
            if anchor and target in pages:
                assert anchor in pages[target].ids, f"{path.name}: {link}"
                count += 1
    assert count > 100


def test_formulas_are_drawn_by_the_browser(site):
    text = (site / "method.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 40
    assert "$" not in re.sub(r"<(script|style|pre).*?</\1>", "", text, flags=re.DOTALL)
    assert "MathJax" not in text
