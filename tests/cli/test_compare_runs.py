"""``xcid compare-runs``: two saved explanations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid


@pytest.fixture
def runs(command, csv, tmp_path):
    paths = tmp_path / "january.xcid", tmp_path / "march.npz"
    typed = ("explain", "--background", csv, "--target", "y", "--train", "logistic", "--quiet")
    for path, rows in zip(paths, ("0:40", "40:90"), strict=True):
        status, _, err = command(*typed, "--rows", rows, "--out", path)
        assert status == 0, err
    return paths


def test_prints_and_keeps(command, runs, tmp_path):
    status, out, err = command("compare-runs", *runs, "--out", tmp_path / "drift.csv")
    assert (status, err) == (0, "")
    assert out.startswith("march compared with january: the mean of 50 rows against that of 40")
    found = xcid.load(runs[0]).compare(xcid.load(runs[1]))
    kept = pd.read_csv(tmp_path / "drift.csv")
    assert kept["feature"].tolist() == ["first", "second", "level"]
    assert np.allclose(kept["difference"], found.difference)
    assert np.allclose(kept["p_value"], found.p_values)


def test_a_page(command, runs, tmp_path):
    status, _, err = command("compare-runs", *runs, "--report", tmp_path / "drift.html")
    assert (status, err) == (0, "")
    assert "march compared with january" in (tmp_path / "drift.html").read_text(encoding="utf-8").lower()
    status, _, err = command("compare-runs", *runs, "--report", tmp_path / "drift.pdf")
    assert status == 2
    assert "the extensions are .html, .htm" in err


@pytest.mark.parametrize("extension", [".json", ".parquet", ".npz", ".xcid"])
def test_reads_what_save_wrote(command, runs, tmp_path, extension):
    first = tmp_path / f"saved{extension}"
    xcid.load(runs[0]).save(first)
    status, out, _ = command("compare-runs", first, runs[1])
    assert status == 0
    assert out.replace("saved", "january").split() == command("compare-runs", *runs)[1].split()


def test_towards_the_other_class(command, runs, tmp_path):
    for name in ("0", "1"):
        assert command("compare-runs", *runs, "--towards", name, "--out", tmp_path / f"{name}.csv")[0] == 0
    zero, one = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("0", "1"))
    assert np.allclose(zero["difference"], -one["difference"])
    assert not np.allclose(zero["difference"], 0)


def test_files_of_one_name_are_told_apart(command, runs, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    xcid.load(runs[1]).save(other / "january.npz")
    status, out, _ = command("compare-runs", runs[0], other / "january.npz")
    assert status == 0
    assert "other" in out.splitlines()[0]


class TestRefused:
    def test_a_table_is_no_explanation(self, command, runs, csv):
        status, out, err = command("compare-runs", runs[0], csv)
        assert (status, out) == (2, "")
        assert "not a saved explanation" in err

    def test_a_class_that_is_not_there(self, command, runs):
        status, _, err = command("compare-runs", *runs, "--towards", "maybe")
        assert status == 2
        assert "no class 'maybe'" in err

    def test_a_missing_file(self, command, runs, tmp_path):
        assert command("compare-runs", runs[0], tmp_path / "nowhere.npz")[0] == 2

    def test_a_result_over_a_source(self, command, runs):
        before = runs[0].read_bytes()
        assert command("compare-runs", *runs, "--out", runs[0])[0] == 2
        assert runs[0].read_bytes() == before

    def test_a_run_keeps_no_archive(self, command, csv, tmp_path):
        typed = ("explain", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "0:3")
        assert command(*typed, "--run", tmp_path / "run", "--out", tmp_path / "a.npz")[0] == 2
