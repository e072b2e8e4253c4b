"""Files of earlier versions are read, with all that is in them, and their evidence can still be drawn."""

from __future__ import annotations

import golden_record as record
import pytest
from golden_answers import EVIDENCE, FILES

import xcid
from xcid.errors import EvidenceNotKept

TOLERANCE = 1e-10
STORED = record.load()


@pytest.fixture(params=FILES)
def name(request):
    return request.param


def test_a_file_of_an_earlier_version_holds_what_was_saved(name):
    loaded = xcid.load(record.SAVED / name)
    found = record.of_explanation(loaded, *EVIDENCE * name.endswith(".npz"))
    due = {part: value for part, value in STORED[f"saved {name}"].items() if part != "warnings"}
    assert {part: gap for part, gap in record.gaps(found, due).items() if gap > TOLERANCE} == {}


def test_only_archives_keep_evidence(name):
    loaded = xcid.load(record.SAVED / name)
    if name.endswith(".npz"):
        assert len(loaded.sampled_flips(1)) > 0
        assert loaded.evidence(1, "size").p.any()
    else:
        with pytest.raises(EvidenceNotKept):
            loaded.evidence(0, 0)


def test_what_is_loaded_can_be_saved_again(name, tmp_path):
    loaded = xcid.load(record.SAVED / name)
    loaded.save(tmp_path / name)
    again = xcid.load(tmp_path / name)
    pairs = EVIDENCE * name.endswith(".npz")
    apart = record.gaps(record.of_explanation(again, *pairs), record.of_explanation(loaded, *pairs))
    assert set(apart.values()) == {0.0}
    assert again.settings == loaded.settings


def test_a_selection_of_loaded_rows_is_the_selection_of_what_was_saved(name):
    loaded = xcid.load(record.SAVED / name)
    part = loaded[[2, 0]]
    due = {field: getattr(loaded, field) for field in ("values", "p_values", "status", "data")}
    assert max(record.gap(getattr(part, field), cells[[2, 0]]) for field, cells in due.items()) == 0.0
    if name.endswith(".npz"):
        first, second = (record.of_pair(one.evidence(row, "size"), "") for one, row in ((part, 0), (loaded, 2)))
        assert set(record.gaps(first, second).values()) == {0.0}
