"""The parts of a run, each by itself."""

from __future__ import annotations

import multiprocessing
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from xcid.cli import _terminal
from xcid.errors import InvalidData, InvalidFile, InvalidParameter, ModelError
from xcid.io import tables as tables_room
from xcid.io.readers import Background, open_source
from xcid.io.rows import Rows
from xcid.io.sources import Layout, Roles, Rule
from xcid.io.sources import hold_frame as held_table
from xcid.runs import folder, run, worker
from xcid.runs.worker import Task
from xcid.table import FeatureSpace

from .conftest import save


def rows_of(path, background, positions=None):
    """Rows of a file that are explained against a background whose target is y."""
    space = FeatureSpace.of(background)
    source = open_source(path)
    positions = range(source.n_rows) if positions is None else positions
    return Rows(source, Layout.of(background, space, Roles("y"), {}), positions), space


class TestTypes:
    """The background says what a column is, whatever the rows of a piece look like."""

    @pytest.fixture
    def background(self):
        return pd.DataFrame(
            {
                "number": [0.5, 1.5, 2.5, np.nan] * 5,
                "code": ["007", "12", "x1", "3.50"] * 5,
                "flag": [True, False] * 10,
                "level": pd.Categorical([1, 2, 3, 1] * 5),
            }
        )

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".feather"])
    def test_every_chunk_has_the_same_types(self, background, tmp_path, suffix):
        """Chunks of one row: one with 1 for a number, one with digits for a name, one with nothing at all."""
        rows = pd.DataFrame(
            {
                "number": [1, np.nan, 0.25],
                "code": ["007", "12", "3.50"],
                "flag": [True, False, True],
                "level": [1, 2, 3],
                "y": [0, 1, 0],
            }
        )
        found, space = rows_of(save(rows, tmp_path / f"rows{suffix}"), background)
        frames = [chunk.frame for chunk in found.chunks(1)]
        assert len({tuple(map(str, frame.dtypes)) for frame in frames}) == 1
        whole = pd.concat(frames)
        assert list(whole.columns) == ["number", "code", "flag", "level"]
        assert whole["code"].tolist() == ["007", "12", "3.50"]
        assert whole["flag"].tolist() == [True, False, True]
        assert np.array_equal(whole["number"], [1, np.nan, 0.25], equal_nan=True)
        assert space.encode(whole)[:, 3].tolist() == [0, 1, 2]

    @pytest.mark.parametrize("library", ["polars", "pyarrow"])
    @pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".feather"])
    def test_the_same_cells_for_every_library(self, background, tmp_path, monkeypatch, suffix, library):
        path = save(background.astype({"level": int}), tmp_path / f"rows{suffix}")
        due = [space.encode(chunk.frame) for rows, space in [rows_of(path, background)] for chunk in rows.chunks(6)]
        monkeypatch.setattr(tables_room, "library", lambda: library)
        found = [space.encode(chunk.frame) for rows, space in [rows_of(path, background)] for chunk in rows.chunks(6)]
        assert np.array_equal(np.concatenate(due), np.concatenate(found), equal_nan=True)

    @pytest.mark.parametrize(("suffix", "line"), [(".csv", " (line 19)"), (".parquet", ""), (".jsonl", " (line 18)")])
    def test_rows_that_are_not_asked_for_may_hold_anything(self, background, tmp_path, suffix, line):
        rows = background.astype({"level": int})
        rows.loc[17, "code"] = "nine"
        path = save(rows, tmp_path / f"rows{suffix}")
        found, space = rows_of(path, background, range(17))
        assert found.check(space) is None
        found, space = rows_of(path, background, range(3, 20))
        said = "is not in the reference data; the model decides whether it can take it"
        assert found.check(space).describe() == f"row 17{line}: code 'nine' {said}"
        assert found.check(space).describe_redacted() == f"row 17{line}: a value of code {said}"

    def test_a_number_that_a_type_cannot_hold_is_named_by_its_place(self, background, tmp_path):
        small = background.assign(count=np.arange(20, dtype=np.int8))
        rows = background.astype({"level": int}).assign(count=[*range(19), 300])
        path = save(rows, tmp_path / "rows.csv")
        found, space = rows_of(path, small)
        with pytest.raises(InvalidData, match=r"300 in row 19 \(line 21\), column 'count'"):
            found.check(space)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"number": 1', "line 2 of .* is not JSON"),
            ('{"number": 1, "number": 2}', r"\['number'\] more than once"),
            ("[1, 2]", "line 2 of .* is not an object"),
            ('{"number": [1]}', r"columns \['number'\] of .* have lists or objects"),
            ('{"code": {"a": 1}}', r"columns \['code'\] of .* have lists or objects"),
            ('{"other": 1}', r"unknown \['other'\]"),
        ],
    )
    def test_bad_json_lines(self, background, tmp_path, line, message):
        path = tmp_path / "rows.jsonl"
        path.write_text('{"number": 1, "code": "12", "flag": true, "level": 1, "y": 3}\n' + line + "\n")
        background.assign(y=0).to_parquet(tmp_path / "train.parquet")
        with pytest.raises((InvalidData, InvalidFile), match=message):
            Background.read(tmp_path / "train.parquet", Roles("y")).opened(path)

    @pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv", ".tsv", ".jsonl", ".json", ".xlsx"])
    def test_files_that_are_none(self, tmp_path, suffix):
        path = tmp_path / f"rows{suffix}"
        with pytest.raises(InvalidFile):
            open_source(path)
        path.write_bytes(b"\x00\x01 nonsense")
        with pytest.raises(InvalidFile):
            open_source(path)


class Cut:
    """A table in memory that comes in pieces of some rows."""

    path = Path("the table")

    def __init__(self, n_rows, size):
        self.n_rows, self.size, self.asked = n_rows, size, []

    def pieces(self, first, layout):
        for start in range(0, self.n_rows, self.size):
            self.asked.append(start)
            yield start, {"at": np.arange(start, min(start + self.size, self.n_rows), dtype=float)}


NUMBERS = Layout({"at": Rule("number", ())}, Roles())


class TestChunks:
    @pytest.mark.parametrize("piece_rows", [1, 4, 7, 100])
    @pytest.mark.parametrize("positions", [range(50), range(3, 47, 5), range(49, 50), range(40, 3, -3)])
    def test_the_same_rows_however_the_file_is_read(self, piece_rows, positions):
        rows = Rows(Cut(50, piece_rows), NUMBERS, positions)
        n_chunks = -(-len(positions) // 6)
        for wanted in (None, range(n_chunks), range(n_chunks - 1, n_chunks)):
            chunks, numbers = list(rows.chunks(6, wanted)), range(n_chunks) if wanted is None else wanted
            assert [chunk.number for chunk in chunks] == list(numbers)
            assert all(chunk.frame["at"].tolist() == list(chunk.positions) for chunk in chunks)
            due = [row for number in numbers for row in positions[number * 6 : number * 6 + 6]]
            assert [row for chunk in chunks for row in chunk.positions] == due

    def test_a_file_that_ends_too_soon(self):
        with pytest.raises(InvalidFile, match="the table ends before row 9"):
            list(Rows(Cut(8, 8), NUMBERS, range(10)).chunks(5))

    def test_no_more_is_read_than_is_asked_for(self):
        """One piece ahead at most: what waits takes memory."""
        source = Cut(40, 4)
        next(Rows(source, NUMBERS, range(40)).chunks(4))
        assert source.asked == [0]

    @pytest.mark.parametrize("suffix", [".parquet", ".feather"])
    def test_what_is_before_the_first_wanted_row_is_not_read(self, tables, suffix):
        _, rows = tables
        first, _ = next(open_source(rows(suffix)).pieces(50, NUMBERS))
        assert 0 < first <= 50

    def test_a_held_table_is_a_source_too(self):
        held = held_table(Path("t.csv"), pd.DataFrame({"at": range(5)}))
        assert (held.n_rows, held.names) == (5, ("at",))
        (chunk,) = Rows(held, NUMBERS, range(3, 5)).chunks(9)
        assert chunk.frame["at"].tolist() == [3, 4]


class TestFragments:
    def test_they_come_back(self, tmp_path):
        found = worker.Fragment(3, 2, Counter(ok=1, no_flips=1))
        worker.write_fragment(tmp_path, "run", found, b"some\nbytes")
        assert list(worker.find_finished(tmp_path, "run", 9)) == [found]
        assert list(worker.read_contents(tmp_path, "run", [3])) == [b"some\nbytes"]

    def test_half_written_ones_are_swept(self, tmp_path):
        (tmp_path / ".00000001.chunk.ab12").write_bytes(b"half")
        worker.write_fragment(tmp_path, "run", worker.Fragment(1, 2, Counter(ok=2)), b"whole")
        folder.sweep(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["00000001.chunk"]

    def test_one_that_cannot_be_unpacked_is_taken_away(self, tmp_path, monkeypatch):
        """Its checksum is right: somebody has made it so."""
        monkeypatch.setattr(worker.zlib, "compress", lambda packed, level: packed)
        worker.write_fragment(tmp_path, "run", worker.Fragment(0, 2, Counter(ok=2)), b"whole")
        assert len(list(worker.find_finished(tmp_path, "run", 1))) == 1
        with pytest.raises(InvalidFile, match=r"damaged .* run the same command again"):
            list(worker.read_contents(tmp_path, "run", [0]))
        assert not list(worker.find_finished(tmp_path, "run", 1))

    def test_one_in_the_place_of_another_is_damaged(self, tmp_path):
        worker.write_fragment(tmp_path, "run", worker.Fragment(1, 2, Counter(ok=2)), b"whole")
        (tmp_path / "00000001.chunk").rename(tmp_path / "00000002.chunk")
        with pytest.raises(InvalidFile, match="damaged"):
            list(worker.read_contents(tmp_path, "run", [2]))
        assert list(worker.find_finished(tmp_path, "run", 3)) == []


def test_one_run_at_a_time_in_a_folder(tmp_path):
    with folder.open_folder(tmp_path / "run"):
        pass
    with (
        folder.open_folder(tmp_path / "run"),
        pytest.raises(InvalidFile, match="another process is at work"),
        folder.open_folder(tmp_path / "run"),
    ):
        pass


class TestWorkers:
    def test_what_cannot_travel_is_refused_before_a_process_starts(self, tmp_path, monkeypatch):
        monkeypatch.setattr(run, "_start", lambda *_: pytest.fail("a process was started"))
        task = Task(lambda: None, 0, ".csv", tmp_path, 1, "run", ())
        with pytest.raises(InvalidParameter, match="cannot be sent to other processes"):
            list(run.explain_chunks(iter([]), task, 1, print))

    def test_workers_that_die_as_they_start(self, tmp_path):
        """They are not started for ever."""
        task, lines = Task(partial(sys.exit, 3), 0, ".csv", tmp_path, 1, "run", ()), []
        with pytest.raises(ModelError, match=r"3 workers died as they started \(exit status 3\)"):
            list(run.explain_chunks(iter([]), task, 1, lines.append))
        assert sum("died as it started" in line for line in lines) == 3
        assert multiprocessing.active_children() == []

    def test_an_error_keeps_its_kind(self):
        failed = run.ChunkFailed("InvalidData", "row 3 is odd")
        lines = []
        error = run._to_error(failed, None, lines.append)
        assert isinstance(error, InvalidData)
        assert str(error) == "row 3 is odd"
        assert "odd" not in lines[0]
        assert isinstance(run._to_error(run.ChunkFailed("MemoryError", ""), None, print), MemoryError)
        assert isinstance(run._to_error(run.ChunkFailed("ZeroDivisionError", "oh"), None, print), ModelError)


class TestProgress:
    @pytest.fixture
    def shown(self, monkeypatch, capsys):
        clock = iter(np.arange(0.0, 1e6, 2.0))
        monkeypatch.setattr(_terminal.time, "monotonic", lambda: float(next(clock)))

        def told(is_terminal, *calls):
            monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
            line = _terminal.Progress("rows", quiet=False)
            for done in calls:
                line(done, 100)
            return capsys.readouterr().err

        return told

    def test_rate_and_time_left_of_what_is_done_now(self, shown):
        """40 rows were there before: they say nothing of the rate."""
        lines = shown(True, 40, 50, 100).split("\r\033[K")
        assert lines[1].endswith("40 of 100 rows")
        assert lines[2].endswith("50 of 100 rows, 5.0 per second, 10 s left")
        assert lines[3].endswith("100 of 100 rows, 15 per second, 4.0 s\n")

    def test_no_bar_in_a_pipe(self, shown):
        assert shown(False, 0, 50, 100) == "100 of 100 rows, 25 per second, 4.0 s\n"

    def test_quiet(self, capsys):
        line = _terminal.Progress("rows", quiet=True)
        line(0, 3)
        line(3, 3)
        assert capsys.readouterr().err == ""
