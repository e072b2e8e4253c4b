"""What a terminal shows: colours, tables and bars by rich, and plain text with NO_COLOR, in pipes and without rich."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys

import pytest

from xcid.cli import _terminal, main
from xcid_lab.verbs import compare

BARS = "row 0: predicted yes (0.8)\n  a  1  +0.500  ████\n  b  2  -0.250  ██\n  score: + supports the prediction"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    pytest.importorskip("rich")
    for name in ("NO_COLOR", "TERM", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    made = Terminal(), Terminal()
    monkeypatch.setattr(_terminal, "_APART", [made])
    return made


def test_signs_have_colours(terminal):
    _terminal.show_scores(BARS)
    lines = terminal[0].getvalue().splitlines()
    colours = [line.split("m+0.500")[0].split("m-0.250")[0] for line in lines[1:3]]
    assert all("\x1b[38;" in colour for colour in colours)
    assert colours[0].split("\x1b")[-1] != colours[1].split("\x1b")[-1]
    assert lines[0].startswith("\x1b[1m")


@pytest.mark.parametrize("why", ["NO_COLOR", "TERM", "no rich", "a pipe"])
def test_plain(terminal, monkeypatch, why):
    if why == "no rich":
        monkeypatch.setitem(sys.modules, "rich.console", None)
    elif why == "a pipe":
        terminal = (io.StringIO(), io.StringIO())
        monkeypatch.setattr(_terminal, "_APART", [terminal])
    else:
        monkeypatch.setenv(why, {"NO_COLOR": "1", "TERM": "dumb"}[why])
    _terminal.show_scores(BARS)
    assert terminal[0].getvalue() == f"{BARS}\n"


def test_what_a_name_holds_is_no_command(terminal):
    _terminal.show_scores("row \x1b[31m: [bold]x[/bold] :smile:")
    assert terminal[0].getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "") == "row ?[31m: [bold]x[/bold] :smile:\n"


def test_tables_are_drawn(terminal):
    compare.show_markdown("words\n\n| method | score |\n|---|---|\n| xcid | 0.4 |\n")
    assert "──" in terminal[0].getvalue()
    assert "|---|" not in terminal[0].getvalue()


@pytest.mark.parametrize("settings", [{}, {"NO_COLOR": "1"}])
def test_a_command_at_a_terminal(csv, settings):
    pytest.importorskip("rich")
    pty = pytest.importorskip("pty", reason="needs a system with pseudo-terminals")
    ours, theirs = pty.openpty()
    typed = ["explain", str(csv), "--target", "y", "--train", "logistic", "--rows", "0:5"]
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "xcid", *typed], stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm-256color"} | settings,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end, where there is nobody at the other side
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "row 0: predicted " in text
    assert "mean of 5 rows" in text
    assert "5 of 5 rows" in text
    assert ("\x1b[1mrow 0: predicted " in text) == (not settings)
    assert ("━" in text) == (not settings)
    assert ("########################" in text) == bool(settings)


def test_errors_have_a_colour(terminal, tmp_path):
    assert main(["explain", str(tmp_path / "none.csv"), "--target", "y"]) == 2
    assert terminal[1].getvalue().startswith("\x1b[1;31mxcid:\x1b[0m none.csv cannot be found in ")


def test_nothing_typed(command):
    status, out, err = command()
    assert (status, err) == (0, "")
    assert [line.split("  ")[1] for line in out.splitlines() if line.startswith("  xcid")] == [
        "xcid demo",
        "xcid explain data.csv --target outcome",
        "xcid report data.csv --target outcome --out report.html",
        "xcid whatif data.csv --target outcome",
    ]


def test_demo(command, tmp_path):
    page = tmp_path / "page.html"
    status, out, err = command("demo", "--out", page)
    assert (status, err) == (0, "")
    assert "On 153 held-out patients it is right in\n7" in out
    assert "\nrow 2: predicted diabetes (0.82); " in out
    assert "In words: The model predicts diabetes (0.82). Glucose" in out
    assert f"is in {page}: open it in a browser" in out
    assert page.stat().st_size > 100_000
    assert page.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_demo_without_matplotlib(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, out, _ = command("demo", "--out", tmp_path / "page.html")
    assert status == 0
    assert "drawn in" not in out
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_notes_keep_the_names_of_files():
    notes = ["credit.csv has decimal commas", "data/credit has no id", "no row is left out"]
    assert _terminal.to_sentences(notes) == [
        "credit.csv has decimal commas.",
        "data/credit has no id.",
        "No row is left out.",
    ]
