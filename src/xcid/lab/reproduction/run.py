"""The reproduction: measure, summarise, and only then read the published figures."""

from __future__ import annotations

from pathlib import Path

from xcid._require import require
from xcid.lab.output import write
from xcid.lab.reproduction.contents import page
from xcid.lab.reproduction.measure import Say, measure_all, measure_first_row
from xcid.lab.reproduction.ours import Ours, as_json
from xcid.lab.reproduction.pages import html_page, markdown
from xcid.lab.reproduction.pictures import draw
from xcid.lab.reproduction.published import Case, load
from xcid.lab.reproduction.settings import MODEL_SEED, SUBJECTS, Settings
from xcid.lab.subjects import fitted

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
    subjects, pieces = [fitted(*subject, MODEL_SEED) for subject in SUBJECTS.items()], out / "pieces"
    first_rows = [measure_first_row(subject, settings, pieces, say) for subject in subjects]
    results = [measure_all(subject, settings, pieces, say) for subject in subjects]
    ours = [Ours.of(found, settings.k) for found in results]
    write(out / "figures.json", as_json(dict(zip(SUBJECTS, ours, strict=True))))
    say("drawing")
    cases = [Case(*parts) for parts in zip(subjects, results, first_rows, ours, load(), strict=True)]
    pictures = draw(cases, settings)
    for picture in pictures:
        write(out / IMAGES / f"{picture.name}.png", picture.png)
    blocks = page(cases, settings, pictures)
    write(out / "reproduction.md", markdown(blocks, IMAGES))
    path = out / "reproduction.html"
    write(path, html_page(blocks))
    say(f"written: {path}")
    return path
