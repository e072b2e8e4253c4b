"""Files that unpack to gigabytes are refused before they are unpacked, whatever they say of themselves."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as pf
import pyarrow.parquet as pq
import pytest
from bombs import EXPLANATIONS, MODELS, TABLES, lie
from tables import good

import xcid
from xcid.errors import InvalidFile
from xcid.io import packed, readers, tables
from xcid.io.readers import Background
from xcid.io.rows import Rows
from xcid.records import fields

MOST_GROWTH = 150 * 2**20  # bytes, where the least of the bombs unpacks to 256 MiB
READER = """
import json, resource, sys
from pathlib import Path
import xcid
from xcid.io import models, readers
from xcid.errors import InvalidFile
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
folder, said = Path(sys.argv[1]), {}
for name in ("good.parquet", "good.feather"):
    readers.read(folder / name)  # loads the libraries
try: models.load(folder / "none.skops", [])
except InvalidFile: pass
import skops.io, sklearn.linear_model
before = peak()
readers = (readers.read, lambda path: models.load(path, []), xcid.load)
for read, names in zip(readers, json.loads(sys.argv[2])):
    for name in names:
        try:
            read(folder / name)
            said[name] = "was read"
        except InvalidFile as error:
            said[name] = str(error)
print(json.dumps([said, peak() - before]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What a process of its own said of each bomb, and by how much it grew."""
    folder = tmp_path_factory.mktemp("bombs")
    for name, make in (TABLES | MODELS | EXPLANATIONS).items():
        make(folder / name)
        assert (folder / name).stat().st_size < 5 * 2**20
    good().to_parquet(folder / "good.parquet")
    good().to_feather(folder / "good.feather")
    (folder / "none.skops").write_bytes(b"no model")
    names = json.dumps([list(TABLES), list(MODELS), list(EXPLANATIONS)])
    done = subprocess.run(
        [sys.executable, "-c", READER, str(folder), names], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", TABLES | MODELS | EXPLANATIONS)
def test_refused_in_words(answers, name):
    said = answers[0][name]
    if name in ("liar.skops", "huge.npz"):  # what is there ends before what was said does
        assert name in said
        assert said != "was read"
    else:
        assert "bytes: refused" in said


def test_memory_stays_small(answers):
    assert answers[1] < MOST_GROWTH


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "none"])
@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_honest_parquet_files_are_read(tmp_path, compression, coded, version):
    random = np.random.default_rng(0)
    levels = pd.Categorical(random.choice(["b", "a", "c"], 50_000), ["c", "b", "a"])
    frame = pd.DataFrame({"a": random.normal(size=50_000), "s": random.choice(["x" * 50, "y"], 50_000), "l": levels})
    path = tmp_path / "t.parquet"
    settings = {"compression": compression, "use_dictionary": coded, "data_page_version": version}
    frame.to_parquet(path, row_group_size=20_000, **settings)
    pd.testing.assert_frame_equal(readers.read(path), frame, check_categorical=coded)


def repetitive(n_rows, n_columns):
    """One text, one number and two codes, over and over."""
    kinds = [pa.repeat("yes", n_rows), pa.repeat(1.5, n_rows), pa.array(np.arange(n_rows) % 2), pa.nulls(n_rows)]
    return pa.table([kinds[at % 4] for at in range(n_columns)], [f"c{at}" for at in range(n_columns)])


@pytest.mark.parametrize(("n_rows", "n_columns"), [(2**20, 15), (2**24 // 250, 250)])
def test_cells_that_repeat_are_read_while_they_are_few(tmp_path, n_rows, n_columns):
    """Up to 16 million cells, hundreds for each byte of the file; beyond that they are refused."""
    allowed, refused = tmp_path / "allowed.parquet", tmp_path / "refused.parquet"
    pq.write_table(repetitive(n_rows, n_columns), allowed, compression="zstd")
    assert n_rows * n_columns > 30 * allowed.stat().st_size
    assert readers.read(allowed).shape == (n_rows, n_columns)
    pq.write_table(repetitive(n_rows + n_rows // 8, n_columns), refused, compression="zstd")
    with pytest.raises(InvalidFile, match=r"refused\.parquet unpacks from .* bytes: refused"):
        readers.read(refused)


LEARNER = """
import resource, sys, time
from pathlib import Path
from xcid.io.readers import Background
background = Background.read(Path(sys.argv[1]))
print(background.source.n_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, time.process_time())
"""


def test_the_most_cells_that_are_allowed(tmp_path):
    """A background of them is read and learnt from within the limits of the soak."""
    path = tmp_path / "t.parquet"
    times = pa.repeat(pa.scalar(0, pa.timestamp("us")), 2**24)  # what takes the most room
    pq.write_table(pa.table({"when": times}), path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 50_000
    done = subprocess.run(
        [sys.executable, "-c", LEARNER, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    n_rows, n_bytes, seconds = map(float, done.stdout.split())
    assert n_rows == 2**24
    assert n_bytes < 2 * 2**30
    assert seconds < 20


@pytest.mark.parametrize("read", [readers.read, xcid.load])
def test_a_footer_that_lies(tmp_path, monkeypatch, read):
    """Few cells with much text, of which the footer says nothing: reading ends where it gets too much."""
    path = tmp_path / "t.parquet"
    texts = pa.table({"a": [f"{at}" + "x" * 2**14 for at in range(100)]})
    pq.write_table(
        texts.replace_schema_metadata({"xcid": "{}"}),
        path,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    )
    lie(path)
    assert pq.read_metadata(path).row_group(0).total_byte_size == 100
    monkeypatch.setattr(tables, "SMALL", 2**20)
    monkeypatch.setattr(fields, "list_fields", lambda record: ())
    with pytest.raises(InvalidFile, match=r"column 'a' of .* bytes: refused"):
        read(path)


def test_reading_ends_where_text_gets_too_much(tmp_path, monkeypatch):
    """Not after all of it was unpacked."""
    path, n_read = tmp_path / "t.parquet", []
    pq.write_table(
        pa.table({"a": [f"{at:099}" for at in range(2**18)]}), path, compression="zstd", use_dictionary=False
    )
    lie(path)
    monkeypatch.setattr(tables, "SMALL", 2**22)
    monkeypatch.setattr(tables, "TIMES", 1)
    count = packed._n_written
    monkeypatch.setattr(packed, "_n_written", lambda part: n_read.append(len(part)) or count(part))
    with pytest.raises(InvalidFile, match=r"column 'a' of .* bytes: refused"):
        readers.read(path)
    assert sum(n_read) < 2**17


def test_text_in_lists_counts_with_its_cells(tmp_path, monkeypatch):
    """A saved explanation has lists of text, and one long name may be coded once for all of them."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [["x" * 2**12] * 8] * 64}), path)
    kept = packed.read_parquet(path, packed.list_values)[1]
    assert kept["a"].to_pylist() == [["x" * 2**12] * 8] * 64
    monkeypatch.setattr(tables, "SMALL", 2**20)
    with pytest.raises(InvalidFile, match=rf"column 'a' of .* to {64 * 8 * (tables.CELL + 2**12):,} bytes: refused"):
        packed.read_parquet(path, packed.list_values)


def test_archives_within_an_archive_count(tmp_path):
    for name, content in (("inner.zip", bytes(2**20)), ("outer.zip", tmp_path / "inner.zip")):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("part", content if isinstance(content, bytes) else content.read_bytes())
    with (tmp_path / "outer.zip").open("rb") as file:
        assert tables.in_zip(file) > 2**20


def test_saved_explanations_have_the_same_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SMALL", 2**16)
    np.savez_compressed(tmp_path / "e.npz", values=np.zeros(2**18))
    with pytest.raises(InvalidFile, match=r"e\.npz unpacks from .* bytes: refused"):
        xcid.load(tmp_path / "e.npz")


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
def test_honest_feather_files_are_read(tmp_path, compression):
    levels = pd.Categorical(["one", "two"] * 10_000, ["two", "one"])
    frame = pd.DataFrame({"a": np.arange(20_000.0), "s": ["x" * 50] * 20_000, "w": levels})
    pf.write_feather(frame, str(tmp_path / "t.feather"), compression=compression, chunksize=3_000)
    source = readers.open_source(tmp_path / "t.feather")
    assert source.n_rows == 20_000
    pd.testing.assert_frame_equal(readers.read_all(source), frame)


def test_a_feather_buffer_that_lies_is_refused(tmp_path):
    path = tmp_path / "t.feather"
    pf.write_feather(pa.table({"a": np.zeros(50_000)}), str(path), compression="zstd")
    content = path.read_bytes()
    true, small = (400_000).to_bytes(8, "little"), (400).to_bytes(8, "little")
    assert true in content
    path.write_bytes(content.replace(true, small))
    with pytest.raises(InvalidFile, match=r"t\.feather cannot be read"):
        readers.read(path)


def test_long_text_in_rows_to_explain(tmp_path):
    """Pieces are checked as a table that is read at once: a short code may repeat a long cell."""
    pd.DataFrame({"a": ["x", "y"] * 20, "b": range(40)}).to_csv(tmp_path / "train.csv", index=False)
    long = pa.table({"a": ["x" * 2**22] * 50, "b": range(50)})
    pq.write_table(long, tmp_path / "bomb.parquet", compression="zstd", write_statistics=False)
    background = Background.read(tmp_path / "train.csv")
    source = background.opened(tmp_path / "bomb.parquet")
    with pytest.raises(InvalidFile, match=r"column 'a' of .* unpacks from .* bytes: refused"):
        next(Rows(source, background.layout, range(50)).chunks(9))
