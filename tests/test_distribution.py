"""What is released: wheel and source hold what they should, twice the same, and work in a clean environment."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import xcid
from xcid.native import library

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
FOR_DEVELOPERS = {"all", "bench", "demo", "dev", "docs", "lab", "test"}
THREE_LINES = """
import numpy as np, xcid
table = np.random.default_rng(0).normal(size=(200, 3))
print(xcid.Explainer(lambda X: X[:, 0] > 0, table)(table[:1]))
"""


def build(out: Path, **settings: str) -> tuple[Path, Path]:
    """Build wheel and source as of a fixed moment."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", out]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1767225600", **settings}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, source


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def names(built):
    """The files of the wheel, and those of the source without its folder."""
    wheel, source = built
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    return set(zipfile.ZipFile(wheel).namelist()), inside


def test_the_wheel_is_pure(built):
    wheel, source = built
    assert wheel.name == f"xcid-{xcid.__version__}-py3-none-any.whl"
    assert source.name == f"xcid-{xcid.__version__}.tar.gz"


@pytest.mark.parametrize("name", ["py.typed", "native/bits.c", "datasets/diabetes.csv", "app/assets/app.html"])
def test_what_is_no_python_is_there(names, name):
    wheel, source = names
    assert f"xcid/{name}" in wheel
    assert f"src/xcid/{name}" in source


def test_every_module_is_there(names):
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    wheel, source = names
    assert modules <= wheel
    assert {f"src/{module}" for module in modules} <= source
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", "tests/conftest.py"} <= source


def test_nothing_else_is_there(names):
    """No compiled form, no leftovers; the wheel has the three packages and their description only."""
    wheel, source = names
    assert [name for name in wheel | source if re.search(r"\.(so|dll|dylib|pyd|o|pyc)$|__pycache__", name)] == []
    assert {name.partition("/")[0] for name in wheel} == {
        "xcid",
        "xcid_lab",
        "xcid_torch",
        f"xcid-{xcid.__version__}.dist-info",
    }


def test_builds_are_the_same_to_the_byte(built, tmp_path):
    for first, second in zip(built, build(tmp_path), strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


def described(built: tuple[Path, Path]) -> list[str]:
    """The descriptions of wheel and source, which a page of the package shows."""
    wheel, source = built
    with zipfile.ZipFile(wheel) as archive, tarfile.open(source) as sources:
        name = next(name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        member = next(one for one in sources if one.name.endswith("/PKG-INFO"))
        texts = [archive.read(name).decode(), sources.extractfile(member).read().decode()]
    return [text.partition("\n\n")[2] for text in texts]


EXAMPLE = re.compile("^```.*?^```$", re.DOTALL | re.MULTILINE)


def targets(text: str) -> list[str]:
    """What links and pictures of a page lead to, outside of its examples."""
    found = re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", EXAMPLE.sub("", text))
    return [link or picture for link, picture in found]


def test_a_page_of_the_package_has_absolute_links(tmp_path):
    base = "https://example.org/xcid"
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    for text in described(build(tmp_path, XCID_README_BASE=f"{base}/")):
        found = targets(text)
        assert len(found) == len(targets(page)) > 30
        for link, was in zip(found, targets(page), strict=True):
            assert link.startswith(f"{base}/")
            path = link.removeprefix(f"{base}/").partition("#")[0].partition("?")[0]
            assert (ROOT / path).is_file()
            assert link.endswith("?raw=true") == was.endswith(".png")
        assert EXAMPLE.findall(text) == EXAMPLE.findall(page)


def test_without_an_address_the_page_is_the_readme(built):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert described(built) == [page, page]


@pytest.mark.slow
@pytest.mark.parametrize("extras", ["", "[cli]"], ids=["plain", "cli"])
def test_the_wheel_works_in_a_clean_environment(built, tmp_path, extras):
    wheel, _ = built
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}

    def run(*command):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, "-m", "venv", "clean")
    here = tmp_path / "clean" / "bin"
    run(here / "pip", "install", "--quiet", f"{wheel}{extras}")
    assert run(here / "xcid", "--version") == f"xcid {xcid.__version__}\n"
    assert "flip it" in run(here / "python", "-W", "error", "-c", THREE_LINES)
    if extras:
        table = ROOT / "src" / "xcid" / "datasets" / "diabetes.csv"
        options = ("--background", table, "--target", "Outcome", "--train", "logistic", "--rows", "0:1", "--quiet")
        assert "Glucose" in run(here / "xcid", "explain", *options)


def parts(extra: str) -> set[str]:
    """The extras that an extra is made of, by whatever way."""
    named = {
        name for line in EXTRAS[extra] if line.startswith("xcid[") for name in re.split(r"[\[\],]", line)[1:] if name
    }
    return named.union(*(parts(name) for name in named)) if named else set()


def test_all_is_all_that_users_can_use():
    assert parts("all") == set(EXTRAS) - FOR_DEVELOPERS


def test_tests_need_nothing_heavy():
    packages = {re.match(r"[\w-]+", line)[0] for name in {"test", *parts("test")} for line in EXTRAS[name]} - {"xcid"}
    assert not packages & {"torch", "ray", "pyspark", "dask", "catboost", "xgboost", "lightgbm", "shap", "dice-ml"}
    assert "test" in parts("dev")


def test_the_image_has_what_a_wheel_is_built_of(tmp_path):
    """Only what the Dockerfile copies is there when it installs the package."""
    copied = re.findall(r"^COPY (.*) /xcid/", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for name in " ".join(copied).split():
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


class TestPapers:
    """What is said about the release elsewhere says the same."""

    @pytest.mark.parametrize("name", ["CITATION.cff", "recipe/recipe.yaml"])
    def test_version(self, name):
        assert f"version: {xcid.__version__}\n" in (ROOT / name).read_text(encoding="utf-8")

    def test_the_paper_is_cited_alike(self):
        """CITATION.cff, by the names that its schema requires, and the entry for BibTeX on the page about CID."""
        yaml = pytest.importorskip("yaml", reason="needs the extra test")
        cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
        assert {"cff-version", "message", "title", "authors"} <= set(cited)
        assert cited["license"] == PROJECT["license"]
        (paper,) = cited["references"]
        assert {"type", "title", "authors"} <= set(paper)
        entry = (
            (ROOT / "docs" / "cid.md").read_text(encoding="utf-8").partition("@inproceedings{")[2].partition("\n}")[0]
        )
        fields = dict(re.findall(r"^  (\w+) +=\s+\{(.*)\},?$", entry, flags=re.MULTILINE))
        plain = {
            name: re.sub(r"\{\\'A\}", "Á", text).replace("{", "").replace("}", "") for name, text in fields.items()
        }
        assert (plain["title"], plain["year"]) == (paper["title"], str(paper["year"]))
        people = [author.split(", ") for author in plain["author"].split(" and ")]
        assert [family for family, _ in people] == [author["family-names"] for author in paper["authors"]]
        assert [given[0] for _, given in people] == [author["given-names"][0] for author in paper["authors"]]
        assert plain["note"] == paper["identifiers"][0]["value"]
        assert paper["conference"]["name"].startswith(plain["booktitle"])

    def test_changelog(self):
        text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        assert re.search(rf"^## {re.escape(xcid.__version__)} ", text, flags=re.MULTILINE)

    def test_recipe(self):
        yaml = pytest.importorskip("yaml", reason="needs the extra test")
        recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
        wanted = {"python" + PROJECT["requires-python"], *PROJECT["dependencies"]}
        assert {line.replace(" ", "") for line in recipe["requirements"]["run"]} == wanted

    def test_workflows_try_every_python(self):
        yaml = pytest.importorskip("yaml", reason="needs the extra test")
        flow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
        named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
        assert flow["jobs"]["test"]["strategy"]["matrix"]["python"] == named

    @pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
    def test_workflows_can_be_read(self, path):
        yaml = pytest.importorskip("yaml", reason="needs the extra test")
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        steps = [step for job in jobs.values() for step in job.get("steps", [job])]  # a job may be another workflow
        assert all(step.keys() & {"uses", "run"} for step in steps)


def test_a_wheel_for_a_platform_holds_the_library(tmp_path):
    if not any(map(shutil.which, library.COMPILERS)):
        pytest.skip("there is no C compiler")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "XCID_BUILD_LIBRARY": "1"}, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.startswith("xcid/native/compiled-"))
    found = Path(archive.extract(name, tmp_path))
    assert library._is_intact(found)
    assert library.declared(ctypes.CDLL(str(found)))
