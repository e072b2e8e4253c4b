"""A run gives what the plain command gives, from files of every kind and into them, and refuses to go on as another."""

from __future__ import annotations

import io
import json
import platform

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import xcid
from xcid.cli import _subjects, explain
from xcid.io import models, readers, sources, writers
from xcid.runs import folder
from xcid.runs import run as runs

from .conftest import CHUNK, N_ROWS, SECRET, make_table, one_after_the_other, save

IN = [".csv", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl", ".json"]
OUT = {
    ".csv": lambda data: pd.read_csv(io.BytesIO(data)),
    ".parquet": lambda data: pd.read_parquet(io.BytesIO(data)),
    ".feather": lambda data: pd.read_feather(io.BytesIO(data)),
    ".arrow": lambda data: pd.read_feather(io.BytesIO(data)),
    ".json": lambda data: pd.DataFrame(json.loads(data)),
    ".jsonl": lambda data: pd.DataFrame([json.loads(line) for line in data.decode().splitlines()]),
}


@pytest.fixture
def run(typed, tmp_path, in_this_process):
    """Arguments of a run in this process."""

    def arguments(data=".csv", out=".csv", *more):
        where = ("--run", tmp_path / "run", "--out", tmp_path / f"scores{out}", "--chunk", CHUNK, "--quiet")
        return typed(data, *where, *more)

    return arguments


@pytest.fixture(scope="session")
def plain(typed, tmp_path_factory):
    """What the plain command writes."""
    out = tmp_path_factory.mktemp("plain") / "scores.csv"
    assert xcid.cli.main([*typed(".csv"), "--out", str(out), "--quiet"]) == 0
    return pd.read_csv(out)


@pytest.mark.parametrize("suffix", IN)
def test_the_same_bytes_from_every_kind_of_file(run, due, command, tmp_path, suffix):
    status, printed, err = command(run(suffix))
    assert (status, err) == (0, "")
    assert printed == f"{N_ROWS} rows are explained in {tmp_path / 'scores.csv'}\n"
    assert (tmp_path / "scores.csv").read_bytes() == due(".csv")


@pytest.mark.parametrize("suffix", OUT)
def test_the_same_scores_as_without_a_run(due, plain, suffix):
    """To the last bits: matrix products of other sizes add up in another order."""
    found = OUT[suffix](due(suffix))
    assert list(found.columns) == list(plain.columns)
    assert found["row"].tolist() == np.repeat(np.arange(N_ROWS), 5).tolist()
    for name in plain.columns:
        if plain[name].dtype.kind == "f":
            assert np.allclose(found[name].astype(float), plain[name], atol=1e-9, equal_nan=True), name
        elif name != "shown":
            assert found[name].astype(str).tolist() == plain[name].astype(str).tolist(), name  # CSV knows no types


@pytest.mark.parametrize("suffix", OUT)
def test_the_same_bytes_each_time(run, due, command, tmp_path, suffix):
    assert command(run(".parquet", suffix))[0] == 0
    assert (tmp_path / f"scores{suffix}").read_bytes() == due(suffix)


def test_text_is_written_as_by_the_plain_command(typed, command, tmp_path, monkeypatch, in_this_process):
    """With pieces of the size of chunks even the last bits are the same."""
    monkeypatch.setattr(explain, "ROWS_AT_A_TIME", CHUNK)
    for suffix in (".csv", ".jsonl", ".json"):
        where = ("--run", tmp_path / suffix[1:], "--out", tmp_path / f"run{suffix}", "--chunk", CHUNK)
        assert command(typed(".csv", *where))[0] == 0
        assert command(typed(".csv", "--out", tmp_path / f"plain{suffix}"))[0] == 0
        assert (tmp_path / f"run{suffix}").read_bytes() == (tmp_path / f"plain{suffix}").read_bytes()


def test_groups_of_a_parquet_file_are_not_those_of_the_chunks(run, command, tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "LINES_OF_A_GROUP", 100)
    assert command(run(".csv", ".parquet"))[0] == 0
    groups = pq.ParquetFile(tmp_path / "scores.parquet").metadata
    assert [groups.row_group(at).num_rows for at in range(groups.num_row_groups)] == [160, 160, 40]


@pytest.mark.parametrize("chunk", [1, 37, 256])
def test_chunks_make_no_difference(run, command, plain, tmp_path, chunk):
    assert command(run(".parquet", ".csv", "--rows", "40:60", "--chunk", chunk))[0] == 0
    found, due = pd.read_csv(tmp_path / "scores.csv"), plain[plain["row"].between(40, 59)]
    assert found["row"].tolist() == due["row"].tolist()
    assert np.allclose(found["value"], due["value"], atol=1e-9)


@pytest.mark.parametrize("rows", ["5:60:7", "-3:", "71", "3,9,60:62"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".feather"])
def test_some_rows(run, command, tmp_path, rows, suffix):
    assert command(run(suffix, ".csv", "--rows", rows))[0] == 0
    due = list(_subjects.select_rows(rows, N_ROWS, list))
    assert pd.read_csv(tmp_path / "scores.csv")["row"].unique().tolist() == due


def test_rows_backwards_are_refused(run, command):
    status, _, err = command(run(".csv", ".csv", "--rows", "::-1"))
    assert status == 2
    assert "rising order" in err


def test_the_paper(run, command, typed, tmp_path):
    assert command(run(".csv", ".csv", "--paper", "--rows", ":12"))[0] == 0
    assert command(typed(".csv", "--paper", "--rows", ":12", "--out", tmp_path / "plain.csv"))[0] == 0
    run_, plain_ = (pd.read_csv(tmp_path / name) for name in ("scores.csv", "plain.csv"))
    assert np.allclose(run_["value"], plain_["value"], atol=1e-9)


@pytest.fixture
def joined(monkeypatch):
    """Files that are read at once."""
    found = []
    read = readers.read_all
    monkeypatch.setattr(
        "xcid.io.readers.read_all", lambda source, *more: found.append(source.path.name) or read(source, *more)
    )
    return found


def test_a_table_is_streamed_without_a_folder_too(typed, command, plain, tmp_path, monkeypatch, joined):
    """The plain command reads every file some rows at a time, and writes and shows the same."""
    due = command(typed(".csv", "--json"))[1]
    monkeypatch.setattr(sources, "ROWS_AT_ONCE", 7)
    for suffix in (".csv", ".parquet", ".feather", ".jsonl"):
        status, printed, err = command(typed(suffix, "--out", tmp_path / "scores.csv", "--workers", 2))
        assert status == 0, err
        assert printed.startswith("row 0: predicted ")
        assert f"{N_ROWS} of {N_ROWS} rows" in err
        assert np.allclose(pd.read_csv(tmp_path / "scores.csv")["value"], plain["value"], atol=1e-9)
    assert len(json.loads(command(typed(".csv", "--json"))[1])) == len(json.loads(due))
    assert set(joined) == {"train.csv"}


def test_trained_once(tables, command, tmp_path, in_this_process, monkeypatch, joined):
    """A model that is trained here is kept, so that whoever resumes the run has the same one."""
    train, rows = tables
    where = ("--run", tmp_path / "run", "--out", tmp_path / "scores.csv")
    arguments = ("explain", "--background", train, "--target", "y", "--train", "boosting", "--data", rows(".csv"))
    status, _, err = command((*arguments, *where, "--rows", ":20"))
    assert status == 0, err
    assert "HistGradientBoostingClassifier trained on 120 rows" in err
    assert joined == ["train.csv"] * 2  # once by the first process, once by the worker
    first = (tmp_path / "scores.csv").read_bytes()
    (tmp_path / "run" / "chunks" / "00000000.chunk").unlink()
    monkeypatch.setattr("xcid.io.training.train", lambda *_: pytest.fail("trained again"))
    assert command((*arguments, *where, "--rows", ":20"))[0] == 0
    assert (tmp_path / "scores.csv").read_bytes() == first


class TestGoingOn:
    def test_what_is_finished_is_not_done_again(self, run, command, monkeypatch, due, tmp_path):
        wanted = due(".csv")
        assert command(run())[0] == 0
        (tmp_path / "scores.csv").unlink()
        monkeypatch.setattr(runs, "explain_chunks", lambda *_: pytest.fail("there is nothing to do"))
        monkeypatch.setattr(models, "load", lambda *_, **__: pytest.fail("no model is needed"))
        assert command(run())[0] == 0
        assert (tmp_path / "scores.csv").read_bytes() == wanted

    def test_a_damaged_chunk_is_made_again(self, run, command, due, tmp_path, monkeypatch):
        assert command(run())[0] == 0
        for number, damage in ((1, b"{}\n"), (2, b""), (4, None)):
            path = tmp_path / "run" / "chunks" / f"{number:08d}.chunk"
            path.write_bytes(path.read_bytes()[:-1] + b"?" if damage is None else damage)
        made = []

        def counted(chunks, *more):
            for fragment in one_after_the_other(chunks, *more):
                made.append(fragment.number)
                yield fragment

        monkeypatch.setattr(runs, "explain_chunks", counted)
        assert command(run())[0] == 0
        assert made == [1, 2, 4]
        assert (tmp_path / "scores.csv").read_bytes() == due(".csv")

    def test_another_run_is_refused_with_all_differences(self, run, command, tables, tmp_path):
        assert command(run())[0] == 0
        before = (tmp_path / "scores.csv").read_bytes()
        other = save(make_table(N_ROWS, seed=3), tmp_path / "rows.csv")
        changed = run(".csv", ".csv", "--seed", 4, "--data", other, "--chunk", 9, "--paper", "--rows", "1:")
        status, printed, err = command(changed)
        assert (status, printed) == (2, "")
        for words in (
            "the data is another file (rows.csv, ",
            "seed was 0 and is 4",
            f"chunk was {CHUNK} and is 9",
            "paper was false and is true",
            f"rows was [0, {N_ROWS}, 1] and is [1, {N_ROWS}, 1]",
        ):
            assert words in err
        assert "model is" not in err
        assert "background is" not in err
        assert (tmp_path / "scores.csv").read_bytes() == before

    def test_another_model_or_version_is_refused(self, run, command, tmp_path, monkeypatch):
        assert command(run())[0] == 0
        path = tmp_path / "run" / "manifest.json"
        then = json.loads(path.read_text())
        then["inputs"]["model"]["sha256"] = "0" * 64
        then["versions"]["numpy"] = "1.0"
        path.write_text(json.dumps(then))
        status, _, err = command(run())
        assert status == 2
        assert "the model is another file (model.joblib, " in err
        assert f'numpy was "1.0" and is "{np.__version__}"' in err

    @pytest.mark.parametrize(("version", "age"), [(1, "an older"), (99, "a newer")])
    def test_a_run_of_another_version_of_the_folder(self, run, command, tmp_path, version, age):
        assert command(run())[0] == 0
        path = tmp_path / "run" / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))
        status, _, err = command(run())
        assert status == 2
        assert f"was begun by {age} version of xcid" in err
        assert "finish it with that version, or give a new folder" in err

    def test_a_run_that_has_nothing_yet_may_change(self, run, command, tmp_path):
        """A row that cannot be explained is found before anything is explained; then the table may be mended."""
        bad = make_table(N_ROWS, seed=2)
        bad = bad.astype(object)
        bad.loc[70, bad.columns[0]] = "many"
        path = save(bad, tmp_path / "rows.csv")
        status, _, err = command(run(".csv", ".csv", "--data", path))
        assert status == 2
        assert f"{path} holds 'many' in row 70 (line 72), column '{bad.columns[0]}', and the reference data have" in err
        save(make_table(N_ROWS, seed=2), path)
        assert command(run(".csv", ".csv", "--data", path))[0] == 0

    def test_chunks_without_a_manifest_are_refused(self, run, command, tmp_path):
        assert command(run())[0] == 0
        (tmp_path / "run" / "manifest.json").unlink()
        status, _, err = command(run())
        assert status == 2
        assert "there is no manifest" in err

    def test_a_table_that_changes_meanwhile(self, run, due, command, tables, tmp_path, monkeypatch):
        """No chunk has rows of the other table: with the first one put back the run goes on to what is due."""
        path = save(make_table(N_ROWS, seed=2).round({"size": 6}), tmp_path / "rows.csv")
        before = path.read_bytes()

        def meddling(chunks, *more):
            for fragment in one_after_the_other(chunks, *more):
                yield fragment
                path.write_bytes(before.replace(b"red", b"   ").replace(b"   ", b"red", 1))

        with monkeypatch.context() as patch:
            patch.setattr(runs, "explain_chunks", meddling)
            status, _, err = command(run(".csv", ".csv", "--data", path))
        assert status == 2
        assert f"{path} changed while the run was at work" in err
        assert not (tmp_path / "scores.csv").exists()
        path.write_bytes(before)
        assert command(run(".csv", ".csv", "--data", path))[0] == 0
        assert (tmp_path / "scores.csv").read_bytes() == due(".csv")


class TestFolder:
    def test_the_manifest_says_what_was_run(self, run, command, tables, tmp_path):
        assert command(run())[0] == 0
        found = json.loads((tmp_path / "run" / "manifest.json").read_text())
        train, rows = tables
        for what, path in (("background", train), ("data", rows(".csv")), ("model", train.with_name("model.joblib"))):
            due = {"name": path.name, "sha256": folder.digest(path), "bytes": path.stat().st_size}
            assert found["inputs"][what] == due
        assert found["settings"] == {
            "seed": 0, "target": "y", "rows": [0, N_ROWS, 1], "train": None, "paper": False, "chunk": CHUNK,
            "format": ".csv", "time_limit": None, "weights": None,
        }  # fmt: skip
        assert found["versions"]["xcid"] == xcid.__version__
        assert found["versions"]["numpy"] == np.__version__
        assert found["versions"]["pyarrow"] == pa.__version__
        assert found["versions"]["python"] == platform.python_version()
        assert "scikit-learn" in found["versions"]

    def test_no_data_in_the_log(self, run, command, tmp_path):
        """Neither of rows that were explained nor of those with a level that nobody has seen."""
        assert command(run())[0] == 0
        save(make_table(N_ROWS, seed=2).replace({"colour": {"red": "crimson"}}), tmp_path / "rows.csv")
        other = ("--run", tmp_path / "other", "--data", tmp_path / "rows.csv")
        assert command(run(".csv", ".csv", *other))[0] == 0
        for names in (("run/log.txt", "run/manifest.json"), ("other/log.txt",)):
            kept = "".join((tmp_path / name).read_text() for name in names)
            assert not {SECRET, "crimson", "007"} & set(kept.replace(":", " ").replace("'", " ").split())
            assert SECRET not in kept

    def test_other_folders_are_left_alone(self, run, command, tmp_path):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.tex").write_text("precious")
        status, _, err = command(run())
        assert status == 2
        assert "is not the folder of a run, it has other files (thesis.tex)" in err
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["thesis.tex"]

    def test_needs_a_file_for_the_result(self, typed, command, tmp_path):
        for more in ((), ("--out", tmp_path / "s.csv", "--json")):
            status, _, err = command(typed(".csv", "--run", tmp_path / "run", *more))
            assert status == 2
            assert "--run needs --out" in err
        assert not (tmp_path / "run").exists()


def test_reasons_are_the_same_as_without_a_run(typed, command, tmp_path, in_this_process):
    texts = tmp_path / "texts.json"
    texts.write_text('{"size": "size {value}"}', encoding="utf-8")
    wanted = ("--reasons", "2", "--texts", texts, "--against", "1")
    found = []
    for name, more in (("plain", ()), ("run", ("--run", tmp_path / "folder"))):
        out = tmp_path / f"{name}.csv"
        status, _, err = command(typed(".csv", *wanted, *more, "--quiet", "--out", out))
        assert status == 0, err
        found.append(pd.read_csv(out, keep_default_na=False)[["row", "reason_rank", "reason", "reason_tied_with"]])
    pd.testing.assert_frame_equal(*found)
    assert found[0]["reason"].str.startswith("size ").any()
    texts.write_text('{"size": "another text"}', encoding="utf-8")
    status, _, err = command(typed(".csv", *wanted, "--run", tmp_path / "folder", "--out", tmp_path / "run.csv"))
    assert status == 2
    assert "the text file is another file" in " ".join(err.split())
