"""Times with a zone and times without one are never compared, whatever files they come from."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid.errors import InvalidData
from xcid.io import readers, tables
from xcid.io.readers import Background
from xcid.io.rows import Rows

N_ROWS = 40
TYPED = ("parquet", "feather", "arrow")
FORMATS = ("csv", "tsv", "json", "jsonl", *TYPED)
LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}


def frame(zone):
    """Hours of some days, in a zone or in none, and the number that decides."""
    when = pd.Series(pd.date_range("2024-03-01 00:30", periods=N_ROWS, freq="7h"))
    number = np.random.default_rng(0).normal(size=N_ROWS).round(3)
    return pd.DataFrame({"number": number, "when": when.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else when})


NAIVE, PARIS, TOKYO = frame(None), frame("Europe/Paris"), frame("Asia/Tokyo")
MIXES = {"rows without a zone": (PARIS, NAIVE), "a background without one": (NAIVE, PARIS)}


def write(table, path):
    """A table as a file; text files hold times as text, with the zone where there is one."""
    suffix = path.suffix[1:]
    if suffix in ("csv", "tsv"):
        table.to_csv(path, sep="," if suffix == "csv" else "\t", index=False)
    elif suffix in ("json", "jsonl"):
        texts = table.assign(when=table["when"].map(lambda time: time.isoformat()))
        texts.to_json(path, orient="records", lines=suffix == "jsonl")
    elif suffix == "parquet":
        table.to_parquet(path)
    else:
        table.to_feather(path)
    return path


def encoded(background, path):
    """All rows of a file as the model's numbers; they are checked on the way."""
    found = Background.read(background)
    source = found.opened(path)
    rows = Rows(source, found.layout, range(source.n_rows))
    rows.check(found.space)
    return np.vstack([found.space.encode(chunk.frame) for chunk in rows.chunks(7)])


@pytest.mark.parametrize("mix", MIXES)
def test_no_two_formats_mix_them(tmp_path, mix):
    """Text is never taken for a time: two text files disagree on what the cells are."""
    of_background, of_rows = MIXES[mix]
    backgrounds = {kind: write(of_background, tmp_path / f"background.{kind}") for kind in FORMATS}
    data = {kind: write(of_rows, tmp_path / f"rows.{kind}") for kind in FORMATS}
    for one, other in product(FORMATS, FORMATS):
        with pytest.raises(InvalidData, match="'when'") as refused:
            encoded(backgrounds[one], data[other])
        assert (one not in TYPED and other not in TYPED) or f"rows.{other}" in str(refused.value)
        assert "row 0" in str(refused.value)
        if one in TYPED and other in TYPED:
            assert "give both a zone, or none" in str(refused.value), (one, other)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kinds", list(product(TYPED, TYPED)))
def test_moments_are_the_same_in_any_zone(tmp_path, monkeypatch, kinds, library):
    monkeypatch.setattr(tables, "library", lambda: library)
    background = write(PARIS, tmp_path / f"background.{kinds[0]}")
    due = encoded(background, background)
    assert len(np.unique(due[:, 1])) == N_ROWS
    assert np.array_equal(encoded(background, write(TOKYO, tmp_path / f"rows.{kinds[1]}")), due)
    assert np.array_equal(encoded(write(NAIVE, background), write(NAIVE, tmp_path / f"plain.{kinds[1]}")), due)


@pytest.mark.parametrize("kind", TYPED)
def test_missing_times_have_no_zone(tmp_path, kind):
    background = write(PARIS.assign(when=PARIS["when"].where(PARIS["number"] > -1)), tmp_path / f"background.{kind}")
    nothing = NAIVE.assign(when=pd.Series(pd.NaT, index=NAIVE.index, dtype="datetime64[ns]"))
    assert np.isnan(encoded(background, write(nothing, tmp_path / f"rows.{kind}"))[:, 1]).all()


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("run", [(), ("--run", "folder")])
def test_the_command_refuses_the_mix(tmp_path, monkeypatch, command, mix, run):
    monkeypatch.chdir(tmp_path)
    background, rows = (
        write(table, tmp_path / name) for table, name in zip(MIXES[mix], ("b.parquet", "r.feather"), strict=True)
    )
    table = readers.read(background).assign(y=PARIS["number"] > 0)
    table.to_parquet(background)
    subject = ("explain", "--background", background, "--target", "y", "--train", "logistic", "--out", "out.csv")
    status, _, said = command(*subject, "--data", rows, *run)
    assert status == 2
    assert "r.feather" in said
    assert "give both a zone, or none" in said
    assert not (tmp_path / "out.csv").exists()
    assert command(*subject, "--rows", ":3", *run)[0] == 0  # the background fits itself


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("mix", MIXES)
def test_the_library_refuses_the_mix(library, mix):
    background, rows = map(LIBRARIES[library], MIXES[mix])
    explainer = xcid.Explainer(lambda X: np.asarray(X["number"]) > 0, background)
    with pytest.raises(InvalidData, match=r"'when' .* have (a|no) time zone, .* give both a zone, or none"):
        explainer(rows[:2])
    assert len(explainer(background[:2])) == 2
