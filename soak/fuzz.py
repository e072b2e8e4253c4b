"""Try the promises of ``tests/hostile/targets.py`` with as many inputs as time allows.

``python soak/fuzz.py --seconds 60``: each target gets its share of the time in a process of its own. Where atheris is
installed it is guided by what code an input reaches; else the inputs are random, and changes of those that were tried.
The exit status is 1 where a promise is broken; the input is then left in the folder that is named.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from verdict import verdict

HOSTILE = Path(__file__).resolve().parents[1] / "tests" / "hostile"
LONGEST = 4096  # bytes of an input
_COUNT = re.compile(r"(?:stat::number_of_executed_units:|executions) *(\d+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every target, or the one that is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together (default: 60)")
    parser.add_argument("--target", help="only this one")
    parser.add_argument("--engine", choices=("atheris", "random"), default=_best())
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "xcid-fuzz", metavar="DIR")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args(arguments)
    sys.path.insert(0, str(HOSTILE))
    if options.worker:
        return _guided(options.worker, rest)
    from targets import TARGETS

    names = [options.target] if options.target else list(TARGETS)
    options.out.mkdir(parents=True, exist_ok=True)
    share = options.seconds / len(names)
    print(f"{len(names)} targets, {share:.0f} s each, by {options.engine}; failing inputs go to {options.out}")
    tried = _by_atheris if options.engine == "atheris" else _by_chance
    results = [tried(name, share, options.out) for name in names]
    for name, (count, failure) in zip(names, results, strict=True):
        print(f"{name:26} {count:>10,} executions  {failure or 'nothing found'}")
    failures = [f"{name}: {failure}" for name, (_, failure) in zip(names, results, strict=True) if failure]
    return verdict("bytes", sum(count for count, _ in results) + len(failures), failures)


def _best() -> str:
    return "atheris" if importlib.util.find_spec("atheris") is not None else "random"


def _by_atheris(name: str, seconds: float, out: Path) -> tuple[int, str]:
    """Run libFuzzer in a process of its own: it ends the process at the first failure."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(_seeds(name)):
            (Path(corpus) / str(number)).write_bytes(seed)
        command = [sys.executable, __file__, "--worker", name, f"-max_total_time={max(1, round(seconds))}"]
        command += [
            f"-max_len={LONGEST}",
            "-print_final_stats=1",
            f"-artifact_prefix={out}/{name}-",
            "-rss_limit_mb=4096",
        ]
        done = subprocess.run([*command, corpus], capture_output=True, text=True, errors="replace", check=False)
    counts = [int(found) for found in _COUNT.findall(done.stderr)]
    failure = "" if done.returncode == 0 else _last_words(done.stderr)
    return max(counts, default=0), failure


def _last_words(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if "Error" in line or "Warning" in line or "SUMMARY" in line]
    return f"FAILED: {lines[0][:200] if lines else 'ended without a word'}"


def _guided(name: str, arguments: list[str]) -> int:
    import atheris

    with atheris.instrument_imports(include=["xcid"]):
        from targets import TARGETS
    atheris.Setup([name, *arguments], TARGETS[name])
    atheris.Fuzz()
    return 0


def _by_chance(name: str, seconds: float, out: Path) -> tuple[int, str]:
    """Random inputs, and random changes of earlier ones."""
    from targets import TARGETS

    source, pool, count = random.Random(0), _seeds(name) or [b"\x00" * 16], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = (
            source.randbytes(source.randrange(200)) if source.random() < 0.3 else _changed(source, source.choice(pool))
        )
        try:
            TARGETS[name](data)
        except Exception as error:
            (out / f"{name}-{count}").write_bytes(data)
            return count, f"FAILED: {type(error).__name__}: {str(error)[:200]}"
        if len(pool) < 1_000:
            pool.append(data)
        count += 1
    return count, ""


def _changed(source: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(source.randrange(1, 6)):
        at = source.randrange(len(changed) + 1)
        if source.random() < 0.5 and changed:
            changed[at % len(changed)] = source.randrange(256)
        else:
            changed[at:at] = source.randbytes(source.randrange(9))
    return bytes(changed[:LONGEST])


def _seeds(name: str) -> list[bytes]:
    from targets import SUFFIXES, good_tables, saved_explanations

    if name == "read_table":
        return [bytes([at]) + good_tables()[suffix] for at, suffix in enumerate(SUFFIXES)]
    return list(saved_explanations()) if name == "load_explanation" else []


if __name__ == "__main__":
    sys.exit(main())
