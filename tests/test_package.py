"""The package as a whole: what it shows, what it loads, and what it says when an extra is missing."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import xcid
from xcid.comparison import Comparison
from xcid.errors import MissingDependency
from xcid.generators import Marginal
from xcid.interactions import Interactions

PUBLIC = [
    "CID",
    "Constraints",
    "DensityPair",
    "Explainer",
    "Explanation",
    "Perturbations",
    "Reasons",
    "XcidError",
    "XcidWarning",
    "__version__",
    "app",
    "calibration",
    "d1",
    "datasets",
    "densities",
    "distances",
    "engines",
    "errors",
    "generators",
    "load",
    "metrics",
    "outcomes",
    "plots",
    "refits",
    "scores",
    "whatif",
]
MOST_NAMES = 80
SCREEN = 40  # lines
API = Path(__file__).parents[1] / "docs" / "api"
HEAVY = ["matplotlib", "pandas", "polars", "pyarrow", "shap", "lime", "sklearn", "dice_ml"]
HEAVY += ["xgboost", "lightgbm", "catboost", "torch", "onnxruntime"]
TABLE = np.random.default_rng(1).normal(size=(50, 2))


def python(code):
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def explanation():
    return xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, generator=Marginal(m=10))(TABLE[:2])


@pytest.fixture
def hidden(monkeypatch):
    """Make a package look as if it were not installed."""

    def hide(package):
        for name in list(sys.modules):
            if name == package or name.startswith(f"{package}."):
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)

    return hide


def test_public_names():
    assert sorted(xcid.__all__) == PUBLIC
    assert all(hasattr(xcid, name) for name in PUBLIC)


ROOMS = {name: getattr(xcid, name) for name in PUBLIC if isinstance(getattr(xcid, name), ModuleType)}


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_of_the_rooms(room):
    assert ROOMS[room].__all__ == sorted(ROOMS[room].__all__)
    assert all(hasattr(ROOMS[room], name) for name in ROOMS[room].__all__)


def test_only_public_modules_declare_names():
    home = Path(xcid.__file__).parent
    declaring = {path for path in home.rglob("*.py") if re.search(r"^__all__\b", path.read_text("utf-8"), re.MULTILINE)}
    assert declaring == {Path(module.__file__) for module in (xcid, *ROOMS.values())}


def test_public_names_are_few():
    own = [getattr(xcid, name) for name in PUBLIC if name not in ROOMS and name != "__version__"]
    parts = [getattr(room, name) for room in ROOMS.values() for name in room.__all__]
    assert len({id(one) for one in (*own, *parts)}) <= MOST_NAMES


def test_the_reference_begins_with_all_public_names():
    listed = {}
    for line in (API / "index.md").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\| \[`(xcid[.\w]*)`\]\((\w+\.md)\) \|.*\| (.*) \|$", line):
            listed[found[1]] = set(re.findall(r"`(\w+)`", found[3]))
            assert found[1] in (API / found[2]).read_text(encoding="utf-8")
    due = {f"xcid.{name}": set(room.__all__) for name, room in ROOMS.items()}
    assert listed == due | {"xcid": {*PUBLIC} - {*ROOMS, "__version__"}}


def parts_of(room):
    """The public names of a room that are no rooms themselves, and no numbers."""
    return [name for name in room.__all__ if callable(getattr(room, name))]


def doctested(part):
    """Whether its docstring, or that of a public method, has an example."""
    members = (
        [value for name, value in vars(part).items() if not name.startswith("_")] if isinstance(part, type) else []
    )
    return any(">>>" in (getattr(one, "__doc__", None) or "") for one in (part, *members))


def pages_of(name):
    """The pages of the reference that a room is listed with, but for the list itself."""
    index = (API / "index.md").read_text(encoding="utf-8")
    pages = set(re.findall(rf"^\| \[`{re.escape(name)}`\]\((\w+\.md)\)", index, re.MULTILINE))
    return pages | ({"errors.md"} if name == "xcid" else set())  # its two names of errors are explained there


@pytest.mark.parametrize("room", ["xcid", *ROOMS])
def test_every_public_name_has_an_example_that_runs(room):
    """In a docstring, or in a block of its page: both run among the tests, those of pages by test_documents.py."""
    name, module = ("xcid", xcid) if room == "xcid" else (f"xcid.{room}", ROOMS[room])
    texts = [(API / page).read_text(encoding="utf-8") for page in pages_of(name)]
    blocks = "\n".join(block for text in texts for block in re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M))
    code = re.sub(r"^\s*(?:from|import) .*$|#.*$", "", blocks, flags=re.MULTILINE)  # to name it there shows nothing
    used = set(re.findall(r"\b[A-Za-z_]\w*", code))
    assert texts
    assert [part for part in parts_of(module) if part not in used and not doctested(getattr(module, part))] == []


def test_an_explanation_fits_on_one_screen():
    text = (API / "xcid.md").read_text(encoding="utf-8")
    table = text[text.index("| question |") :].partition("\n\n")[0].splitlines()
    assert len(table) <= SCREEN
    listed = [name for line in table for name in re.findall(r"`(\w+)(?:\([^)]*\))?`", line.split("|")[2])]
    assert sorted(listed) == [name for name in dir(xcid.Explanation) if not name.startswith("_")]


def test_errors_are_one_family():
    for name in xcid.errors.__all__:
        family = Warning if name == "XcidWarning" else xcid.XcidError
        assert issubclass(getattr(xcid.errors, name), family)
        assert name in xcid.errors.__doc__


def test_import_is_light_and_silent():
    result = python(f"import sys, xcid; sys.exit(repr([m for m in {HEAVY} if m in sys.modules] or ''))")
    assert result.stderr.strip() == "''"
    assert result.stdout == ""


def test_a_run_that_is_finished_needs_no_explainer():
    parts = ("scipy", "xcid.explainer", "xcid.pipeline")
    result = python(f"import sys, xcid.runs.run; sys.exit(repr([m for m in {parts} if m in sys.modules] or ''))")
    assert result.stderr.strip() == "''"


def test_explaining_arrays_needs_no_extra():
    hide = "".join(f"sys.modules[{name!r}] = None;" for name in HEAVY)
    code = (
        f"import sys, numpy as np;{hide}import xcid;"
        "table = np.random.default_rng(0).normal(size=(50, 2));"
        "explanation = xcid.Explainer(lambda X: X[:, 0] > 0, table)(table[:2]);"
        "assert len(str(explanation).splitlines()) >= 5"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_typed():
    assert (files("xcid") / "py.typed").is_file()


def test_version():
    assert xcid.__version__.count(".") == 2


class TestMissingDependency:
    @pytest.mark.parametrize("plot", [xcid.plots.bar, xcid.plots.densities])
    def test_matplotlib(self, hidden, explanation, plot):
        hidden("matplotlib")
        with pytest.raises(MissingDependency, match=r'needs matplotlib, .*: pip install -e "\.\[plot\]"'):
            plot(explanation)

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_frames(self, hidden, explanation, backend):
        hidden(backend)
        message = rf'needs {backend}, which is not installed: pip install -e "\.\[{backend}\]"'
        with pytest.raises(MissingDependency, match=message):
            explanation.to_frame(backend)
        with pytest.raises(MissingDependency, match=message):
            xcid.datasets.load_heart(backend)

    def test_shap(self, hidden, explanation):
        hidden("shap")
        with pytest.raises(MissingDependency, match=r'needs shap, .*: pip install -e "\.\[shap\]"'):
            explanation.to_shap()

    def test_model_that_wants_pandas(self, hidden):
        class Model:
            feature_names_in_ = np.array(["a", "b"], dtype=object)

            def predict(self, X):
                return np.arange(len(X)) % 2

        hidden("pandas")
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[pandas\]"'):
            xcid.Explainer(Model(), TABLE)

    def test_is_an_import_error(self, hidden, explanation):
        hidden("shap")
        with pytest.raises(ImportError):
            explanation.to_shap()


@pytest.mark.parametrize("room", [xcid.metrics, xcid.outcomes, xcid.plots], ids=lambda room: room.__name__)
def test_what_completion_offers_is_public(room):
    """A module behind a name that looks like a function would be called, and is not callable."""
    assert [name for name in dir(room) if not name.startswith("_")] == sorted(room.__all__)


FRAMES = {"pandas": "pd.DataFrame", "polars": "pl.DataFrame", "pyarrow": "pa.Table"}


@pytest.mark.parametrize(
    "method",
    [
        xcid.Explanation.to_frame, xcid.Explanation.reasons, xcid.whatif.Counterfactuals.to_frame,
        Comparison.to_frame, Interactions.to_frame,
    ],
    ids=lambda method: method.__qualname__,
)  # fmt: skip
def test_frames_have_the_type_of_their_library(method):
    found = {each.__annotations__["backend"]: each.__annotations__["return"] for each in typing.get_overloads(method)}
    assert found == {f"Literal['{name}']": kind for name, kind in FRAMES.items()}
