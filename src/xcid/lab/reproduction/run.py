"""The whole reproduction: measure, summarise, and only then lay the published figures beside."""

from __future__ import annotations

from pathlib import Path

from xcid._require import require
from xcid.lab.reproduction.contents import TITLE, draw, page
from xcid.lab.reproduction.measure import Say, measure_all, measure_first_row
from xcid.lab.reproduction.ours import Ours, as_json
from xcid.lab.reproduction.pages import html_page, markdown
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.store import Store, write_bytes
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
    store, both = Store(out / "pieces"), subjects()
    first_rows = [measure_first_row(subject, settings, store, say) for subject in both]
    results = [measure_all(subject, settings, store, say) for subject in both]
    ours = {subject.key: Ours.of(found, settings.k) for subject, found in zip(both, results, strict=True)}
    write_bytes(out / "figures.json", as_json(ours).encode())
    say("drawing")
    pictures = draw(both, settings, results, first_rows)
    blocks = page(both, settings, results, ours, pictures)
    for picture in pictures:
        write_bytes(out / IMAGES / f"{picture.name}.png", picture.png)
    write_bytes(out / "reproduction.md", markdown(blocks, IMAGES).encode())
    path = out / "reproduction.html"
    write_bytes(path, html_page(blocks, TITLE).encode())
    say(f"written: {path}")
    return path
