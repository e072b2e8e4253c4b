"""Cases that the tests have as a family of the soak: ``python soak/cases.py NAME TESTS``, with options of pytest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from verdict import verdict


class Counted:
    """Counts tests that ran, and keeps the names of those that failed."""

    def __init__(self) -> None:
        self.tried, self.failed = 0, list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Hear how a phase of a test ended."""
        self.tried += report.when == "call" and not report.skipped
        if report.failed:
            self.tried += report.when != "call"
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Hear of a file that cannot be read."""
        if report.failed:
            self.tried += 1
            self.failed.append(report.nodeid)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests."""
    name, *tests = sys.argv[1:] if arguments is None else arguments
    counted = Counted()
    pytest.main(["-q", "-p", "no:cacheprovider", *tests], [counted])
    return verdict(name, counted.tried, counted.failed)


if __name__ == "__main__":
    sys.exit(main())
