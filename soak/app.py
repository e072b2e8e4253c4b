"""Attack the page of ``xcid app`` over loopback: connections, bodies, headers, tokens, and several tabs at once.

``python soak/app.py --seconds 60``: a server of a small model runs in a process of its own. After every attack the page
must still answer; nothing but a request of the page itself may get an answer; nothing may be an error of ours (500);
and the server must say nothing. The exit status is 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from verdict import verdict

TABS = 6  # at once; the queue of the page has room for eight requests
LATEST = 2.0  # seconds that a client of this server has
PATIENCE = 8.0  # seconds in which the page must answer, whatever else is going on
SERVER = f"""
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from xcid import app
from xcid.app import server
server.LATEST = {LATEST}
rows = np.random.default_rng(0).normal(size=(60, 2))
model = lambda X: 1 / (1 + np.exp(-X[:, 0]))
try:
    app.serve(app.Session(model, rows, rows[:3]), ready=lambda address: print(address, flush=True))
except KeyboardInterrupt:
    pass
"""
BODY = {"cells": [0.1, 0.2], "own": [0.1, 0.2], "frozen": [], "forbidden": [], "target": 0, "feature": 0}
BODY["question"] = {"kind": "flip"}
CASE = {"row": 0, "asked": BODY}
BODIES = {
    "answer": BODY,
    "rows": {"find": "1", "from": 0},
    "comparison": {"first": CASE, "second": CASE},
    "report": CASE,
}
ODD = [None, True, -1, 0, 1, 2**70, 1e308, 0.5, "", "x", "\u0000", "\ud800", [], {}, [[]], {"kind": "flip"}, "flip"]


class Page:
    """A server, and raw requests to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        parts = urlsplit(self.process.stdout.readline().strip())
        self.port, self.token = parts.port or 0, parts.path.strip("/")
        self.host = f"127.0.0.1:{self.port}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def head(self, path: str, method: str = "GET", headers: tuple[str, ...] = (), host: str | None = None) -> bytes:
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host if host is None else host}", *headers, "", ""]
        return "\r\n".join(lines).encode("latin-1", "replace")

    def post(self, body: bytes, length: int | None = None, name: str = "answer") -> bytes:
        size = f"Content-Length: {len(body) if length is None else length}"
        headers = ("Content-Type: application/json", size, "Connection: close")
        return self.head(f"/{self.token}/{name}", "POST", headers) + body

    def status(self, sent: bytes) -> int:
        """The status of the answer; 0 where the connection ends without one."""
        with contextlib.closing(self.connect()) as one, contextlib.suppress(ConnectionError):
            one.sendall(sent)
            first = one.recv(65_536)
            return int(first.split()[1]) if first.startswith(b"HTTP/1.1 ") else 0
        return 0

    def answer(self, sent: bytes) -> bytes:
        """All that is answered, without its head; nothing where it is not an answer to the request."""
        with contextlib.closing(self.connect()) as one, contextlib.suppress(ConnectionError):
            one.sendall(sent)
            found = b"".join(iter(lambda: one.recv(65_536), b""))
            return found.partition(b"\r\n\r\n")[2] if found.startswith(b"HTTP/1.1 200 ") else b""
        return b""

    def answers(self) -> bool:
        return self.status(self.head(f"/{self.token}/", headers=("Connection: close",))) == 200

    def end(self) -> str:
        """What it said."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.communicate(timeout=20)[1]
        finally:
            self.process.kill()


def crowd(page: Page, draw: random.Random, most: int) -> bool:
    """Many connections that send nothing, half a head or half a body, and stay: the page answers, and they end."""
    half = draw.choice([b"", b"GET /", page.head("/x")[:-2], page.post(b"{", 900_000), page.post(b"", 9)])
    held = []
    try:
        for _ in range(draw.randint(most // 2, most)):
            held.append(page.connect())
            with contextlib.suppress(ConnectionError):
                held[-1].sendall(half)
        if not page.answers() or (page.status(page.post(json.dumps(BODY).encode())) not in (200, 503)):
            return False
        time.sleep(LATEST + 1.5)
        return all(_ended(one) for one in held) and page.status(page.post(json.dumps(BODY).encode())) == 200
    finally:
        for one in held:
            one.close()


def _ended(one: socket.socket) -> bool:
    one.settimeout(1)
    try:
        while one.recv(65_536):  # an answer to what was sent may come first
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def body(page: Page, draw: random.Random, most: int) -> bool:
    """A body with other values, types, fields or bytes: an answer or a complaint."""
    name = draw.choice([*BODIES])
    asked: dict[str, Any] = json.loads(json.dumps(BODIES[name]))
    for _ in range(draw.randint(0, 3)):
        field = draw.choice([*asked, "cells", "new"])
        asked[field] = draw.choice([*ODD, draw.choices(ODD, k=2)])
    text = json.dumps(asked).encode()
    if draw.random() < 0.3:
        at = draw.randrange(len(text))
        text = text[:at] + draw.randbytes(draw.randint(0, 4)) + text[at + draw.randint(0, 3) :]
    if draw.random() < 0.05:
        text = draw.choice([b"[" * 100_000, b" " * (2**20 + 1), b"1" * 100_000])
    return page.status(page.post(text, name=name)) in (200, 400, 413)


def headers(page: Page, draw: random.Random, most: int) -> bool:
    """Other hosts and origins, doubled, long and broken lines: refused."""
    foreign = draw.choice(["evil.test", f"evil.test:{page.port}", "127.0.0.1", "", f"{page.host}.evil.test", "null"])
    line = draw.choice(
        [
            f"Host: {page.host}",
            f"Host: {foreign}",
            f"Origin: http://{foreign}",
            "Origin: null",
            "X: " + "a" * 200_000,
            "no colon",
            "\x00: 1",
            "Content-Length: -1",
            "Content-Length: 1\r\nContent-Length: 2",
            "Transfer-Encoding: odd",
        ]
    )
    return page.status(page.head(f"/{page.token}/", headers=(line, "Connection: close"))) in (0, 400, 403, 431, 501)


def token(page: Page, draw: random.Random, most: int) -> bool:
    """Other paths than those below the token: refused."""
    right = page.token
    at = draw.randrange(len(right))
    wrong = draw.choice(
        [right[:at], right + "x", right.swapcase(), right[:at] + "%" + right[at:], "", ".", "..", "%2e%2e", "\xff"]
    )
    rest = draw.choice(["", "app.js", "description", "answer", f"../{right}/", "%00"])
    return page.status(page.head(f"/{wrong}/{rest}", headers=("Connection: close",))) in (0, 400, 403, 404)


def tabs(page: Page, draw: random.Random, most: int) -> bool:
    """Tabs that ask about other rows, with other pins, all at once: each gets the answer that it gets alone."""
    rows = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(draw.randint(2, TABS))]
    frozen = [draw.choice([[], [0], [1]]) for _ in rows]
    asked = [
        page.post(json.dumps(BODY | {"cells": row, "own": row, "frozen": pins}).encode())
        for row, pins in zip(rows, frozen, strict=True)
    ]
    alone = [page.answer(one) for one in asked]
    with ThreadPoolExecutor(len(asked)) as pool:
        together = list(pool.map(page.answer, asked))
    return together == alone and all(alone) and len(set(alone)) == len(alone)


ATTACKS: dict[str, Callable[[Page, random.Random, int], bool]] = {
    "connections": crowd,
    "bodies": body,
    "headers": headers,
    "tokens": token,
    "tabs": tabs,
}


def _attacks(seconds: float, count: int | None) -> Iterator[str]:
    """Names of attacks, as long as there is time; few of the slow one."""
    end, at = time.monotonic() + seconds, 0
    while at < count if count is not None else time.monotonic() < end:
        yield "connections" if at % 100 == 0 else "tabs" if at % 25 == 0 else ("bodies", "headers", "tokens")[at % 3]
        at += 1


def main(arguments: list[str] | None = None) -> int:
    """Attack for some time or so many times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, help="attacks, in place of seconds")
    parser.add_argument("--crowd", type=int, default=1_500, help="connections at a time")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    page, draw, tried, failed = Page(), random.Random(options.seed), 0, list[str]()
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # of this process: the server keeps its own limit
    try:
        for name in _attacks(options.seconds, options.count):
            held = ATTACKS[name](page, draw, min(options.crowd, hard - 100)) and page.answers()
            tried, failed = tried + 1, failed if held else [*failed, f"attack {tried}: {name}"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        said = page.end()
    failed += [f"the server said: {said.strip().splitlines()[-1]}"] if said else []
    tried += 1  # that it says nothing
    return verdict("app", tried, failed)


if __name__ == "__main__":
    sys.exit(main())
