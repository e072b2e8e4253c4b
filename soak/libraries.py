"""Spoilt native libraries, and threads that meet at first use: ``python soak/libraries.py --seconds 30``.

Each try spoils the library that a user has built, or the folder that it is in, or the one that a wheel has shipped:
bytes that are changed, cut or added, other files, links, pipes and folders under its name, any mode. Then a process in
which no library is loaded explains rows in some threads at once. It holds where that process ends as it should, all
threads have the values that NumPy gives, and the library is there again, unless the folder is none that is used. A
shipped one that was spoilt is not loaded.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from verdict import verdict

import xcid
from xcid.native import library

X = np.random.default_rng(0).normal(size=(60, 4))
MODEL = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X[:, 0] > X[:, 1])
PATIENCE = 120  # seconds
MODES = (0o400, 0o600, 0o644, 0o666, 0o777, 0o000, 0o620, 0o602)
TARGETS = ("built", "shipped")
FOLDERS = (0o700, 0o755, 0o777, 0o720, 0o702)


def change_bytes(path: Path, draw: random.Random) -> None:
    """Any bytes in any place."""
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 20, 400))):
        content[draw.randrange(len(content))] = draw.randrange(256)
    path.write_bytes(content)


def cut(path: Path, draw: random.Random) -> None:
    """Only the beginning."""
    os.truncate(path, draw.choice((0, 1, 64, draw.randrange(path.stat().st_size))))


def lengthen(path: Path, draw: random.Random) -> None:
    """More than there was, up to a file of a gigabyte that is empty."""
    os.truncate(path, path.stat().st_size + draw.choice((1, 4096, 2**30)))


def replace(path: Path, draw: random.Random) -> None:
    """Something else under its name."""
    path.unlink()
    how = draw.choice(("text", "pipe", "folder", "link", "circle", "itself by a link"))
    if how == "text":
        path.write_text("int bits(void) { return 0; }")
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": "/bin/true", "circle": path.name}.get(how, os.fspath(library.__file__)))


def rename(path: Path, draw: random.Random) -> None:
    """The same bytes with another digest in the name, or other bytes under a second name."""
    name = path.name
    path.rename(path.with_name(name[:-8] + "".join(draw.choices("0123456789abcdef", k=5)) + name[-3:]))


def chmod(path: Path, draw: random.Random) -> None:
    """Any mode of the file, and of its folder."""
    path.chmod(draw.choice(MODES))
    path.parent.chmod(draw.choice(FOLDERS))


def remove(path: Path, draw: random.Random) -> None:
    """Nothing, as at first use."""
    path.unlink()


SPOILS: tuple[Callable[[Path, random.Random], None], ...] = (
    change_bytes, cut, lengthen, replace, rename, chmod, remove,
)  # fmt: skip


def explained() -> np.ndarray:
    """What a thread comes to."""
    library.loaded()
    return xcid.Explainer(MODEL, X)(X[:3]).values


def attempt(draw: random.Random, intact: bytes, name: str, due: np.ndarray) -> str:
    """What is wrong after one spoil."""
    spoil, n_threads, target = draw.choice(SPOILS), draw.choice((1, 2, 6)), draw.choice(TARGETS)
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "xcid"
        home.mkdir(mode=0o700)
        paths = {"built": home / name, "shipped": Path(place) / "site" / f"compiled-{name.rpartition('-')[2]}"}
        paths["shipped"].parent.mkdir(mode=0o755)
        for path in paths.values() if target == "shipped" else [paths["built"]]:
            path.write_bytes(intact)
            path.chmod(0o700)
        spoil(paths[target], draw)
        is_used = target == "shipped" or not stat.S_IMODE(home.stat().st_mode) & 0o022
        child = os.fork()
        if not child:
            os._exit(_child(place, n_threads, due, is_used, intact))
        status = _waited(child)
    found = FAULTS.get(status, f"status {status}")
    return "" if status == 0 else f"{target}, {spoil.__name__}, {n_threads} threads: {found}"


FAULTS = {
    1: "other values", 2: "the library is lost", 3: "a folder that others can write to is used",
    4: "a shipped library that was spoilt is loaded", None: "hangs",
}  # fmt: skip


def _child(place: str, n_threads: int, due: np.ndarray, is_used: bool, intact: bytes) -> int:
    """Explain in some threads of a process that has no library yet."""
    os.environ["XDG_CACHE_HOME"] = place
    library.SHIPPED = Path(place) / "site"
    faulthandler.disable()  # how it ends is told by its status
    library.forget()
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(lambda _: explained(), range(n_threads)))
    if not all(np.allclose(one, due, rtol=0, atol=1e-9) for one in found):
        return 1
    loaded = library.whole()
    if (loaded is not None) != is_used:
        return 2 if is_used else 3
    path = None if loaded is None else Path(loaded._name)  # noqa: SLF001
    if path is None or path.parent != library.SHIPPED:
        return 0
    return 0 if path.read_bytes() == intact and not path.stat().st_mode & 0o022 else 4


def _waited(child: int) -> int | None:
    """How a process ends; None where it does not."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Spoil for some time, or so many times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--count", type=int, help="tries, in place of seconds")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    before = {name: os.environ.get(name) for name in ("XDG_CACHE_HOME", library.SWITCH)}
    tried, faults, end = 0, list[str](), time.monotonic() + options.seconds
    try:
        with tempfile.TemporaryDirectory() as place:
            os.environ |= {"XDG_CACHE_HOME": place, library.SWITCH: "numpy"}
            library.forget()
            due = explained()
            os.environ.pop(library.SWITCH)
            built = library.build()
            intact = built.read_bytes()
            while tried < options.count if options.count is not None else time.monotonic() < end:
                fault = attempt(random.Random(f"{options.seed} {tried}"), intact, built.name, due)
                faults += [fault] if fault else []
                tried += 1
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        library.forget()
    return verdict("libraries", tried, faults)


if __name__ == "__main__":
    sys.exit(main())
