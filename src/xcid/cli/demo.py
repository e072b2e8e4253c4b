"""``xcid demo``: a model, one of its decisions, what decides it, and a page to open; no file is needed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from xcid.cli._terminal import keep_streams_apart, show, show_scores, to_sentences

PAGE = Path("xcid-demo.html")
ROWS = 20  # of the page
STORY = """\
A {kind} was trained on {known} patients to predict who has diabetes. On {held} held-out patients it is right in
{right:.0%}. Take one of them: what does the model predict, and why?
"""
END = """
The same for {rows} patients, with the evidence of every feature, is in {page}: open it in a browser.
{picture}
Now with a table of your own, here data.csv with a column outcome:
  xcid explain data.csv --target outcome
  xcid report data.csv --target outcome --out report.html
  xcid app data.csv --target outcome"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--out", type=Path, default=PAGE, metavar="FILE", help=f"the page (default: {PAGE})")
    parser.add_argument("--quiet", action="store_true", help="nothing on stderr")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Tell the story, and write the page and the picture beside it."""
    with keep_streams_apart(options.quiet):
        _tell(options.out)


def _tell(out: Path) -> None:
    from xcid.explainer import Explainer
    from xcid.io import tables, training, writers
    from xcid.show.report import report, summary
    from xcid.show.text import bars

    writers.check(out, extensions=(".html", ".htm"))
    made = training.demo("diabetes", "logistic", seed=0)
    found = Explainer(made.model, made.background)(tables.part(made.data, range(ROWS))).towards("diabetes")
    known, held = tables.size(made.background), len(made.positions)
    show(STORY.format(kind="logistic regression", known=known, held=held, right=made.right))
    show_scores(bars(found))
    show("\nIn words: " + " ".join(summary(found, 0)))
    report(found, out, title=made.title, notes=to_sentences([made.note]))
    show(END.format(rows=ROWS, page=out, picture=_draw_picture(found, out.with_suffix(".png"))))


def _draw_picture(found: Any, path: Path) -> str:
    """Draw the evidence where matplotlib is installed, and say where it is."""
    from xcid.io.writers import replacing

    try:
        from xcid.show import plots

        axes = plots.densities(found, row=0)
    except ImportError:
        return ""
    with replacing(path) as temporary:
        axes[0].figure.savefig(temporary, dpi=120, format="png")
    return f"The evidence for this one patient is drawn in {path}.\n"
