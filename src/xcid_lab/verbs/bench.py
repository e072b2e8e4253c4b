"""``xcid bench``: speed beside other methods, on this machine."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from xcid.cli._terminal import Progress
from xcid.errors import InvalidParameter


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="two models and few rows: half a minute")
    extent.add_argument("--full", action="store_true", help="wide tables, large m, a million rows: an hour")
    parser.add_argument(
        "--out", type=Path, default=Path("out/bench.json"), metavar="FILE", help="record of the run (out/bench.json)"
    )
    parser.add_argument("--against", type=Path, metavar="FILE", help="record of an earlier run, to see what got slower")
    parser.add_argument("--page", type=Path, metavar="FILE", help="the result as a page in Markdown")
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="growth.png: how time and memory grow")
    parser.add_argument("--only", metavar="STEP", default="", help="one step, by the beginning of its name: trees")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Measure with one thread, print the tables, and keep the record."""
    timing = import_module("xcid_lab.bench.timing")
    if not timing.is_limited():
        _restart({**os.environ, **timing.ONE_THREAD}, options)
        return
    bench, record = (import_module(f"xcid_lab.bench{name}") for name in ("", ".record"))
    before = record.load(options.against) if options.against else None  # before the long part, not after it
    extent = bench.EXTENTS["quick" if options.quick else "full" if options.full else "default"]
    steps = {name: step for name, step in bench.STEPS.items() if name.startswith(options.only)}
    if not steps:
        raise InvalidParameter(f"no step begins with {options.only!r}: the steps are {', '.join(bench.STEPS)}")
    now = bench.measure(extent, Progress("steps", options.quiet).note, steps)
    record.save(now, options.out)
    if options.images:
        (options.images / "growth.png").write_bytes(import_module("xcid_lab.bench.pictures").draw_growth(now.tables))
    if options.page:
        import_module("xcid_lab.output").write(options.page, record.page(now))
    sys.stdout.write(record.printed(now, (record.slower(before, now),) if before else ()))


def _restart(environment: dict[str, str], options: argparse.Namespace) -> None:
    """Start anew: libraries of linear algebra read how many threads they may use when they are loaded."""
    paths = {f"--{name}": getattr(options, name) for name in ("out", "against", "page", "images")}
    flags = [f"--{name}" for name in ("quick", "full", "quiet") if getattr(options, name)]
    given = [os.fspath(part) for name, path in paths.items() if path for part in (name, path)]
    given += ["--only", options.only] if options.only else []
    status = subprocess.call([sys.executable, "-m", "xcid", "bench", *flags, *given], env=environment)
    if status:
        raise SystemExit(status)
