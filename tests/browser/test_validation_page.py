"""The page of a validation on screens of all widths."""

from __future__ import annotations

import pytest

from xcid_lab.validation import Effort, Validation
from xcid_lab.validation.records import Caution, Check

from .conftest import WIDTHS

REASON = (
    "the strongest contribution is another one against other reference rows, and likely another one after retraining"
)


@pytest.mark.parametrize("width", WIDTHS)
def test_why_a_row_is_not_to_be_relied_on_can_be_read(opened, screen, tmp_path, width):
    check = Check("sums", "10 rows", 0.1, 0.1, 0.1, "at most", 1.0, "held", "They add up.")
    found = Validation((check,), (Caution("12", (REASON, REASON)),), 10, {}, Effort(), 0, 1.0, "2026-01-01")
    found.report(tmp_path / "v.html")
    screen(width=width)
    browser = opened(tmp_path / "v.html")
    ends = "return [...document.querySelectorAll('td')].map((cell) => cell.getBoundingClientRect().right)"
    assert max(browser.execute_script(ends)) <= width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
