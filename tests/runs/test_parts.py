"""The parts of a run, each by itself."""

from __future__ import annotations

import multiprocessing
import sys
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.cli import _large, _progress
from xcid.errors import InvalidData, InvalidFile, InvalidParameter, ModelError
from xcid.runs import folder, fragments, readers, workers
from xcid.runs.chunks import cut
from xcid.runs.layout import Layout
from xcid.runs.run import Job, look_through
from xcid.runs.worker import Task, explain

from .conftest import save


class TestTypes:
    """The background says what a column is, whatever the rows of a chunk look like."""

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

    @pytest.fixture
    def layout(self, background):
        return Layout.of(xcid.Explainer(lambda X: X["flag"].astype(int), background).space, "y")

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
    def test_every_chunk_has_the_same_types(self, background, layout, tmp_path, monkeypatch, suffix):
        """Chunks of one row: one with 1 for a number, one with digits for a name, one with nothing at all."""
        monkeypatch.setattr("xcid.runs.texts.ROWS_AT_ONCE", 1)
        rows = pd.DataFrame(
            {
                "number": [1, np.nan, 0.25],
                "code": ["007", "12", "3.50"],
                "flag": [True, False, True],
                "level": [1, 2, 3],
                "y": [0, 1, 0],
            }
        )
        frames = list(_large.source(save(rows, tmp_path / f"rows{suffix}"), layout).frames(0))
        assert [first for first, _ in frames] == [0, 1, 2]
        assert len({tuple(map(str, frame.dtypes)) for _, frame in frames}) == 1
        whole = pd.concat([frame for _, frame in frames])
        assert list(whole.columns) == ["number", "code", "flag", "level"]
        assert whole["code"].tolist() == ["007", "12", "3.50"]
        assert whole["flag"].tolist() == [True, False, True]
        assert np.array_equal(whole["number"], [1, np.nan, 0.25], equal_nan=True)
        space = xcid.Explainer(lambda X: X["flag"].astype(int), background).space
        assert space.encode(whole)[:, 3].tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        ("suffix", "place"),
        [
            (".csv", "holds 'many' in row 7, column 'number' (line 9)"),
            (".jsonl", "has in row 7 (line 8) 'many' in column 'number'"),
        ],
    )
    def test_a_value_that_does_not_fit_is_named_by_its_place(self, layout, background, tmp_path, suffix, place):
        rows = background.astype(object).head(10).fillna({"number": 1.0})
        rows.loc[7, "number"] = "many"
        path = save(rows, tmp_path / f"rows{suffix}")
        with pytest.raises(InvalidData) as caught:
            list(_large.source(path, layout).frames(0))
        assert f"{path} {place}" in str(caught.value)

    @pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".jsonl"])
    def test_an_unknown_level_is_named_by_its_place(self, layout, background, tmp_path, suffix):
        space = xcid.Explainer(lambda X: X["flag"].astype(int), background).space
        rows = background.drop(columns="level").assign(level=1)
        rows.loc[17, "code"] = "nine"
        path = save(rows, tmp_path / f"rows{suffix}")
        job = Job(_large.source(path, layout), range(3, 20), path, 4)
        with pytest.raises(InvalidData, match=f"column 'code' of {path} holds 'nine' in row 17"):
            look_through(job, space)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"number": 1', "line 2 of .* is not JSON"),
            ('{"number": 1, "number": 2}', "a name more than once"),
            ("[1, 2]", "line 2 of .* is no object"),
            ('{"number": [1]}', r"in row 1 \(line 2\) \[1\] in column 'number'"),
            ('{"code": {"a": 1}}', "a list or an object in column 'code'"),
            ('{"other": 1}', r"the columns \['other'\], which the background does not have"),
        ],
    )
    def test_bad_json_lines(self, layout, tmp_path, line, message):
        (tmp_path / "rows.jsonl").write_text('{"number": 1, "y": 3}\n' + line + "\n")
        with pytest.raises((InvalidData, InvalidFile), match=message):
            list(_large.source(tmp_path / "rows.jsonl", layout).frames(0))

    @pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv", ".tsv", ".jsonl", ".json", ".xlsx"])
    def test_files_that_are_none(self, layout, tmp_path, suffix):
        path = tmp_path / f"rows{suffix}"
        with pytest.raises(InvalidFile):
            _large.source(path, layout)
        path.write_bytes(b"\x00\x01 nonsense")
        with pytest.raises((InvalidFile, InvalidData)):
            list(_large.source(path, layout).frames(0))


class TestChunks:
    @pytest.mark.parametrize("frame_rows", [1, 4, 7, 100])
    @pytest.mark.parametrize("positions", [range(50), range(3, 47, 5), range(49, 50)])
    def test_the_same_rows_however_the_file_is_read(self, frame_rows, positions):
        table = pd.DataFrame({"at": np.arange(50)})
        frames = [(start, table[start : start + frame_rows]) for start in range(0, 50, frame_rows)]
        n_chunks = -(-len(positions) // 6)
        for wanted in (range(n_chunks), range(n_chunks - 1, n_chunks)):
            chunks = list(cut(frames, positions, 6, wanted, "the table"))
            assert [chunk.number for chunk in chunks] == list(wanted)
            assert all(chunk.frame["at"].tolist() == list(chunk.positions) for chunk in chunks)
            due = [row for number in wanted for row in positions[number * 6 : number * 6 + 6]]
            assert [row for chunk in chunks for row in chunk.positions] == due

    def test_a_file_that_ends_too_soon(self):
        with pytest.raises(InvalidFile, match="the table ends before row 9"):
            list(cut([(0, pd.DataFrame({"at": range(8)}))], range(10), 5, [0, 1], "the table"))

    def test_no_more_is_read_than_is_asked_for(self):
        """One frame ahead at most: what waits takes memory."""
        asked = []

        def frames():
            for start in range(0, 40, 4):
                asked.append(start)
                yield start, pd.DataFrame({"at": range(start, start + 4)})

        chunks = cut(frames(), range(40), 4, range(10), "the table")
        next(chunks)
        assert asked == [0]

    @pytest.mark.parametrize("suffix", [".parquet", ".feather"])
    def test_what_is_before_the_first_wanted_row_is_not_read(self, tables, suffix):
        _, rows = tables
        layout = Layout(("size",), ("size",), {}, None)
        first, _ = next(iter(_large.source(rows(suffix), layout).frames(50)))
        assert 0 < first <= 50


class TestFragments:
    def test_they_come_back(self, tmp_path):
        found = fragments.Fragment(3, 2, Counter(ok=1, no_flips=1))
        fragments.write(tmp_path, found, b"some\nbytes")
        assert list(fragments.finished(tmp_path, 9)) == [found]
        assert list(fragments.contents(tmp_path, [3])) == [b"some\nbytes"]

    def test_half_written_ones_are_swept(self, tmp_path):
        (tmp_path / ".00000001.chunk.ab12").write_bytes(b"half")
        fragments.write(tmp_path, fragments.Fragment(1, 2, Counter(ok=2)), b"whole")
        fragments.sweep(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["00000001.chunk"]

    def test_one_in_the_place_of_another_is_damaged(self, tmp_path):
        fragments.write(tmp_path, fragments.Fragment(1, 2, Counter(ok=2)), b"whole")
        (tmp_path / "00000001.chunk").rename(tmp_path / "00000002.chunk")
        with pytest.raises(InvalidFile, match="damaged"):
            list(fragments.contents(tmp_path, [2]))
        assert list(fragments.finished(tmp_path, 3)) == []


def test_one_run_at_a_time_in_a_folder(tmp_path):
    with folder.opened(tmp_path / "run"):
        pass
    with (
        folder.opened(tmp_path / "run"),
        pytest.raises(InvalidFile, match="another process is at work"),
        folder.opened(tmp_path / "run"),
    ):
        pass


class TestWorkers:
    def test_what_cannot_travel_is_refused_before_a_process_starts(self, tmp_path, monkeypatch):
        monkeypatch.setattr(workers, "_start", lambda *_: pytest.fail("a process was started"))
        task = Task(lambda: None, 0, ".csv", tmp_path, "rows.csv", 1)
        with pytest.raises(InvalidParameter, match="cannot be sent to other processes"):
            list(workers.explained(iter([]), task, 1, print))

    def test_workers_that_die_as_they_start(self, tmp_path):
        """They are not started for ever."""
        task, lines = Task(partial(sys.exit, 3), 0, ".csv", tmp_path, "rows.csv", 1), []
        with pytest.raises(ModelError, match=r"3 workers died as they started \(exit status 3\)"):
            list(workers.explained(iter([]), task, 1, lines.append))
        assert sum("died as it started" in line for line in lines) == 3
        assert multiprocessing.active_children() == []

    def test_an_error_keeps_its_kind(self):
        failed = workers.Failed("InvalidData", "row 3 is odd")
        lines = []
        error = workers._error(failed, None, lines.append)
        assert isinstance(error, InvalidData)
        assert str(error) == "row 3 is odd"
        assert "odd" not in lines[0]
        assert isinstance(workers._error(workers.Failed("MemoryError", ""), None, print), MemoryError)
        assert isinstance(workers._error(workers.Failed("ZeroDivisionError", "oh"), None, print), ModelError)

    def test_a_row_is_blamed_by_its_place_in_the_file(self, tables):
        train, _ = tables
        background = pd.read_csv(train).drop(columns="y")
        explainer = xcid.Explainer(lambda X: (X["count"] > 4).astype(int), background)
        rows = background.head(6).copy()
        rows.loc[4, "code"] = "new"
        (chunk,) = cut([(100, rows)], range(100, 106), 6, [0], "t")
        with pytest.raises(InvalidData, match=r"column 'code' of rows.csv holds 'new' in row 104"):
            explain(explainer, chunk, partial(explainer, seed=0), "rows.csv")


class TestProgress:
    @pytest.fixture
    def shown(self, monkeypatch, capsys):
        clock = iter(np.arange(0.0, 1e6, 2.0))
        monkeypatch.setattr(_progress.time, "monotonic", lambda: float(next(clock)))

        def told(is_terminal, *calls):
            monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
            line = _progress.progress("rows", quiet=False)
            for done in calls:
                line(done, 100)
            return capsys.readouterr().err

        return told

    def test_rate_and_time_left_of_what_is_done_now(self, shown):
        """40 rows were there before: they say nothing of the rate."""
        lines = shown(True, 40, 50, 100).split("\r\033[K")
        assert lines[1].endswith("40 of 100 rows")
        assert lines[2].endswith("50 of 100 rows, 5.0 a second, 10 s left")
        assert lines[3].endswith("100 of 100 rows, 15 a second, 4.0 s\n")

    def test_no_bar_in_a_pipe(self, shown):
        assert shown(False, 0, 50, 100) == "100 of 100 rows, 25 a second, 4.0 s\n"

    def test_quiet(self, capsys):
        line = _progress.progress("rows", quiet=True)
        line(0, 3)
        line(3, 3)
        assert capsys.readouterr().err == ""


def test_a_held_table_is_a_source_too():
    frame = pd.DataFrame({"at": range(5)})
    assert readers.Held(frame).n_rows == 5
    assert [first for first, _ in readers.Held(frame).frames(3)] == [0]
