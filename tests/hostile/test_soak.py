"""Some seconds of each family of the soak; and with a planted fault each of them fails.

The share of ``kills.py`` is ``tests/runs/test_interrupted.py``, that of ``cases.py`` are the tests it runs.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import targets

from xcid.io import dates, delimited, readers
from xcid.io.conditions import Numbers
from xcid.native import Fingerprint
from xcid.runs import folder, worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, links and devices as Linux has them")
SHARES = {
    "app": ("--count", "60", "--crowd", "300"),
    "inputs": ("--count", "600"),
    "tables": ("--count", "60", "--seconds", "60", "--seed", "1"),
    "runs": ("--count", "25", "--processes", "25"),
    "memory": ("--rows", "60"),
    "columns": ("--count", "120"),
    "libraries": ("--count", "6"),
    "surroundings": ("--count", "40", "--columns", "300"),
    "conditions": ("--count", "300"),
    "fuzz": ("--seconds", "4", "--engine", "random"),
}


@pytest.mark.parametrize("name", SHARES)
def test_a_share_holds(soak, capsys, name):
    if name == "app":
        pytest.importorskip("uvicorn", reason="needs the extra app")
    status = soak(name).main(SHARES[name])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert re.fullmatch(r"\w+: ([1-9]\d*) tried, \1 held", printed.splitlines()[-1])


@pytest.mark.parametrize("way", ["app", "answer", "run", "dask", "ray", "spark"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_share_of_changed_models_is_not_stale(soak, capsys, way):
    needed = {"app": "uvicorn", "dask": "distributed", "ray": "ray", "spark": "pyspark"}
    pytest.importorskip(needed.get(way, "joblib"), reason=f"needs the extra {way}")
    if way == "spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java 17 or newer")
    status = soak("changes").main(["--ways", way, "--every", "52"])
    printed = capsys.readouterr().out
    assert status == 0, printed
    assert printed.endswith("changes: 2 tried, 2 held\n")


def _by_pieces(path, separator, texts):
    whole = pd.read_csv(path, sep=separator, low_memory=False)
    return whole.assign(c=[int(cell) if cell.isdigit() else cell for cell in whole["c"].astype(str)])


def _wrapping(operand):
    if isinstance(operand, Numbers):
        return operand
    values = operand.fill_null(0).to_numpy() if hasattr(operand, "fill_null") else np.array(operand)
    return values, ~operand.is_null().to_numpy() if hasattr(operand, "is_null") else np.array(True)


class TestPlantedFaults:
    """What cannot fail shows nothing."""

    @pytest.fixture
    def fails(self, soak, monkeypatch, capsys):
        """Plant a fault in a script, and see that it says so."""

        def fail(name, *arguments, **planted):
            module = soak(name)
            for attribute, value in planted.items():
                monkeypatch.setattr(module, attribute, value(getattr(module, attribute)))
            assert module.main(arguments) == 1
            found = re.fullmatch(r"\w+: (\d+) tried, (\d+) held", capsys.readouterr().out.splitlines()[-1])
            assert int(found[2]) < int(found[1]) or found[1] == "0"

        return fail

    def test_an_app_that_lets_anybody_in(self, fails):
        pytest.importorskip("uvicorn", reason="needs the extra app")
        open_gate = "\nfrom xcid.app import server; server.TokenMiddleware._allows = lambda *request: True\nrows ="
        fails("app", "--count", "4", "--crowd", "4", SERVER=lambda text: text.replace("\nrows =", open_gate))

    def test_an_app_that_mixes_up_its_tabs(self, fails):
        pytest.importorskip("uvicorn", reason="needs the extra app")
        last = "\nknown = []\nexplain = app.Session.explain\ndef mixed(self, body):\n"
        last += "    known.append(body)\n    return explain(self, known[-2:][0])\napp.Session.explain = mixed\nrows ="
        tabs = {"_attacks": lambda known: lambda *options: iter(["tabs"])}
        fails("app", "--count", "1", SERVER=lambda text: text.replace("\nrows =", last), **tabs)

    def test_errors_that_are_not_ours(self, fails):
        fails("inputs", "--count", "60", XcidError=lambda known: ZeroDivisionError)

    def test_marks_that_are_one(self, fails, monkeypatch):
        """Dots that say what is first between slashes, as they once did."""
        for orders in (dates.DAY_FIRST, dates.MONTH_FIRST):
            for mark in orders:
                monkeypatch.setitem(orders, mark, orders["/"])
        dates.readings.cache_clear()
        try:
            fails("columns", "--count", "120", FAMILIES=lambda known: known[:1])
        finally:
            dates.readings.cache_clear()

    def test_truths_that_are_numbers(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.io.delimited.TRUE", ("1", "True", "true", "TRUE"))
        fails("columns", "--count", "300", FAMILIES=lambda known: known[1:2])

    def test_digits_that_get_lost(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.io.cells.note_rounded", lambda *column: None)
        fails("columns", "--count", "20", FAMILIES=lambda known: known[2:])

    def test_codes_that_turn_late(self, fails, monkeypatch):
        """A file is read by pieces, each of which decides by itself what it holds."""
        monkeypatch.setattr("xcid.io.delimited.READERS", dict.fromkeys(delimited.READERS, _by_pieces))
        fails("columns", "--count", "1", SHARE=lambda known: 1)

    def test_libraries_that_are_not_looked_at(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.native.library._is_intact", lambda path: True)
        fails("libraries", "--count", "4", SPOILS=lambda known: known[1:2], TARGETS=lambda known: known[:1])

    def test_shipped_libraries_that_are_not_looked_at(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.native.library._is_intact", lambda path: True)
        fails("libraries", "--count", "4", SPOILS=lambda known: known[1:2], TARGETS=lambda known: known[1:])

    def test_numbers_that_wrap(self, fails, monkeypatch):
        """Conditions once calculated in the types of the columns."""
        monkeypatch.setattr("xcid.io.conditions.Numbers.of", lambda operand: Numbers(*_wrapping(operand)))
        fails("conditions", "--count", "200")

    def test_a_run_that_asks_for_the_time(self, fails, monkeypatch):
        state_of = folder.state_of
        monkeypatch.setattr(folder, "state_of", lambda path: (*state_of(path), time.time() // 1e8))
        fails("surroundings", "--count", "4", "--columns", "20", ATTACKS=lambda known: known[:1])

    def test_files_that_are_written_in_place(self, fails, monkeypatch):
        in_place = lambda path, *token: contextlib.nullcontext(path)  # noqa: E731
        for module in ("io.writers", "runs.folder", "runs.run"):
            monkeypatch.setattr(f"xcid.{module}.replacing", in_place)
        fails("surroundings", "--count", "12", "--columns", "20", ATTACKS=lambda known: known[2:3])

    def test_an_error_that_is_not_told(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.cli._describe_refusal", lambda error: "no")
        fails("surroundings", "--count", "40", "--columns", "20", ATTACKS=lambda known: known[1:2])

    def test_a_bomb_that_is_unpacked(self, fails, monkeypatch):
        opened = readers.open_source

        def careless(path):
            return gzip.decompress(path.read_bytes()) if path.name.startswith("bomb") else opened(path)

        monkeypatch.setattr(readers, "open_source", careless)
        fails("surroundings", "--count", "6", "--columns", "20", ATTACKS=lambda known: known[3:])

    def test_models_that_are_not_compared(self, fails, monkeypatch):
        pytest.importorskip("uvicorn", reason="needs the extra app")
        monkeypatch.setattr(Fingerprint, "__eq__", lambda self, other: True)
        fails("changes", "--ways", "app", "--every", "25")

    def test_explanations_that_are_not_compared(self, fails, monkeypatch):
        monkeypatch.setattr("xcid.answers._is_of", lambda *known: True)
        fails("changes", "--ways", "answer", "--every", "25")

    def test_an_input_that_hangs(self, fails):
        fails("inputs", "--count", "1", SLOWEST=lambda known: 1, attempt=lambda known: lambda draw: time.sleep(30))

    @pytest.mark.parametrize("harm", ["raise KeyError(path)", "import os; os._exit(3)", "source = b'1' * 2**30"])
    def test_a_reader_that_does_harm(self, fails, harm):
        planted = {"READER": lambda text: text.replace("source = readers.open_source(path)", harm)}
        fails("tables", "--count", "1", MOST_BYTES=lambda known: 2**30, **planted)

    def test_chunks_in_the_place_of_others(self, fails, monkeypatch):
        read = worker._read_fragment

        def careless(path, run, number):
            head = json.loads(path.read_bytes().split(b"\n")[1])
            fragment, content = read(path, head["run"], head["number"])
            return fragment._replace(number=number), content

        monkeypatch.setattr(worker, "_read_fragment", careless)
        fails("runs", "--count", "25", "--processes", "99")

    @pytest.mark.parametrize("ended", [(3, 1), (0, 0)], ids=["a byte lost", "nobody killed"])
    def test_a_run_that_is_not_the_same(self, fails, ended):
        fails("kills", kills=lambda known: lambda *arguments: ended)

    @pytest.mark.parametrize("found", [b"abd", b"ab", b"abcd"])
    def test_bytes_that_differ(self, soak, found):
        assert (soak("kills")._difference(b"abc", found), soak("kills")._difference(b"abc", b"abc")) == (1, 0)

    @pytest.mark.parametrize("peaks", [[2_000.0, 2_000.0], [300.0, 400.0]], ids=["beyond the limit", "with the rows"])
    def test_a_run_that_grows(self, fails, peaks):
        fails("memory", peak=lambda known: lambda *arguments: (peaks.pop(0), 0.0, 1.0))

    def test_a_target_that_breaks(self, fails, monkeypatch, tmp_path):
        def broken(data):
            raise KeyError("odd")

        monkeypatch.setitem(targets.TARGETS, "one_feature", broken)
        arguments = ("--seconds", "1", "--engine", "random", "--target", "one_feature", "--out", str(tmp_path))
        fails("fuzz", *arguments)

    def test_a_test_that_fails(self, fails, tmp_path):
        (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")
        fails("cases", "it", str(tmp_path), "-c", str(tmp_path), "--rootdir", str(tmp_path))

    def test_no_test_at_all(self, fails, tmp_path):
        fails("cases", "it", str(tmp_path), "-c", str(tmp_path), "--rootdir", str(tmp_path))


def collected(options):
    typed = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(typed, cwd=root, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


class TestTable:
    """The table of ``soak/run.py`` believes the last line of a check only together with its exit status."""

    @pytest.mark.parametrize(
        ("script", "status", "row"),
        [
            ("print('odd ones: 3 tried, 3 held')", 0, ["3", "3"]),
            ("print('odd ones: 3 tried, 2 held')", 1, ["3", "2"]),
            ("print('odd ones: 3 tried, 3 held'); raise SystemExit(1)", 1, ["3", "2"]),
            ("print('odd ones: 0 tried, 0 held')", 1, ["0", "0"]),
            ("pass", 1, ["1", "0"]),
            ("print('odd ones: 3 tried, 3 held'); print('and more')", 1, ["1", "0"]),
        ],
    )
    def test_a_row(self, soak, monkeypatch, tmp_path, capsys, script, status, row):
        module = soak("run")
        (tmp_path / "soak").mkdir()
        (tmp_path / "soak" / "it.py").write_text(script)
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "checks", lambda *options: [module.Check("tables", "it.py", ())])
        assert module.main([]) == status
        printed = capsys.readouterr().out.splitlines()
        assert printed[4].split(" | ")[1:3] == row
        assert re.fullmatch(rf"status {status}, \d+ s on the clock, \d+ at a time", printed[-1])

    def test_tests_are_not_counted_as_attacks(self, soak, monkeypatch, tmp_path, capsys):
        module = soak("run")
        (tmp_path / "soak").mkdir()
        for name, size in (("it", 3), ("cases", 2)):
            (tmp_path / "soak" / f"{name}.py").write_text(f"print('{name}: {size} tried, {size} held')")
        parts = [module.Check("tables", "it.py", ()), module.Check("tables", "cases.py", (), are_tests=True)]
        monkeypatch.setattr(module, "ROOT", tmp_path)
        monkeypatch.setattr(module, "checks", lambda *options: parts)
        assert module.main(["--parallel", "1"]) == 0
        row = capsys.readouterr().out.splitlines()[4].split(" | ")
        assert (row[1:5], row[6]) == (["3", "3", "2", "2"], "it 3, cases 2 tests |")

    @pytest.mark.parametrize(("edited", "said"), [(False, "nothing changed since"), (True, "not committed")])
    def test_it_names_what_is_attacked(self, soak, monkeypatch, tmp_path, edited, said):
        module = soak("run")
        monkeypatch.setattr(module, "ROOT", tmp_path)
        assert module.about(7) == f"sources of no commit; Python {platform.python_version()}, seed 7"
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        for typed in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "first"], ["rev-parse", "HEAD"]):
            done = subprocess.run(["git", *typed], cwd=tmp_path, capture_output=True, text=True, check=True)
        if edited:
            (tmp_path / "new.py").touch()
        assert module.about(7).startswith(f"commit {done.stdout.strip()}, ")
        assert said in module.about(7)

    def test_every_test_of_changed_models_is_run_once(self, soak):
        """By one of two checks; a word in the name of a test once kept sixteen of them from both."""
        module = soak("run")
        parts = [one.options[1:] for one in module.checks(module.read_options([])) if module.CHANGED[0] in one.options]
        assert len(parts) == 2
        found = [collected(part) for part in (module.CHANGED, *parts)]
        assert all(found)
        assert sorted(found[0]) == sorted(found[1] + found[2])
        assert sum("what_a_method_leaves" in name for name in found[1]) == 16

    def test_every_script_is_in_the_table(self, soak):
        scripts = {path.name for path in (Path(__file__).resolve().parents[2] / "soak").glob("*.py")}
        found = {check.script for check in soak("run").checks(soak("run").read_options([]))}
        assert found == scripts - {"run.py", "verdict.py", "promises.py", "crafted.py", "boosters.py"}
