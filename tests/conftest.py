"""Shared settings and data of the tests."""

from __future__ import annotations

import importlib.util
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


def pytest_configure(config):
    a_worker = hasattr(config, "workerinput")  # it tells the process that started it what passed
    cache = getattr(config, "cache", None)  # it can be switched off
    if cache and not a_worker and config.getoption("markexpr") == "not slow":
        config.pluginmanager.register(Passed(cache))


def missing_in(examples):
    """Packages that the examples of a docstring use and that are not installed."""
    text = "".join(example.source for example in examples)
    wanted = set(re.findall(r"^(?:(?:import|from) |.*xcid\.(?=torch\.))(\w+)", text, flags=re.MULTILINE))
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


def pytest_collection_modifyitems(config, items):
    """Mark as slow, by its place, what ``make test`` leaves out; ``--rest`` runs that, and what had to be skipped."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0].removesuffix(".py") in SLOW:
            item.add_marker("slow")
        if isinstance(item, pytest.DoctestItem) and (missing := missing_in(item.dtest.examples)):
            item.add_marker(pytest.mark.skip(f"not installed: {', '.join(missing)}"))
    if config.getoption("--rest"):
        passed = set(config.cache.get("xcid/passed", []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in passed])
        items[:] = [item for item in items if item.nodeid not in passed]


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
