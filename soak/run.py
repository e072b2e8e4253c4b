"""All of the soak in one table: what was tried of each family and held; and the changes of checks that no test noticed.

``make soak``: the scripts of this folder and the hostile tests, as many at a time as there are cores; on two it takes
about forty minutes. Its first line names the commit, its last one the status, which is 1 where anything did not hold.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LAST = re.compile(r"(\w[\w ]*): (\d+) tried, (\d+) held")
MUTANTS = "checks changed"
GUARDED = ("tables", "model-files", "results", "runs", "app")  # rooms whose checks keep the promises
CHANGED = tuple(f"tests/test_{name}.py" for name in ("model_changes", "untold_changes", "mutators"))
IN_PLACE = "explained_as_it_is or came_with_it or no_digest_tells_of"  # tests there that change a model, and its copies


class Check(NamedTuple):
    """A part of a family: a script of this folder with its options.

    Tests that are run as they are count as tests, and not as attacks.
    """

    family: str
    script: str
    options: tuple[str, ...]
    are_tests: bool = False


class Outcome(NamedTuple):
    """How a check ended, and all that it said."""

    check: Check
    name: str
    tried: int
    held: int
    seconds: float
    said: str

    @property
    def is_good(self) -> bool:
        """Whether something was tried and all of it held."""
        return 0 < self.tried == self.held


def read_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """How much of everything is tried."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=120, help="of each family that goes on as long as it may")
    parser.add_argument("--files", type=int, default=5000, help="of models that were tampered with")
    parser.add_argument("--conditions", type=int, default=5000, help="on rows; and columns of text")
    parser.add_argument("--kills", type=int, default=100, help="of processes of a run")
    parser.add_argument("--rows", nargs="+", default=["20000", "100000"], help="of the runs whose memory is measured")
    parser.add_argument("--mutants", type=int, default=12, help="of each room that keeps promises")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn (default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="FAMILY", help="in place of all")
    parser.add_argument("--parallel", type=int, default=os.cpu_count(), help="checks at a time (default: %(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all checks, and print the table."""
    options, began = read_options(arguments), time.monotonic()
    chosen = [check for check in checks(options) if not options.only or check.family in options.only]
    print(about(options.seed), flush=True)
    with ThreadPoolExecutor(options.parallel) as pool:
        outcomes = list(pool.map(run, chosen))
    print("\n| family | attacks | held | tests | passed | seconds | made of |\n|---|---|---|---|---|---|---|")
    for family in dict.fromkeys(one.check.family for one in outcomes):
        print(row(family, [one for one in outcomes if one.check.family == family]))
    for one in outcomes:
        if one.check.family == MUTANTS or not one.is_good:
            print(f"\n{one.name}\n{one.said.rstrip()}")
    status = int(not all(one.is_good for one in outcomes))
    print(f"\nstatus {status}, {time.monotonic() - began:,.0f} s on the clock, {options.parallel} at a time")
    return status


def about(seed: int) -> str:
    """Which sources are attacked, and by what: a page that has the table can say so."""
    try:
        commit, changed = (
            subprocess.run(["git", *typed], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
            for typed in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
        sources = f"commit {commit}, {'with changes that are not committed' if changed else 'nothing changed since'}"
    except (OSError, subprocess.CalledProcessError):
        sources = "sources of no commit"
    return f"{sources}; Python {platform.python_version()}, seed {seed}"


def checks(options: argparse.Namespace) -> list[Check]:
    """What is run; what takes longest begins first."""
    hostile, sheets = "tests/hostile/test_", "tests/cli/test_sheets.py"
    seed = ("--seed", str(options.seed))
    for_long, so_many = ("--seconds", str(options.seconds), *seed), ("--count", str(options.conditions), *seed)
    tests = (
        ("changed models", ("other changes", *CHANGED, "-k", f"not ({IN_PLACE})")),
        ("tables", ("bad tables", f"{hostile}tables.py")),
        ("tables", ("bombs", f"{hostile}bombs.py", f"{hostile}kinds.py", f"{sheets}::test_a_bomb_is_refused")),
        ("model files", ("files of others", f"{hostile}model_files.py", "tests/cli/test_vetted.py")),
        ("app", ("injections", "tests/browser", "-k", "never_run or policy or long_name")),
        ("library inputs", ("model faults", f"{hostile}models.py", "tests/test_faults.py")),
        ("library inputs", ("without C", "tests/test_native_library.py", "tests/test_native_laws.py")),
    )
    return [
        Check("model files", "models.py", ("--count", str(options.files), "--workers", "1", *seed)),
        Check(MUTANTS, "mutants.py", (*GUARDED, "--sample", str(options.mutants), *seed)),
        Check("changed models", "changes.py", ()),
        Check("changed models", "cases.py", ("changes here and in copies", *CHANGED, "-k", IN_PLACE)),
        Check("runs", "kills.py", ("--kills", str(options.kills), *seed)),
        Check("runs", "runs.py", for_long),
        Check("runs", "surroundings.py", for_long),
        Check("tables", "tables.py", ("--count", "1000000000", *for_long)),
        Check("tables", "fuzz.py", for_long[:2]),
        Check("tables", "conditions.py", so_many),
        Check("tables", "columns.py", so_many),
        Check("app", "app.py", for_long),
        Check("library inputs", "inputs.py", for_long),
        Check("library inputs", "libraries.py", for_long),
        Check("runs", "memory.py", ("--rows", *options.rows)),
        *(Check(family, "cases.py", options, are_tests=True) for family, options in tests),
    ]


def run(check: Check) -> Outcome:
    """Run a check; its last line says what was tried, and its exit status whether all held."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, f"soak/{check.script}", *check.options],
        cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", check=False,
    )  # fmt: skip
    seconds = time.monotonic() - began
    found = [LAST.fullmatch(line) for line in done.stdout.splitlines()]
    name, tried, held = found[-1].groups() if found and found[-1] else (check.script, "1", "0")
    lost = done.returncode != 0 and tried == held  # it says one thing and its exit status another
    outcome = Outcome(check, name, int(tried), int(held) - lost, seconds, done.stdout)
    print(f"{name}: {outcome.held:,} of {outcome.tried:,} held, {seconds:.0f} s", file=sys.stderr, flush=True)
    if not outcome.is_good:  # said at once, should the rest not end
        print(done.stdout.rstrip(), file=sys.stderr, flush=True)
    return outcome


def row(family: str, parts: Sequence[Outcome]) -> str:
    """A row of the table by family."""
    numbers = [
        sum(getattr(one, what) for one in parts if one.check.are_tests == are_tests)
        for are_tests in (False, True)
        for what in ("tried", "held")
    ]
    made_of = ", ".join(f"{one.name} {one.tried:,}{' tests' * one.check.are_tests}" for one in parts)
    counts = " | ".join(f"{number:,}" for number in numbers)
    return f"| {family} | {counts} | {sum(one.seconds for one in parts):,.0f} | {made_of} |"


if __name__ == "__main__":
    sys.exit(main())
