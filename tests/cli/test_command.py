"""The command as a whole: help, exit codes, interrupts and pipes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import xcid
from xcid import cli
from xcid._check import warn
from xcid.cli import explain, main
from xcid.errors import InvalidData, XcidWarning
from xcid.io import writers

VERBS = [
    *(
        "demo",
        "explain",
        "report",
        "whatif",
        "app",
        "validate",
        "verify",
        "compare",
        "compare-runs",
        "reproduce",
        "bench",
    ),
    "schema",
    "completion",
]
LAB = ["bench", "compare", "reproduce", "validate", "verify"]


def typed(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "xcid", *map(str, arguments)], capture_output=True, text=True, timeout=60, **settings
    )


def raising(error):
    def run(options):
        raise error

    return run


def test_help_comes_at_once():
    times = []
    for _ in range(3):
        start = os.times()
        result = typed("--help")
        end = os.times()  # the processor's time: other work on the machine is not ours
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
    assert result.returncode == 0
    assert all(verb in result.stdout for verb in VERBS)
    assert min(times) < 0.5


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from xcid.cli import parser; parser().format_help();"
        "print([name for name in ('numpy', 'scipy', 'pandas', 'sklearn', 'narwhals') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(command, verb):
    status, out, _ = command(verb, "--help")
    assert status == 0
    assert f"usage: xcid {verb}" in out
    about = out.split("\n\n")[1]
    assert about.endswith(".")
    assert about[0].isupper() or about.startswith("xcid")


@pytest.mark.parametrize("verb", ["explain", "whatif", "compare-runs"])
def test_help_names_every_format(command, verb):
    assert all(suffix in command(verb, "--help")[1] for suffix in writers.FORMATS)


def test_version(command):
    assert command("--version")[:2] == (0, f"xcid {xcid.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("dance",),
        ("explain",),
        ("explain", "--background", "a.csv", "--model", "m.skops", "--train", "forest"),
        ("explain", "--background", "a.csv", "--train", "forest"),
        ("explain", "--background", "a.csv", "--model", "m.skops", "--rows", "first"),
        ("explain", "--background", "a.csv", "--model", "m.skops", "--seed", "-1"),
        ("explain", "--background", "a.csv", "--model", "m.skops", "--seed", "half"),
        ("compare", "--data", "a.csv", "--model", "forest"),
        ("compare", "--data", "a.csv", "--target", "y", "--model", "forest", "--methods", "xcid,magic"),
        ("compare", "--data", "a.csv", "--target", "y", "--model", "forest", "--rows", "age"),
        ("explain", "a.csv", "--data", "b.csv", "--target", "y"),
        ("explain", "a.csv", "--target", "y", "--id", "y"),
        ("explain", "--target", "y"),
        ("reproduce",),
    ],
)
def test_wrong_usage(command, arguments):
    status, out, err = command(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("xcid: ")
    assert err.count("\n") == 2
    verb = "" if arguments[0] == "dance" else f" {arguments[0]}"
    assert err.splitlines()[1] == f"xcid{verb} --help lists {'the options' if verb else 'all commands'}"


def test_a_misspelt_verb(command):
    err = command("explan", "a.csv")[2]
    assert err.startswith(
        "xcid: there is no command 'explan' (did you mean 'explain'?); the commands are demo, explain"
    )
    assert "did you mean" not in command("dance")[2]


@pytest.mark.parametrize("verb", LAB)
def test_the_lab_is_found_by_name_where_it_is_typed(command, monkeypatch, verb):
    for name in [name for name in sys.modules if name.startswith(f"{cli.LAB}.")]:
        monkeypatch.delitem(sys.modules, name)
    assert verb in command("--help")[1]
    assert f"{cli.LAB}.{verb}" not in sys.modules
    monkeypatch.setitem(sys.modules, f"{cli.LAB}.{verb}", None)
    status, out, err = command(verb, "--help")
    assert (status, out) == (1, "")
    due = f'xcid {verb} is part of the lab, which is not installed: pip install -e ".[lab]" in a checkout of xcid'
    assert err == f"xcid: {due}\n"


def test_an_option_that_is_not_known(command):
    _, _, err = command("explain", "a.csv", "--traget", "y")
    due = "unrecognized arguments: --traget y (did you mean '--target'?)"
    assert err == f"xcid: {due}\nxcid explain --help lists the options\n"
    assert "unrecognized arguments: --qqq\n" in command("explain", "a.csv", "--qqq")[2]


EXPLAIN = ("explain", "--background", "a.csv", "--model", "m.skops")


def test_an_error_is_one_line(command, monkeypatch):
    monkeypatch.setattr(explain, "run", raising(InvalidData("a thing\nis wrong")))
    assert command(*EXPLAIN) == (2, "", "xcid: a thing is wrong\n")


def test_interrupt(command, monkeypatch):
    monkeypatch.setattr(explain, "run", raising(KeyboardInterrupt()))
    assert command(*EXPLAIN) == (130, "", "")


def test_other_errors_are_not_hidden(monkeypatch):
    monkeypatch.setattr(explain, "run", raising(ZeroDivisionError("a mistake of ours")))
    with pytest.raises(ZeroDivisionError):
        main(EXPLAIN)


def test_warnings_are_notes_said_once(command, monkeypatch):
    def run(options):
        for _ in range(3):
            warn("look here")

    monkeypatch.setattr(explain, "run", run)
    assert issubclass(XcidWarning, UserWarning)
    assert command(*EXPLAIN) == (0, "", "xcid: note: look here\n")


def test_as_typed(csv):
    result = typed("explain", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "-2:", "--quiet")
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.startswith("row 88: predicted ")


def test_errors_as_typed(tmp_path):
    result = typed("explain", "--background", tmp_path / "none.csv", "--target", "y", "--train", "forest")
    assert result.returncode == 2
    assert result.stdout == ""
    advice = "; there are no .csv files there: check the name and the folder"
    assert result.stderr == f"xcid: none.csv cannot be found in {tmp_path}{advice}\n"


def test_a_file_that_is_spelt_otherwise(command, csv, tmp_path):
    (tmp_path / "rows.csv").touch()
    options = ("--target", "y", "--rows", "0")
    assert "trian.csv cannot be found in" in command("explain", tmp_path / "trian.csv", *options)[2]
    assert "(did you mean 'train.csv'?)" in command("explain", tmp_path / "trian.csv", *options)[2]
    assert "the .csv files there are ['rows.csv', 'train.csv']" in command("explain", tmp_path / "x.csv", *options)[2]
    assert f"there is no folder {tmp_path / 'no'}" in command("explain", tmp_path / "no" / "x.csv", *options)[2]


def test_closed_pipe(csv):
    arguments = ["explain", "--background", csv, "--target", "y", "--train", "logistic", "--json", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "xcid", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "[\n"
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert errors == ""


def test_interrupt_as_typed(csv, tmp_path):
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from xcid.cli import main; sys.exit(main())"
    )
    options = ("--background", csv, "--target", "y", "--train", "logistic", "--json", "--quiet")
    arguments = [sys.executable, "-c", code, "explain", *map(str, options), "--out", str(tmp_path / "scores.csv")]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "[\n"  # the pipe is full before all rows are done
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    errors = process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert process.wait(timeout=60) == 130
    assert errors == ""
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_version_says_what_reads_trees(command):
    status, out = command("--version", "--verbose")[:2]
    assert status == 0
    assert out.startswith(f"xcid {xcid.__version__}\nPython ")
    assert out.splitlines()[2].startswith(("trees: the library in C", "trees: NumPy"))
