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
RUNS = "tests/hostile/test_runs.py::"
KINDS = "tests/hostile/test_kinds.py::"
ATTACKS = "tests/hostile/test_attacks.py::"
MODEL_FILES = "tests/hostile/test_model_files.py::"
PARTS = "tests/cli/test_vetted.py::test_parts_that_do_not_fit_together"
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
    Sabotage(
        "workers that take any model file",
        "runs/worker.py",
        "with unchanged(task.inputs):",
        "with unchanged(()):",
        (RUNS + "TestSeals::test_a_worker_refuses_a_file_that_was_replaced",),
    ),
    Sabotage(
        "rows of a table that changed",
        "runs/run.py",
        "with unchanged([data]):",
        "with unchanged(()):",
        ("tests/runs/test_results.py::TestGoingOn::test_a_table_that_changes_meanwhile",),
    ),
    Sabotage(
        "chunks of another run",
        "runs/fragments.py",
        'if (head.pop("run"), head["number"]) != (run, number):',
        'if (head.pop("run") and run, head["number"]) != (run, number):',
        (RUNS + "TestSeals::test_no_chunk_of_another_run",),
    ),
    Sabotage(
        "chunks by links",
        "runs/fragments.py",
        "if not stat.S_ISREG(path.lstat().st_mode):",
        "if False:",
        (RUNS + "TestSeals::test_no_chunk_by_a_link",),
    ),
    Sabotage(
        "results through links",
        "files/writers.py",
        "temporary.unlink(missing_ok=True)\n        temporary.touch(exist_ok=False)",
        "temporary.touch()",
        (RUNS + "TestSeals::test_no_link_is_followed_to_write",),
    ),
    Sabotage(
        "failing rows that nobody hears of",
        "cli/_subjects.py",
        "    if found:\n        n_rows",
        "    if False:\n        n_rows",
        (RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road",),
    ),
    Sabotage(
        "a failing row that ends the run",
        "_faults.py",
        "for piece in reference() if",
        "for piece in [] if",
        ("tests/test_faults.py::test_a_row_that_fails_alone_is_a_status_like_one_that_fails_among_others",),
    ),
    Sabotage(
        "models that print into the result",
        "cli/_terminal.py",
        "os.dup2(2, 1)\n",
        "pass\n",
        (RUNS + "TestModels::test_one_that_prints_does_not_break_json_nor_quiet",),
    ),
    Sabotage(
        "models that hang for ever",
        "runs/workers.py",
        "or one.deadline < now]",
        "]",
        (RUNS + "TestModels::test_one_that_hangs_is_ended",),
    ),
    Sabotage(
        "a result that a model moves",
        "cli/__init__.py",
        "setattr(options, name, value.absolute())",
        "pass",
        (RUNS + "TestModels::test_a_failing_row_is_a_status_on_every_road",),
    ),
    Sabotage(
        "a full stdout",
        "cli/__init__.py",
        "except OSError as error:\n        drop",
        "except ZeroDivisionError as error:\n        drop",
        (RUNS + "TestStreams::test_no_way_out",),
    ),
    Sabotage(
        "any kind of column",
        "files/arrow.py",
        "if not _is(_value(inner(field.type)), *KNOWN):",
        "if False:",
        (KINDS + "test_kinds_that_unpack_to_anything[coded-lists.feather]",),
    ),
    Sabotage(
        "cells that take no room",
        "files/unpacked/extent.py",
        "CELL = 8 ",
        "CELL = 0 ",
        (KINDS + "test_rows_that_a_column_of_parquet_says_it_has",),
    ),
    Sabotage(
        "codes of long text not counted",
        "files/arrow.py",
        "return int(lengths[codes].sum())",
        "return 0",
        (KINDS + "test_kinds_that_unpack_to_anything[coded-text.parquet]",),
    ),
    Sabotage(
        "devices taken for files",
        "files/unpacked/__init__.py",
        "if not path.is_file() or not path.stat().st_size:",
        "if False:",
        (KINDS + "test_devices_and_pipes",),
    ),
    Sabotage(
        "a new name in each line",
        "files/objects.py",
        "CELL = 16 ",
        "CELL = 0 ",
        (KINDS + "test_a_new_name_in_each_line",),
    ),
    Sabotage(
        "text that is not UTF-8",
        "files/arrow.py",
        "column.validate(full=True)",
        "pass",
        (KINDS + "test_text_that_is_not_utf_8",),
    ),
    Sabotage(
        "Parquet from an open file",
        "files/arrow.py",
        "file = open_file(path)",
        'file = open_file(path.open("rb"))',
        (KINDS + "test_parquet_is_opened_by_its_name",),
    ),
    Sabotage(
        "slow clients of the app stay",
        "app/server.py",
        "            else:\n                self.drop()",
        "",
        (ATTACKS + "test_the_page_survives_its_clients",),
    ),
    Sabotage(
        "any number of connections to the app",
        "app/server.py",
        "if len(self.connections) >= MOST_OPEN else []",
        "if False else []",
        ("tests/app/test_app.py::TestConnections",),
    ),
    Sabotage(
        "requests count when they are read",
        "app/server.py",
        "        self.waiting += 1\n",
        "        await request.body()\n        self.waiting += 1\n",
        ("tests/app/test_app.py::TestServer::test_what_is_still_being_sent_is_in_the_queue",),
    ),
    Sabotage(
        "token among a browser's arguments",
        "cli/app.py",
        "args=(page.as_uri(),)",
        "args=(address,)",
        ("tests/cli/test_app.py::test_a_browser_is_opened_only_where_asked_for_and_its_arguments_tell_nothing",),
    ),
    Sabotage(
        "a matrix times its own view",
        "_kernels/arrays.py",
        "across.copy() if rows.shape[-2] > MOST_AT_ONCE else across",
        "across",
        ("tests/test_wide.py::TestProductsOfAMatrixWithItself",),
    ),
    Sabotage(
        "foreign errors as they are",
        "errors.py",
        "    except (XcidError, MemoryError):",
        "    except Exception:",
        (ATTACKS + "test_objects_that_misbehave_get_an_error_of_ours",),
    ),
    Sabotage(
        "times with and without a zone",
        "space/features.py",
        "if column.unit and is_zoned != column.zoned",
        "if False",
        ("tests/test_foreign.py::TestTimeZones",),
    ),
    Sabotage(
        "text counted column by column",
        "files/arrow.py",
        "n_letters += sum(",
        "n_letters = sum(",
        ("tests/hostile/test_kinds.py::test_kinds_that_unpack_to_anything",),
    ),
    Sabotage(
        "a piece without flips ends all",
        "cli/_subjects.py",
        "explainer = explainer.but(one_sided=one_side.append)",
        "pass",
        ("tests/cli/test_pieces_without_flips.py",),
    ),
    Sabotage(
        "zones of files are lost",
        "files/cells.py",
        "(name in source.zoned) != rule.zoned",
        "False",
        ("tests/cli/test_time_zones.py",),
    ),
    Sabotage(
        "masked answers count",
        "models/predictor.py",
        "    if n_masked:",
        "    if False:",
        ("tests/test_foreign.py::test_masked_answers_are_none",),
    ),
    Sabotage(
        "model files not tried",
        "files/trial.py",
        "    _check(path, trusted, rows)\n    yield",
        "    yield",
        (MODEL_FILES + "TestTrial::test_harm_is_one_line",),
    ),
    Sabotage(
        "model files replaced after the trial",
        "files/trial.py",
        "if _signature(path) != before:",
        "if False:",
        (MODEL_FILES + "TestTrial::test_a_file_that_changes_meanwhile_is_refused",),
    ),
    Sabotage(
        "vetted types by any node",
        "files/models.py",
        "and maker not in makers(name)",
        "and False",
        (MODEL_FILES + "TestFilesOfOthers",),
    ),
    Sabotage(
        "trust offered for any function",
        "files/models.py",
        'if name.partition(".")[0] in LOUD',
        "if False",
        (MODEL_FILES + "TestFilesOfOthers::test_no_function_that_runs_code_is_offered",),
    ),
    Sabotage(
        "parts of estimators not looked at",
        "files/trees.py",
        "        fitted.check(part)\n",
        "",
        (PARTS,),
    ),
    Sabotage(
        "bounds of neighbours not looked at",
        "files/trees.py",
        "bounds.shape != (sides, n_nodes, data.shape[1])",
        "bounds.shape[1:] != (n_nodes, data.shape[1])",
        (PARTS,),
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
    for name in ("src", "tests", "soak"):
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
