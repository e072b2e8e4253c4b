"""Break one thing at a time in a copy of the package, and see whether the tests notice.

``python soak/sabotage.py``: prints a table; the exit status is 1 where a sabotage survives, where the text that it
changes is no longer there, or where the copy fails without any. The working tree is only read.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PROMISES = "tests/hostile/test_promises.py::"
FORMULAS = "tests/hostile/test_formulas.py::test_formulas_get_a_mark"


class Sabotage(NamedTuple):
    """What is broken: in a file, one text becomes another; and the tests that should see it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


SABOTAGES = (
    Sabotage(
        "min and max of d1 swapped",
        "distances/overlap.py",
        "xp.minimum(p, q)",
        "xp.maximum(p, q)",
        (PROMISES + "test_distances_of_what_is_equal_and_of_what_shares_nothing",),
    ),
    Sabotage(
        "seed ignored",
        "_kernels/random.py",
        "[seed % 2**64, replicate]",
        "[0, replicate]",
        (PROMISES + "test_another_seed_is_another_answer_and_the_same_seed_the_same",),
    ),
    Sabotage(
        "one evaluation more than asked for",
        "generators/search.py",
        "left = self.budget - self.n_evaluations[rows]",
        "left = self.budget - self.n_evaluations[rows] + 1",
        (PROMISES + "test_a_budget_is_never_exceeded_by_a_single_row",),
    ),
    Sabotage(
        "report without escapes",
        "report/page.py",
        "return text.translate(_ESCAPES)",
        "return text",
        (PROMISES + "test_names_do_not_become_elements_of_a_report",),
    ),
    Sabotage(
        "formulas in CSV",
        "files/formats.py",
        "return text.lstrip(MARK).startswith(STARTS) and",
        "return False and",
        (FORMULAS,),
    ),
    Sabotage(
        "limits half as wide",
        "scores/adjusted.py",
        "special.stdtrit(freedom, (1 + CONFIDENCE) / 2)[:, None] * error",
        "special.stdtrit(freedom, (1 + CONFIDENCE) / 2)[:, None] * error / 2",
        (PROMISES + "test_limits_exclude_0_just_where_a_score_is_significant",),
    ),
    Sabotage(
        "sign flipped",
        "scores/adjusted.py",
        "log_odds = -times(fit.coefficients",
        "log_odds = times(fit.coefficients",
        (PROMISES + "test_the_feature_that_holds_the_answer_in_place_has_a_score_above_0",),
    ),
)


def main(arguments: list[str] | None = None) -> int:
    """Try all sabotages, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=[one.name for one in SABOTAGES], metavar="NAME")
    options = parser.parse_args(arguments)
    chosen = [one for one in SABOTAGES if not options.only or one.name in options.only]
    with tempfile.TemporaryDirectory() as folder:
        copy = copied(Path(folder))
        ok = _line("(nothing)", "green", *run(copy, tuple(dict.fromkeys(test for one in chosen for test in one.tests))))
        noticed = [_tried(copy, one) for one in chosen]
        return 0 if ok and all(noticed) else 1


def copied(folder: Path) -> Path:
    """Copy what the tests need."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def _tried(copy: Path, one: Sabotage) -> bool:
    path = copy / "src" / "xcid" / one.file
    whole = path.read_text(encoding="utf-8")
    if whole.count(one.old) != 1:
        print(f"{one.name:38} STALE   the text to change is there {whole.count(one.old)} times")
        return False
    path.write_text(whole.replace(one.old, one.new), encoding="utf-8")
    try:
        return _line(one.name, "red", *run(copy, one.tests))
    finally:
        path.write_text(whole, encoding="utf-8")


def run(copy: Path, tests: tuple[str, ...]) -> tuple[str, float, str]:
    """Run tests on the copy: green or red, seconds, and the first test that failed."""
    began = time.monotonic()
    settings = {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    options = ["-q", "-x", "--no-header", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=copy, env={**os.environ, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    colour = {0: "green", 1: "red"}.get(done.returncode, f"broken ({done.returncode})")
    return colour, time.monotonic() - began, failed[0].partition(" - ")[0] if failed else ""


def _line(name: str, due: str, colour: str, seconds: float, failed: str) -> bool:
    said = colour if colour == due else f"{colour.upper()} ({due} is due)"
    print(f"{name:38} {said:7} {seconds:5.1f} s  {failed}")
    return colour == due


if __name__ == "__main__":
    sys.exit(main())
