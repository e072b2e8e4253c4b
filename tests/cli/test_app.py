"""``xcid app``: a real process on a free port that answers this machine alone, and ends when it is told to."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import pytest

from xcid import app as room
from xcid.cli import app

pytest.importorskip("starlette", reason="needs the extra app")
pytest.importorskip("uvicorn", reason="needs the extra app")

# a shell may start jobs with Ctrl-C turned off
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from xcid.cli import main; sys.exit(main())"
)


class Running:
    """A process, its address, and the way to ask it."""

    def __init__(self, *arguments, code=START):
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "app", *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.address = self.process.stdout.readline().strip()
        self.parts = urlsplit(self.address)

    def ask(self, path, body=None, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.parts.port, timeout=20)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Host": host} if host else {}
        connection.request("GET" if body is None else "POST", path, body, headers)
        response = connection.getresponse()
        found = response.status, response.read().decode()
        connection.close()
        return found

    def end(self, by=signal.SIGINT):
        """Exit status and what was said."""
        self.process.send_signal(by)
        try:
            out, err = self.process.communicate(timeout=20)
        finally:
            self.process.kill()
        return self.process.returncode, out, err


@pytest.fixture(scope="module")
def running(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("app") / "train.csv"
    table.to_csv(path, index=False)
    made = Running("--background", path, "--target", "y", "--train", "logistic", "--rows", "0:5", "--seed", "3")
    yield made
    made.end()


def test_it_answers_on_this_machine(running):
    assert running.parts.hostname == "127.0.0.1"
    assert len(running.parts.path) > 30
    status, text = running.ask(running.parts.path)
    assert status == 200
    assert "<title>xcid</title>" in text
    status, text = running.ask(f"{running.parts.path}description")
    data = json.loads(text)
    assert data["title"] == "What decides y"
    assert [row["name"] for row in data["rows"]] == ["0", "1", "2", "3", "4"]
    assert "LogisticRegression trained on 90 rows" in data["notes"][0]
    cells = data["rows"][0]["cells"]
    body = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], "target": 0, "feature": 0}
    body["question"] = {"kind": "flip"}
    status, text = running.ask(f"{running.parts.path}answer", json.dumps(body))
    assert status == 200
    assert json.loads(text)["row"]["sentences"][0].startswith("The model predicts ")


def test_it_refuses_all_others(running):
    for path in ("/", "/description", "/wrong/", running.parts.path.upper()):
        assert running.ask(path)[0] == 403
    assert running.ask(running.parts.path, host="evil.example")[0] == 403
    assert running.ask(running.parts.path, host="127.0.0.1")[0] == 403
    assert running.ask(running.parts.path, host=f"localhost:{running.parts.port}")[0] == 200


def test_no_other_address_is_listened_to(running):
    for family, name in ((socket.AF_INET, socket.gethostbyname(socket.gethostname())), (socket.AF_INET6, "::1")):
        if name.startswith("127.0.0.1"):
            continue
        with socket.socket(family, socket.SOCK_STREAM) as other:
            assert other.connect_ex((name, running.parts.port)) != 0


def test_ctrl_c_ends_it(csv):
    made = Running("--background", csv, "--target", "y", "--train", "logistic", "--quiet")
    assert made.ask(made.parts.path)[0] == 200
    start = time.monotonic()
    assert made.end() == (130, "", "")
    assert time.monotonic() - start < 20  # it ends: how soon is left to the machine


def test_ctrl_c_ends_it_with_an_open_page(csv):
    """A browser keeps its connection; a request may be under way."""
    made = Running("--background", csv, "--target", "y", "--quiet")
    connection = http.client.HTTPConnection("127.0.0.1", made.parts.port, timeout=20)
    connection.request("GET", f"{made.parts.path}description")
    assert connection.getresponse().read()
    assert made.end() == (130, "", "")
    connection.close()


def test_ctrl_c_ends_it_while_a_model_is_at_work(csv):
    work = "[print('at work', flush=True), time.sleep(60)]"
    slow = f"import time; from xcid.app import Session; Session.explain = lambda *_: {work};"
    made = Running("--background", csv, "--target", "y", "--train", "logistic", "--quiet", code=slow + START)
    found = []
    asking = threading.Thread(target=lambda: found.append(made.ask(f"{made.parts.path}answer", "{}")))
    asking.start()
    assert made.process.stdout.readline() == "at work\n"
    start = time.monotonic()
    assert made.end() == (130, "", "")
    assert time.monotonic() - start < 30  # and not after the 60 s of the model
    asking.join(timeout=20)
    assert found == [(503, '{"error":"xcid app is shutting down"}')]


def test_a_mistake_of_ours_is_said_in_the_terminal(csv):
    wrong = "from xcid.app import Session; Session.explain = lambda *_: 1 / 0;"
    made = Running("--background", csv, "--target", "y", "--train", "logistic", "--quiet", code=wrong + START)
    assert made.ask(f"{made.parts.path}answer", "{}")[0] == 500
    assert made.ask(made.parts.path)[0] == 200
    status, out, err = made.end()
    assert (status, out) == (130, "")
    assert err.count("Traceback") == err.count("ZeroDivisionError") == 1


def test_a_port_of_ones_own(csv):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Running("--background", csv, "--target", "y", "--train", "logistic", "--port", port)
    assert made.parts.port == port
    assert made.end()[0] == 130


def test_a_port_that_is_taken(command, csv):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        status, out, err = command(
            "app", "--background", csv, "--target", "y", "--train", "logistic", "--port", port, "--quiet"
        )
    assert (status, out) == (2, "")
    assert err.startswith(f"xcid: port {port} cannot be used: ")


@pytest.fixture
def started(monkeypatch):
    """What would be served, without a server."""
    found = {}

    def serve(session, *, port, ready):
        found.update(session=session, port=port)
        ready("http://127.0.0.1:1/token/")

    monkeypatch.setattr(room, "serve", serve)
    return found


@pytest.mark.parametrize(("name", "n_features", "n_rows"), [("diabetes", 8, 153), ("heart", 13, 60)])
def test_demos(command, started, name, n_features, n_rows):
    status, out, err = command("app", "--demo", name, "--train", "logistic")
    assert (status, out) == (0, "http://127.0.0.1:1/token/\n")
    assert f"rows, from which you can pick. Table: {name[:4].title()}"[:36] in err
    data = started["session"].describe()
    assert (len(data["features"]), data["n_rows"]) == (n_features, n_rows)
    assert all(feature["meaning"] for feature in data["features"])
    made = {}
    exec(started["session"].recipe, made)  # what copied code begins with
    rows = started["session"].reference
    assert made["reference"].equals(rows)
    assert (made["model"].predict(rows) == started["session"].model.predict(rows)).all()


def test_it_works_without_any_option(command, started):
    assert command("app", "--quiet") == (0, "http://127.0.0.1:1/token/\n", "")
    assert started["port"] == 0
    assert type(started["session"].model).__name__ == "RandomForestClassifier"
    assert started["session"].describe()["title"] == "Who has diabetes"


def test_rows_and_title(command, started):
    assert command("app", "--demo", "heart", "--rows", "3:5", "--title", "Mine", "--quiet")[0] == 0
    data = started["session"].describe()
    assert (data["title"], len(data["rows"])) == ("Mine", 2)


def test_a_long_table_is_cut(command, started, csv, monkeypatch):
    monkeypatch.setattr(app, "MOST_ROWS", 7)
    assert command("app", "--background", csv, "--target", "y", "--train", "logistic", "--quiet")[0] == 0
    data = started["session"].describe()
    assert len(data["rows"]) == 7
    assert "the first 7 of 90 rows can be picked".capitalize() in data["notes"][-1]


def test_a_browser_is_opened_only_where_asked_for_and_its_arguments_tell_nothing(command, monkeypatch):
    """All users of a machine may read the arguments of all processes; the server does not wait for the browser."""
    import stat
    import webbrowser
    from pathlib import Path

    seen, opened, folders = threading.Event(), threading.Event(), []

    def browse(address):
        folders.append(Path(urlsplit(address).path))
        seen.set()
        opened.wait(60)  # as a browser that takes its time to start

    def serve(session, port, ready):
        ready("http://127.0.0.1:1/secret/")
        seen.wait(1)
        for page in folders:
            assert "secret" not in str(page)
            assert "url=http://127.0.0.1:1/secret/" in page.read_text()
            assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
        opened.set()

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setattr(room, "serve", serve)
    command("app", "--quiet")
    assert folders == []
    began = time.monotonic()
    command("app", "--quiet", "--open")
    assert len(folders) == 1
    assert not folders[0].exists()
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    "arguments",
    [
        ("--demo", "titanic"),
        ("--demo", "heart", "--background", "a.csv", "--target", "y"),
        ("--demo", "heart", "--target", "y"),
        ("--target", "y"),
        ("--data", "a.csv"),
        ("--model", "m.skops"),
        ("--background", "a.csv"),
        ("--port", "65536"),
        ("--port", "-1"),
        ("--port", "http"),
    ],
)
def test_wrong_usage(command, arguments):
    status, out, err = command("app", *arguments)
    assert (status, out) == (2, "")
    assert "usage:" not in err
    assert err.endswith("\nxcid app --help lists the options\n")


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_without_the_extra(command, csv, monkeypatch, package):
    for name in [name for name in sys.modules if name.partition(".")[0] == package or name == "xcid.app.server"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    status, out, err = command("app", "--background", csv, "--target", "y", "--train", "logistic", "--quiet")
    assert (status, out) == (1, "")
    assert 'pip install -e ".[app]"' in err


def test_what_is_printed_is_there_at_once(csv):
    """The address comes through a pipe, and a request that follows at once is answered."""
    made = Running("--background", csv, "--target", "y", "--train", "logistic", "--quiet")
    assert os.fspath(made.address).endswith("/")
    assert made.ask(f"{made.parts.path}icon.svg")[0] == 200
    assert made.end(signal.SIGTERM)[1:] == ("", "")
