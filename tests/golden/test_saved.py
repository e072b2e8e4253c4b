"""Files of earlier versions are read, with all that is in them, and their evidence can still be drawn."""

from __future__ import annotations

import golden_record as record
import numpy as np
import pytest
from golden_answers import EVIDENCE, FILES

import xcid
from xcid.errors import EvidenceNotKept

TOLERANCE = 1e-10
EARLIER = record.load(record.EARLIER)
RENEWED = {"values", "lower", "upper", "p_values", "warnings"}  # distances there, contributions here


@pytest.fixture(params=FILES)
def name(request):
    return request.param


def test_a_file_of_an_earlier_version_holds_what_was_saved(name):
    loaded = xcid.load(record.SAVED / name)
    found = record.of_explanation(loaded, *EVIDENCE * name.endswith(".npz"))
    due = {part: value for part, value in EARLIER[f"saved {name}"].items() if part in found and part not in RENEWED}
    assert len(due) > 15
    assert {part: gap for part in due if (gap := record.gap(found[part], due[part])) > TOLERANCE} == {}


def test_signed_distances_of_an_earlier_version_are_contributions_now(name):
    loaded, due = xcid.load(record.SAVED / name), EARLIER[f"saved {name}"]
    if due["lower"] is None or not due["direction"].any():
        assert np.array_equal(loaded.values, due["values"])
        assert loaded.scale == "d1"
        return
    sign = np.where(loaded.outputs.argmax(axis=1) == loaded.outputs.shape[1] - 1, 1, -1)[:, None]
    assert set(loaded.about) == {loaded.output_names[-1]}
    assert np.allclose(sign * loaded.values, -2 * np.sign(due["values"]) * np.log1p(-np.abs(due["values"])))
    assert np.all((loaded.lower <= loaded.values) & (loaded.values <= loaded.upper))
    assert np.array_equal(loaded.p_values, due["p_values"])


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
    assert max(apart.values()) < 1e-7  # weights of samples are saved in single precision
    assert again.details.settings == loaded.details.settings


def test_a_selection_of_loaded_rows_is_the_selection_of_what_was_saved(name):
    loaded = xcid.load(record.SAVED / name)
    part = loaded[[2, 0]]
    due = {field: getattr(loaded, field) for field in ("values", "p_values", "status", "data")}
    assert max(record.gap(getattr(part, field), cells[[2, 0]]) for field, cells in due.items()) == 0.0
    if name.endswith(".npz"):
        first, second = (record.of_pair(one.evidence(row, "size"), "") for one, row in ((part, 0), (loaded, 2)))
        assert set(record.gaps(first, second).values()) == {0.0}
