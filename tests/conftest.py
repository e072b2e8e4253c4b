"""Shared settings and data of the tests."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import sys
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # small problems: threads that wait for each other cost more than they bring

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

hypothesis.settings.register_profile("xcid", deadline=None, derandomize=True, print_blob=False)
hypothesis.settings.load_profile("xcid")

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # for cases that two files share
SENTENCES = HERE / "sentences.json"
SLOW = {  # folders and files that take long, or need an extra as a whole
    *("browser", "cli", "hostile", "optional", "runs"),
    *(
        "test_actions",
        "test_calibration",
        "test_comparison",
        "test_documents",
        "test_metrics",
        "test_native_tables",
        "test_rules",
        "test_site",
    ),
}


class Passed:
    """Keeps what passed in ``make test``, so that no test runs twice; without that, ``--rest`` runs all."""

    def __init__(self, cache):
        self.cache = cache
        self.tests = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.tests.append(report.nodeid)

    def pytest_sessionfinish(self):
        self.cache.set("xcid/passed", self.tests)


def pytest_addoption(parser):
    parser.addoption("--rest", action="store_true", help="leave out what passed in the last `make test`")
    parser.addoption("--renew-sentences", action="store_true", help="approve what is said now; see sentences.json")


def pytest_configure(config):
    a_worker = hasattr(config, "workerinput")  # it tells the process that started it what passed
    cache = getattr(config, "cache", None)  # it can be switched off
    if cache and not a_worker and config.getoption("markexpr") == "not slow":
        config.pluginmanager.register(Passed(cache))
    config.pluginmanager.register(Sentences(config.getoption("--renew-sentences")), "sentences")


def missing_in(examples):
    """Packages that the examples of a docstring use and that are not installed."""
    text = "".join(example.source for example in examples)
    wanted = set(re.findall(r"^(?:(?:import|from) |.*xcid_(?=torch\b))(\w+)", text, flags=re.MULTILINE))
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


def pytest_collection_modifyitems(config, items):
    """Mark as slow, by its place, what ``make test`` leaves out; ``--rest`` runs that, and what had to be skipped."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0].removesuffix(".py") in SLOW:
            item.add_marker("slow")
        if isinstance(item, pytest.DoctestItem) and (missing := missing_in(item.dtest.examples)):
            item.add_marker(pytest.mark.skip(f"not installed: {', '.join(missing)}"))
    if config.getoption("--rest"):
        if getattr(config, "cache", None) is None:
            raise pytest.UsageError("--rest needs to know what passed: leave out -p no:cacheprovider")
        passed = set(config.cache.get("xcid/passed", []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


class Sentences:
    """Texts that were approved, by the test that sees them; `make sentences` approves what is said now."""

    def __init__(self, renews):
        self.renews = renews
        self.approved = json.loads(SENTENCES.read_text("utf-8"))
        self.said = {}

    def pytest_sessionfinish(self, exitstatus):
        if self.renews and not exitstatus:  # what files say that did not run stays approved
            files = {name.partition("::")[0] for name in self.said}
            others = {name: text for name, text in self.approved.items() if name.partition("::")[0] not in files}
            text = json.dumps(others | self.said, ensure_ascii=False, indent=1, sort_keys=True)
            SENTENCES.write_text(text + "\n", "utf-8")


class Approved:
    """Compares what one test sees with what was approved for it."""

    def __init__(self, sentences, test):
        self.sentences, self.test, self.count = sentences, test, 0

    def __call__(self, said):
        """Approve a text, or the next one of this test."""
        self.count += 1
        name = self.test if self.count == 1 else f"{self.test} ({self.count})"
        self.sentences.said[name] = str(said)
        if not self.sentences.renews:
            assert str(said) == self.sentences.approved.get(name), "`make sentences` approves it"

    @contextlib.contextmanager
    def raises(self, kind):
        """Wait for an error with an approved text."""
        with pytest.raises(kind) as caught:
            yield caught
        said, cause = str(caught.value), str(caught.value.__cause__ or "")
        self(said.replace(cause, "...") if cause else said)  # what another library says is not ours


@pytest.fixture
def approved(request):
    """Whole sentences live in ``sentences.json``, not in the tests: ``approved(text)``, ``approved.raises(error)``."""
    sentences = request.config.pluginmanager.get_plugin("sentences")
    return Approved(sentences, request.node.nodeid.removeprefix("tests/"))


@pytest.fixture(autouse=True)
def untouched_global_state():
    """No code of ours draws from, or reseeds, NumPy's global generator."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@pytest.fixture(autouse=True)
def closed_figures():
    """No picture of one test is seen by the next."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="session")
def normal_table():
    """300 rows of three independent features."""
    return np.random.default_rng(0).normal(size=(300, 3))
