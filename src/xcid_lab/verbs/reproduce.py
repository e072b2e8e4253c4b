"""``xcid reproduce``: the tables and figures of the paper, made again."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from xcid.cli._terminal import Progress


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument(
        "--from",
        dest="found",
        type=Path,
        metavar="DIR",
        help="folder of an earlier run: write its pages, compute nothing",
    )
    parser.add_argument("--quick", action="store_true", help="few rows and repeats: minutes, not hours")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Reproduce, and print where the result is."""
    from xcid.io.writers import folder

    reproduction = import_module("xcid_lab.reproduction")
    settings = reproduction.Settings.quick() if options.quick else reproduction.Settings.full()
    say = Progress("steps", options.quiet).note
    make = reproduction.reproduce if options.found is None else partial(reproduction.render, options.found)
    result = make(folder(options.out), settings, say)
    sys.stdout.write(f"{result}\n")
