"""Every bad table ends in one line that says what is wrong and where, and leaves no file behind."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from tables import CASES, ROWS, TEXT, Case, good

import xcid
from xcid.errors import InvalidData, InvalidFile, XcidError
from xcid.io import tables
from xcid.io.readers import open_source, read

SECONDS = 10.0  # far more than any of them takes, and far less than anything quadratic would
BAD = [case for case in CASES if case.says]


def test_there_are_many_and_each_has_its_name():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


def run(command, case: Case, folder, verb: str, out: str, *more):
    """Run a case: what is said, and which files are new."""
    arguments = case.make(folder)
    before = set(folder.iterdir())
    began = time.process_time()
    status, _, err = command(verb, *arguments, "--target", "y", *more, "--out", folder / out, "--quiet")
    assert time.process_time() - began < SECONDS
    return status, err, {path.name for path in set(folder.iterdir()) - before}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_explain(command, tmp_path, case):
    status, err, new = run(command, case, tmp_path, "explain", "out.csv", "--train", "logistic", "--rows", "0:2")
    if case.says:
        assert (status, new) == (2, set())
        assert err.startswith("xcid: ")
        assert err.count("\n") == 1
        assert [piece for piece in case.says if piece not in err] == []
        assert len(err) < 1_000
    else:
        assert (status, new) == (0, {"out.csv"})
        assert [piece for piece in case.notes if piece not in err] == []
        assert bool(err) == bool(case.notes)


@pytest.mark.parametrize("case", [case for case in BAD if "columns" not in case.name], ids=str)
def test_report(command, tmp_path, case):
    more = ("--train", "logistic", "--rows", "0:2")
    status, err, new = run(command, case, tmp_path, "report", "out.html", *more)
    assert (status, new) == (2, set())
    assert err.count("\n") == 1
    assert [piece for piece in case.says if piece not in err] == []


@pytest.mark.parametrize("case", [case for case in TEXT if "columns" not in case.name], ids=str)
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_other_libraries_read_it_or_refuse_it(tmp_path, monkeypatch, case, library):
    monkeypatch.setattr(tables, "library", lambda: library)
    path = case.make(tmp_path)[1]
    try:
        found = tables.size(read(path))
    except XcidError as error:
        assert path.name in str(error)  # noqa: PT017
    else:
        assert found == open_source(path).n_rows


@pytest.mark.parametrize("case", ROWS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_explainer_refuses_the_same_rows(tmp_path, case):
    """The command looks first, to name the file; who calls the explainer directly is told too."""
    background, rows = (pd.read_csv(path) for path in case.make(tmp_path)[1::2])
    features = background.drop(columns="y")

    def explain():
        explainer = xcid.Explainer(lambda table: np.asarray(table["a"]) > 0, features)
        return explainer(rows.drop(columns="y", errors="ignore")[:2])

    if case.says:
        with pytest.raises(InvalidData):
            explain()
    else:
        assert len(explain()) == 2


class TestWhere:
    def test_blank_lines_and_newlines_in_cells_are_counted(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_text('a,b\n1,"x\ny"\n\n2,z\n"inf",w\n')
        with pytest.raises(InvalidFile, match=r"infinite value in row 2 \(line 6\), column 'a'"):
            read(path)

    def test_rows_are_those_of_the_file_and_not_of_the_selection(self, command, tmp_path):
        good().to_csv(tmp_path / "train.csv", index=False)
        good().assign(level=["red"] * 39 + ["mauve"]).to_csv(tmp_path / "rows.csv", index=False)
        files = ("--background", tmp_path / "train.csv", "--data", tmp_path / "rows.csv")
        _, _, err = command("explain", *files, "--target", "y", "--train", "logistic", "--rows=-3:")
        assert "row 39 (line 41): level 'mauve' is not in the reference data; the model decides" in err

    def test_only_the_cell_that_is_wrong_is_shown(self, tmp_path):
        path = tmp_path / "t.jsonl"
        path.write_text('{"a": 1, "name": "Jane Doe"}\n{"a": "' + "secret" * 50 + '", "name": "John"}\n{"a": 1}\n')
        with pytest.raises(InvalidFile) as caught:
            read(path)
        assert "Jane" not in str(caught.value)
        assert 0 < str(caught.value).count("secret") <= 60 // len("secret")


class TestUnreadable:
    @pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(5, "Input/output error")])
    def test_files_that_may_not_be_read(self, tmp_path, monkeypatch, error):
        path = tmp_path / "t.csv"
        good().to_csv(path, index=False)

        def fail(*arguments, **more):
            raise error

        monkeypatch.setattr("pathlib.Path.open", fail)
        with pytest.raises(InvalidFile, match=f"t.csv cannot be read: {error.strerror}"):
            read(path)


class TestWidePython:
    def test_many_columns_are_refused_at_once(self):
        began = time.process_time()
        with pytest.raises(InvalidData, match="200,000 columns, and 10,000 are the most"):
            xcid.Explainer(lambda X: X[:, 0] > 0, np.zeros((3, 200_000)))
        assert time.process_time() - began < SECONDS
