"""The page of the reproduction is of this code: CID gives what it gave then, and the sources are those it names."""

from __future__ import annotations

import re
from pathlib import Path

import golden_record as record
import numpy as np
import pytest
from golden_reproduced import CASES, STORED
from test_values import TOLERANCE, apart

from xcid_lab.reproduction.sources import HOME, SOURCES, digest_sources

PAGE = Path(__file__).parents[2] / "docs" / "reproduction.md"
DUE = record.load(STORED)


@pytest.mark.parametrize("name", CASES)
def test_the_papers_method_gives_the_stored_values(name):
    assert apart(record.run(CASES[name]), DUE[name], TOLERANCE) == {}


def test_these_rows_would_show_a_change():
    """Both kinds of counterfactuals, scores that differ, and ties of votes."""
    assert list(DUE) == list(CASES)
    for name, found in DUE.items():
        assert set(found["status"]) == {"ok"}, name
        assert np.ptp(found["values"], axis=1).min() > 0.1, name
    assert np.any(DUE["heart, genetic"]["n_positive"] % 1 == 0.5)  # a tie counts as half of either kind
    apart_by = np.abs(DUE["diabetes, random"]["values"] - DUE["diabetes, genetic"]["values"])
    assert apart_by.max() > 0.05


def test_the_page_of_the_documents_is_of_this_code():
    """Where it fails while the values above are the stored ones: write the new digest into the page, which says so.

    Where they are not, run ``xcid reproduce`` again, and put the page and its images into docs.
    """
    page = PAGE.read_text(encoding="utf-8")
    assert f"sources of generator and score: {digest_sources()}" in page
    assert re.search(r"Commit [0-9a-f]{12};", page)


def test_sources_are_files_once_each():
    assert len(set(SOURCES)) == len(SOURCES)
    assert all((HOME / name).is_file() for name in SOURCES)
