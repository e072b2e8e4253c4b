"""Take the guards of ``guards.py`` away, one at a time in a copy of the package, and see whether the tests notice.

``python soak/sabotage.py``: prints each promise of SECURITY.md, what breaks it and the test that goes red. The exit
status is 1 where a test stays green, where the text of a guard is no longer there, or where the copy fails without any
sabotage. The working tree is only read.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from guards import GUARDS, Guard
from verdict import verdict

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 300  # seconds for the tests of one sabotage
GREEN, RED, HANGS = "green", "red", "hangs"


class Seen(NamedTuple):
    """What became of some tests: a colour, seconds, and the first test that failed."""

    colour: str
    seconds: float
    failed: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Take all guards away, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[one.name for one in listed()], metavar="NAME")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    chosen = [one for one in listed() if not options.only or one.name in options.only]
    tests = list(dict.fromkeys(one.test for one in chosen))
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for number in range(options.workers):
            copies.put(copied(Path(folder) / str(number)))
        untouched = pool.submit(_lent, copies, None, tests)
        seen = zip(chosen, pool.map(lambda one: _lent(copies, one, [one.test]), chosen), strict=True)
        faults = [*_lines(seen), *_line("(nothing)", GREEN, untouched.result())]
    return verdict("guards", 1 + len(chosen), faults)


def listed() -> list[Guard]:
    """All guards."""
    return [one for guards in GUARDS.values() for one in guards]


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests", "soak"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _lent(copies: queue.Queue[Path], one: Guard | None, tests: Sequence[str]) -> Seen:
    """Run tests on a copy that nobody else has meanwhile."""
    copy = copies.get()
    try:
        with contextlib.nullcontext() if one is None else _without(copy, one):
            return run(copy, tests)
    except LookupError as error:
        return Seen(str(error), 0.0, "")
    finally:
        copies.put(copy)


@contextlib.contextmanager
def _without(copy: Path, one: Guard) -> Iterator[None]:
    path = copy / "src" / "xcid" / one.file
    whole = path.read_text(encoding="utf-8")
    if whole.count(one.old) != 1:
        raise LookupError(f"stale: its text is there {whole.count(one.old)} times")
    path.write_text(whole.replace(one.old, one.new), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(whole, encoding="utf-8")


def run(copy: Path, tests: Sequence[str]) -> Seen:
    """Run tests on a copy up to the first that fails, and end whatever they left running."""
    began = time.monotonic()
    settings = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    options = ["-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests], cwd=copy, env={**os.environ, **settings},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        said, _ = process.communicate(timeout=PATIENCE)
        colour = {0: GREEN, 1: RED}.get(process.returncode, f"broken ({process.returncode})")
    except subprocess.TimeoutExpired:
        said, colour = "", HANGS
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Seen(colour, time.monotonic() - began, failed[0].partition(" - ")[0].partition(" ")[2] if failed else "")


def _lines(seen: Iterable[tuple[Guard, Seen]]) -> Iterator[str]:
    """Print promises and their guards; give the names of those that nobody misses."""
    promises = {one: promise for promise, guards in GUARDS.items() for one in guards}
    last = ""
    for one, what in seen:
        if promises[one] != last:
            last = promises[one]
            print(last)
        yield from _line(f"    {one.name}", RED, what)


def _line(name: str, due: str, seen: Seen) -> list[str]:
    """Print what was seen; the name, where that is not what is due."""
    said = seen.colour if seen.colour == due else f"{seen.colour.upper()} ({due} is due)"
    print(f"{name:46} {said:6} {seen.seconds:5.1f} s  {seen.failed}", flush=True)
    return [] if seen.colour == due else [f"{name.strip()}: {said}"]


if __name__ == "__main__":
    sys.exit(main())
