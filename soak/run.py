"""The long checks together, as one table: ``make soak``.

Bad inputs, model faults and injections are those of ``tests/hostile`` and ``tests/browser``; kills, memory, fuzzing and
sabotage are the scripts of this folder. The exit status is 1 where anything is not as it should be.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PASSED = re.compile(r"(\d+) passed")


class Check(NamedTuple):
    """What is run, and how its output becomes a figure."""

    name: str
    command: list[str]
    read: Callable[[str], str]


def main() -> int:
    """Run all checks, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=8, help="of kills")
    parser.add_argument("--seconds", type=int, default=120, help="of fuzzing, and of attacks on runs")
    parser.add_argument("--files", type=int, default=5000, help="of models that were tampered with")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000], help="of the memory check")
    options = parser.parse_args()
    failed = 0
    print(f"{'check':34} {'figure':64} {'seconds':>7}")
    for check in _checks(options):
        start = time.monotonic()
        done = subprocess.run([sys.executable, *check.command], cwd=ROOT, capture_output=True, text=True)
        failed += done.returncode != 0
        figure = check.read(done.stdout) if done.returncode == 0 else f"FAILED: {_last(done.stdout + done.stderr)}"
        print(f"{check.name:34} {figure:64} {time.monotonic() - start:7.0f}", flush=True)
    return int(failed > 0)


def _checks(options: argparse.Namespace) -> list[Check]:
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return [
        Check("bad tables", [*pytest, "tests/hostile/test_tables.py"], _passed),
        Check("tables of every kind", ["soak/tables.py", "--seconds", str(options.seconds)], _last),
        Check("bombs", [*pytest, "tests/hostile/test_bombs.py"], _passed),
        Check("model files", ["soak/models.py", "--count", str(options.files)], _last),
        Check("model faults", [*pytest, "tests/hostile/test_models.py", "tests/test_faults.py"], _passed),
        Check(
            "injections, in a browser", [*pytest, "tests/browser", "-k", "never_run or policy or long_name"], _passed
        ),
        Check("app", ["soak/app.py", "--seconds", str(options.seconds)], _last),
        Check("library inputs", ["soak/inputs.py", "--seconds", str(options.seconds)], _last),
        Check("sabotage", ["soak/sabotage.py"], _red),
        Check("kills", ["soak/kills.py", "--rounds", str(options.rounds)], _last),
        Check("runs", ["soak/runs.py", "--seconds", str(options.seconds)], _last),
        Check("fuzzing", ["soak/fuzz.py", "--seconds", str(options.seconds)], _executions),
        Check("peak memory", ["soak/memory.py", "--rows", *map(str, options.rows)], _peaks),
    ]


def _passed(text: str) -> str:
    found = PASSED.findall(text)
    return f"{found[-1]} cases, as promised" if found else "no test ran"


def _red(text: str) -> str:
    return f"{len(re.findall(r' red +[0-9.]+ s', text))} planted faults, all seen"


def _executions(text: str) -> str:
    counts = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) executions", text)]
    return f"{sum(counts):,} executions of {len(counts)} targets, nothing found"


def _peaks(text: str) -> str:
    return "; ".join(line.strip() for line in text.splitlines() if "rows" in line)[:64]


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:64] if lines else "nothing was said"


if __name__ == "__main__":
    sys.exit(main())
