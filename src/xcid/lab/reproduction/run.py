"""The whole reproduction: measure, summarise, and only then read the published figures."""

from __future__ import annotations

from pathlib import Path

from xcid._require import require
from xcid.lab.output import write
from xcid.lab.reproduction.closeness import Case
from xcid.lab.reproduction.contents import TITLE, page
from xcid.lab.reproduction.measure import Say, measure_all, measure_first_row
from xcid.lab.reproduction.ours import Ours, as_json
from xcid.lab.reproduction.pages import html_page, markdown
from xcid.lab.reproduction.pictures import draw
from xcid.lab.reproduction.published import load
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.subjects import subjects

IMAGES = "images/reproduction"


def reproduce(out: Path, settings: Settings, say: Say) -> Path:
    """Run all experiments of the paper and write the pages; what was finished before is picked up.

    Pieces are known by their settings and the versions of the packages. Who changes the library without changing its
    version removes ``pieces/`` first.

    Parameters
    ----------
    out : Path
        Folder for ``reproduction.html``, ``reproduction.md`` with its images, ``figures.json`` and ``pieces/``.
    settings : Settings
        ``Settings.full()`` is the paper's extent, ``Settings.quick()`` a small one.
    say : callable
        Gets a line about each step.

    Returns
    -------
    Path
        Of the HTML page.
    """
    require("matplotlib.figure", extra="plot")  # before the long part, not after it
    both, pieces = subjects(), out / "pieces"
    first_rows = [measure_first_row(subject, settings, pieces, say) for subject in both]
    results = [measure_all(subject, settings, pieces, say) for subject in both]
    ours = [Ours.of(found, settings.k) for found in results]
    write(out / "figures.json", as_json({subject.key: one for subject, one in zip(both, ours, strict=True)}))
    say("drawing")
    pictures = draw(both, settings, results, first_rows)
    for picture in pictures:
        write(out / IMAGES / f"{picture.name}.png", picture.png)
    published = load()
    cases = [Case(*parts, published[parts[0].key]) for parts in zip(both, results, ours, strict=True)]
    blocks = page(cases, settings, pictures)
    write(out / "reproduction.md", markdown(blocks, IMAGES))
    path = out / "reproduction.html"
    write(path, html_page(blocks, TITLE))
    say(f"written: {path}")
    return path
