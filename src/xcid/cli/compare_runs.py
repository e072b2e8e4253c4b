"""``xcid compare-runs``: what changed between two saved explanations: two months, groups, models or rows."""

from __future__ import annotations

import argparse
from pathlib import Path

from xcid.cli._terminal import TABLES_OUT, show


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    for name in ("first", "second"):
        parser.add_argument(
            name,
            type=Path,
            metavar=name.upper(),
            help="a saved explanation, by explain --out FILE.xcid or from Python",
        )
    parser.add_argument(
        "--towards", metavar="NAME", help="the class that signs are about; needed where there are more than two"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"one line per feature: {TABLES_OUT}")
    parser.add_argument("--report", type=Path, metavar="FILE", help="sentences, a picture and a table as one HTML file")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compare, print the differences, and keep them where wanted."""
    from xcid.explanation import load
    from xcid.io import writers

    if options.out is not None:
        writers.check(options.out, options.first, options.second)
    if options.report is not None:
        writers.check(options.report, options.first, options.second, extensions=(".html", ".htm"))
    first, second = load(options.first), load(options.second)
    found = first.compare(second, _name_files(options.first, options.second), towards=options.towards)
    if options.out is not None:
        writers.write(options.out, [found.to_columns()])
    if options.report is not None:
        found.report(options.report)
    show(str(found))


def _name_files(first: Path, second: Path) -> tuple[str, str]:
    """The files without their extensions, with their folders or extensions where only these tell them apart."""
    paths = first, second
    ways = ([path.stem for path in paths], [f"{path.parent.name}/{path.name}" for path in paths])
    return next(((one, other) for one, other in ways if one != other), ("the first", "the second"))
