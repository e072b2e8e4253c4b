"""What differs between two explanations as one HTML file: sentences, a picture and a table; it runs nothing."""

from __future__ import annotations

import base64
import html
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from xcid._require import require
from xcid.io.writers import replacing
from xcid.show import notebook, plots
from xcid.show.wording import differences
from xcid.show.wording.names import clean

if TYPE_CHECKING:
    from xcid.comparison import Comparison

MOST_SENTENCES = 5
MOST = 20  # features in the picture
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
.wide {{
  overflow-x: auto;
  background:
    linear-gradient(to left, #fff 1rem, #fff0 3rem) right / 3rem 100% no-repeat local,
    linear-gradient(to left, #0003, #0000) right / 1rem 100% no-repeat scroll;
}}
.wide img {{ max-width: 100%; min-width: 640px; mix-blend-mode: multiply; }}
</style>
</head>
<body style="font-family:system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#333">
<h1>{title}</h1>
<ul>{told}</ul>
<div class="wide">
<img alt="Differences with {limits}, by feature" src="data:image/png;base64,{picture}">
</div>
<div class="wide">{table}</div>
</body>
</html>
"""


def report(found: Comparison, path: str | os.PathLike[str], *, title: str | None = None) -> None:
    """Write the page of a comparison; the file appears when it is complete."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(page(found, title), encoding="utf-8")


def page(found: Comparison, title: str | None = None) -> str:
    """The page as text."""
    told = [f"{each.removesuffix('.')}." for each in differences.word_strongest(found, MOST_SENTENCES)]
    return PAGE.format(
        policy=POLICY,
        title=html.escape(clean(title or differences.title_comparison(found))),
        told="".join(f"<li>{html.escape(each)}</li>" for each in told),
        picture=_picture(found),
        limits=differences.name_limits(found),
        table=notebook.comparison(found, "" if title is None else None),
    )


def _picture(found: Comparison) -> str:
    """The plot in letters."""
    figures = require("matplotlib.figure", extra="plot")
    figure, held = figures.Figure(figsize=(8, 1.6 + 0.35 * min(len(found), MOST)), layout="constrained"), io.BytesIO()
    plots.comparison(found, ax=figure.subplots(), most=MOST).set_title("")  # the page has it
    figure.savefig(held, format="png", dpi=110, metadata={"Software": None})
    return base64.b64encode(held.getvalue()).decode()
