"""Explanations leave and come back whole, or an error of the family says why not."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import xcid
from xcid.densities import Discrete, Kernel, Mixed
from xcid.errors import EvidenceNotKept, InvalidFile
from xcid.generators import Marginal
from xcid.records.kept import in_single

TABLE = np.random.default_rng(11).normal(size=(80, 3)).round(2)
DENSITIES = [
    Kernel(),
    Kernel("epanechnikov", bandwidth=0.5, tolerance=1e-4),
    Kernel(bandwidth="pooled-scott"),
    Discrete(),
    Mixed(),
    Mixed(Kernel("tophat"), share=0.2, repeats=3),
]


def model(X):
    return np.asarray(X)[:, 0] > 0


def explain(rows=TABLE[:4], **settings):
    settings = {"generator": Marginal(m=15), "feature_names": ["a", "b", "ü"], **settings}
    return xcid.Explainer(model, TABLE, **settings)(rows)


@pytest.fixture(scope="module")
def explanation():
    return explain()


@pytest.fixture(scope="module")
def calibrated(explanation):
    """With limits and p-values, as a calibrating setting would fill them in."""
    values = explanation.values
    return replace(explanation, lower=values - 0.1, upper=values + 0.1, p_values=np.full(values.shape, 0.5))


@pytest.fixture
def file(tmp_path, explanation):
    explanation.save(tmp_path / "saved.npz")
    return tmp_path / "saved.npz"


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def assert_equal(first, second):
    for field in fields(xcid.Explanation):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f"), field.name
            assert one.dtype == other.dtype, field.name
        elif field.name == "cloud" and one is not None:
            for part in fields(xcid.Perturbations):
                assert np.array_equal(getattr(one, part.name), getattr(other, part.name)), part.name
        else:
            assert one == other, field.name


def _pairs(saved, loaded, feature):
    return (one.evidence(7, feature) for one in (saved, loaded))


class TestRoundTrip:
    def test_everything(self, file, explanation):
        assert_equal(xcid.load(file), explanation)

    def test_limits_and_p_values(self, tmp_path, calibrated):
        calibrated.save(tmp_path / "x")
        assert_equal(xcid.load(tmp_path / "x"), calibrated)

    @pytest.mark.parametrize("density", DENSITIES, ids=repr)
    def test_evidence(self, tmp_path, density):
        saved = explain(density=density)
        saved.save(tmp_path / "x.npz")
        loaded = xcid.load(str(tmp_path / "x.npz"))
        assert loaded.details.density == density
        for row in range(4):
            for feature in ("a", "b", "ü"):
                first, second = saved.evidence(row, feature), loaded.evidence(row, feature)
                for part in fields(xcid.DensityPair):
                    assert np.array_equal(getattr(first, part.name), getattr(second, part.name))

    def test_soft_evidence_in_a_third_of_the_room(self, tmp_path):
        rng = np.random.default_rng(0)
        reference, slope = rng.normal(size=(400, 30)), rng.normal(size=30)
        saved = xcid.Explainer(lambda X: 1 / (1 + np.exp(-np.asarray(X) @ slope)), reference)(reference[:40])
        saved.save(tmp_path / "x.npz")
        loaded = xcid.load(tmp_path / "x.npz")
        assert (tmp_path / "x.npz").stat().st_size < 20_000 * len(saved)  # 45,000 in double precision
        assert np.array_equal(loaded.cloud.positive > 0.5, saved.cloud.positive > 0.5)
        for feature in range(30):
            first, second = (xcid.distances.overlap(e.p, e.q, e.weights) for e in _pairs(saved, loaded, feature))
            assert first == pytest.approx(second, abs=1e-6)

    @pytest.mark.parametrize("weight", [np.nextafter(0.5, 1), 0.5, np.nextafter(0.5, 0), 0.0, 1.0])
    def test_a_weight_stays_on_its_side(self, weight):
        assert (in_single(np.array([weight])) > 0.5) == (weight > 0.5)

    def test_without_evidence(self, tmp_path):
        saved = explain(max_evidence_bytes=0)
        saved.save(tmp_path / "x.npz")
        with pytest.raises(EvidenceNotKept, match="max_evidence_bytes"):
            xcid.load(tmp_path / "x.npz").evidence(0, 0)

    @pytest.mark.parametrize(
        "density",
        [
            lambda *samples: Kernel()(*samples),
            Kernel(bandwidth=xcid.cid.densities.bandwidths.Each(lambda v, w: v[:, 0] * 0 + 1)),
        ],
        ids=["function", "rule"],
    )
    def test_a_density_of_the_users_own(self, tmp_path, density):
        saved = explain(density=density)
        saved.save(tmp_path / "x.npz")
        loaded = xcid.load(tmp_path / "x.npz")
        assert np.array_equal(loaded.values, saved.values)
        with pytest.raises(EvidenceNotKept, match=r"is your own.*xcid\.load\(path, density="):
            loaded.evidence(0, 0)
        again = xcid.load(tmp_path / "x.npz", density=density).evidence(0, 0)
        assert np.array_equal(again.p, saved.evidence(0, 0).p)

    def test_some_rows(self, tmp_path, explanation):
        explanation[[2, 0]].save(tmp_path / "x.npz")
        assert_equal(xcid.load(tmp_path / "x.npz"), explanation[[2, 0]])


class TestWriting:
    def test_name_is_taken_as_given(self, tmp_path, explanation):
        explanation.save(tmp_path / "result")
        assert names_in(tmp_path) == ["result"]

    def test_no_pickle_inside(self, file):
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                assert np.load(archive.open(name), allow_pickle=False).dtype.kind in "fiubU"

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=repr)
    def test_a_failing_write_leaves_the_old_file(self, file, explanation, monkeypatch, error):
        before = file.read_bytes()

        def fail(handle, **arrays):
            handle.write(b"half of it")
            raise error

        monkeypatch.setattr(np, "savez_compressed", fail)
        expected = InvalidFile if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected, match="No space left" if expected is InvalidFile else None):
            explanation[:1].save(file)
        assert file.read_bytes() == before
        assert names_in(file.parent) == [file.name]

    def test_overwrites(self, file, explanation):
        explanation[:1].save(file)
        assert len(xcid.load(file)) == 1
        assert names_in(file.parent) == [file.name]

    def test_folder_that_is_not_there(self, tmp_path, explanation):
        with pytest.raises(
            InvalidFile, match=r"none.x\.npz cannot be written: No such file or directory; check the folder"
        ):
            explanation.save(tmp_path / "none" / "x.npz")

    def test_folder_in_place_of_a_file(self, tmp_path, explanation):
        (tmp_path / "x.npz").mkdir()
        with pytest.raises(InvalidFile, match=r"x\.npz cannot be written"):
            explanation.save(tmp_path / "x.npz")
        assert names_in(tmp_path) == ["x.npz"]


def rewrite(file, **changes):
    """Write the archive again with other parts; None drops one."""
    with np.load(file) as archive:
        parts = {name: archive[name] for name in archive.files}
    parts |= changes
    with file.open("wb") as handle:
        np.savez(handle, **{name: part for name, part in parts.items() if part is not None})


def header_of(file):
    with np.load(file) as archive:
        return json.loads(str(archive["header"]))


class TestReading:
    def test_missing(self, tmp_path):
        with pytest.raises(InvalidFile, match=r"x\.npz cannot be found"):
            xcid.load(tmp_path / "x.npz")

    def test_folder(self, tmp_path):
        with pytest.raises(InvalidFile, match="not a saved explanation"):
            xcid.load(tmp_path)

    @pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n", b"\x93NUMPY", b"\x89PNG\r\n\x1a\n" * 9], ids=repr)
    def test_foreign(self, tmp_path, content):
        path = tmp_path / "x.npz"
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=r"x\.npz is not a saved explanation, or it is damaged"):
            xcid.load(path)

    @pytest.mark.parametrize("limit", ["lower", "upper"])
    def test_one_limit_without_the_other(self, tmp_path, limit):
        """Found by soak/fuzz.py: such a file was loaded, and could not be made a frame."""
        path = tmp_path / "e.npz"
        rows = np.random.default_rng(0).normal(size=(40, 2))
        xcid.Explainer(lambda table: 1 / (1 + np.exp(-table[:, 0])), rows)(rows[:2]).save(path)
        with np.load(path) as archive:
            parts = {name: archive[name] for name in archive.files if name != limit}
        np.savez(path, **parts)
        with pytest.raises(InvalidFile, match="one limit of its scores and not the other"):
            xcid.load(path)

    def test_pickle_is_never_run(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return (os.mkdir, (str(tmp_path / "boom"),))

        (tmp_path / "a").write_bytes(pickle.dumps(Bomb()))
        bomb = np.empty(1, dtype=object)
        bomb[0] = Bomb()
        np.savez(tmp_path / "b.npz", header=bomb)
        np.save(tmp_path / "c.npy", bomb)
        for name in ("a", "b.npz", "c.npy"):
            with pytest.raises(InvalidFile):
                xcid.load(tmp_path / name)
        assert not (tmp_path / "boom").exists()

    def test_plain_array(self, tmp_path):
        np.save(tmp_path / "x.npy", TABLE)
        with pytest.raises(InvalidFile, match="not a saved explanation"):
            xcid.load(tmp_path / "x.npy")

    def test_truncated_anywhere(self, file):
        whole = file.read_bytes()
        for size in np.linspace(0, len(whole) - 1, 40).astype(int):
            file.write_bytes(whole[:size])
            with pytest.raises(InvalidFile, match="damaged"):
                xcid.load(file)

    def test_changed_bytes(self, file, explanation):
        """Any damage is an InvalidFile or, in bytes that carry nothing, does no harm."""
        whole = file.read_bytes()
        n_refused = 0
        for place in np.linspace(0, len(whole) - 1, 150).astype(int):
            file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
            try:
                loaded = xcid.load(file)
            except InvalidFile:
                n_refused += 1
            else:
                assert_equal(loaded, explanation)
        assert n_refused > 100

    @pytest.mark.parametrize("part", ["header", "values", "cloud_positive"])
    def test_part_that_is_not_there(self, file, part):
        rewrite(file, **{part: None})
        with pytest.raises(InvalidFile, match="damaged"):
            xcid.load(file)

    def test_part_too_many(self, file):
        rewrite(file, surprise=np.zeros(3))
        with pytest.raises(InvalidFile, match="surprise"):
            xcid.load(file)

    @pytest.mark.parametrize("header", ["no json", "[1, 2]", "{}", "null"])
    def test_bad_header(self, file, header):
        rewrite(file, header=np.array(header))
        with pytest.raises(InvalidFile, match=r"damaged|this is None"):
            xcid.load(file)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"version": 99}, "version 99; 'xcid explanation', version 4 is understood"),
            ({"format": "other"}, "is 'other'"),
            ({"density": {"name": "Magic"}}, "unknown class 'Magic'"),
            ({"density": {"name": "os.abort"}}, "unknown class 'os.abort'"),
            ({"outcome": {"name": "xcid.outcomes.numbers.np.save"}}, "damaged: No module named"),
            ({"outcome": {"name": "xcid.outcomes.Outcome"}}, "unknown class 'xcid.outcomes.Outcome'"),
            ({"outcome": {"function": "os.system"}}, "unknown function 'os.system'"),
            ({"density": {"name": "Kernel", "kernel": "box"}}, "unknown kernel 'box'"),
        ],
        ids=str,
    )
    def test_other_header(self, file, change, message):
        rewrite(file, header=np.array(json.dumps(header_of(file) | change)))
        with pytest.raises(InvalidFile, match=message):
            xcid.load(file)


class TestFrame:
    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_columns(self, explanation, backend):
        frame = explanation.to_frame(backend)
        kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}[backend]
        assert isinstance(frame, kind)
        columns = frame.to_pydict() if backend == "pyarrow" else {name: list(frame[name]) for name in frame.columns}
        assert columns["row"] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
        assert columns["feature"] == ["a", "b", "ü"] * 4
        assert columns["data"] == explanation.data.ravel().tolist()
        assert columns["value"] == explanation.values.ravel().tolist()
        assert columns["importance"] == explanation.importance.ravel().tolist()
        assert columns["unit"] == [explanation.unit] * explanation.values.size
        assert columns["status"] == ["ok"] * 12
        assert columns["n_evaluations"] == np.repeat(explanation.n_evaluations, 3).tolist()
        assert columns["p_value"] == explanation.p_values.ravel().tolist()

    def test_limits_and_p_values(self, calibrated):
        frame = calibrated.to_frame()
        assert frame["lower"].tolist() == calibrated.lower.ravel().tolist()
        assert frame["upper"].tolist() == calibrated.upper.ravel().tolist()
        assert frame["p_value"].tolist() == [0.5] * 12

    def test_pandas_by_default(self, explanation):
        assert explanation.to_frame().equals(explanation.to_frame("pandas"))


class TestRecord:
    def test_len_and_repr(self, explanation):
        assert len(explanation) == 4
        assert repr(explanation) == "<xcid.Explanation: 4 rows x 3 features, 4 ok>"
        poor = replace(explanation, status=np.array(["ok", "insufficient_flips", "ok", "ok"]))
        assert repr(poor) == "<xcid.Explanation: 4 rows x 3 features, 3 ok>"

    @pytest.mark.parametrize(
        ("rows", "positions"),
        [
            (1, [1]),
            (-1, [3]),
            (np.int64(2), [2]),
            (slice(1, 3), [1, 2]),
            (slice(None, None, -1), [3, 2, 1, 0]),
            ([3, 0], [3, 0]),
            (np.array([True, False, False, True]), [0, 3]),
            ([], []),
        ],
        ids=str,
    )
    def test_selection(self, explanation, rows, positions):
        part = explanation[rows]
        assert len(part) == len(positions)
        assert np.array_equal(part.values, explanation.values[positions])
        assert np.array_equal(part.status, explanation.status[positions])
        assert np.array_equal(part.outputs, explanation.outputs[positions])
        assert np.array_equal(part.cloud.samples, explanation.cloud.samples[positions])
        assert part.feature_names == explanation.feature_names

    def test_iteration(self, calibrated):
        parts = list(calibrated)
        assert [len(part) for part in parts] == [1] * 4
        assert_equal(xcid.Explanation.concatenate(parts), calibrated)

    def test_evidence_of_a_selected_row(self, explanation):
        first, second = explanation.evidence(2, "b"), explanation[2].evidence(0, 1)
        assert np.array_equal(first.p, second.p)
        assert np.array_equal(first.points, explanation.evidence(-2, -2).points)

    def test_evidence_is_sorted_and_compact(self, explanation):
        pair = explanation.evidence(0, "a")
        assert pair.atoms.any()
        assert (np.diff(pair.points) >= 0).all()
        assert (pair.weights * (pair.p + pair.q) > 0).all()

    def test_concatenation_without_all_evidence(self, explanation):
        joined = xcid.Explanation.concatenate([explanation[:2], replace(explanation[2:], cloud=None)])
        assert joined.cloud is None
        assert np.array_equal(joined.values, explanation.values)

    def test_frozen(self, explanation):
        with pytest.raises(AttributeError):
            explanation.values = None


@pytest.mark.parametrize("part", ["values", "outputs", "cloud"])
def test_parts_that_do_not_fit_each_other_are_refused(tmp_path, explanation, part):
    replace(explanation, **{part: getattr(explanation, part)[:2]}).save(tmp_path / "saved.npz")
    with pytest.raises(InvalidFile, match=f"damaged: {part} has"):
        xcid.load(tmp_path / "saved.npz")


def test_a_saved_file_has_the_permissions_of_any_new_file(tmp_path, explanation):
    explanation.save(tmp_path / "saved.npz")
    (tmp_path / "other").touch()
    assert (tmp_path / "saved.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_features_of_columns_that_a_file_does_not_have(tmp_path):
    path = tmp_path / "saved.json"
    xcid.Explainer(lambda X: X[:, 0] > 0, np.random.default_rng(0).normal(size=(40, 2)))([[1.0, 2.0]]).save(path)
    document = json.loads(path.read_text())
    place = next(name for name in ("features", "head") if name in document)
    holder = document if place == "features" else document["head"]
    holder["features"][1] = [5]
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidFile, match="columns that it does not have"):
        xcid.load(path)
