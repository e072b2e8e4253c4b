"""The paper's experiments, run by the public parts of the library: every table and figure, beside the published ones.

>>> from pathlib import Path
>>> from xcid_lab.reproduction import Settings, reproduce
>>> page = reproduce(Path("out"), Settings.quick(), print)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from xcid._require import require
from xcid_lab.markdown import Table
from xcid_lab.output import Keep, piece, stored, write
from xcid_lab.reproduction import tables
from xcid_lab.reproduction.measure import Say, measure_all, measure_first_row
from xcid_lab.reproduction.methods import MODEL_SEED, SUBJECTS, Settings
from xcid_lab.reproduction.ours import Ours, as_json
from xcid_lab.reproduction.pages import Block, Heading, Picture, html_page, markdown
from xcid_lab.reproduction.pictures import draw
from xcid_lab.reproduction.published import METRICS, Case, load
from xcid_lab.reproduction.sentences import facts
from xcid_lab.reproduction.sources import Made, digest_sources, find_commit, read_sources, record_sources
from xcid_lab.subjects import fitted

__all__ = ["Settings", "render", "reproduce"]

IMAGES = "images/reproduction"


def reproduce(out: Path, settings: Settings, say: Say) -> Path:
    """Run all experiments of the paper and write the pages; what was finished before is picked up.

    Pieces are known by their settings and the versions of the packages, and beside them stands what made them: those
    of other sources are refused.

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
    return _write_pages(out, settings, say, out / "pieces", piece, record_sources(out / "pieces"))


def render(found: Path, out: Path, settings: Settings, say: Say) -> Path:
    """Write the pages of what :func:`reproduce` left in a folder, and compute nothing.

    They say which commit and sources made it; where that was not remembered, those that are here.
    """
    made = read_sources(found / "pieces") or Made(find_commit(), digest_sources())
    return _write_pages(out, settings, say, found / "pieces", stored, made)


def _write_pages(out: Path, settings: Settings, say: Say, pieces: Path, keep: Keep, made: Made) -> Path:
    require("matplotlib.figure", extra="plot")  # before the long part, not after it
    subjects = [fitted(*subject, MODEL_SEED) for subject in SUBJECTS.items()]
    first_rows = [measure_first_row(subject, settings, pieces, say, keep) for subject in subjects]
    results = [measure_all(subject, settings, pieces, say, keep) for subject in subjects]
    ours = [Ours.of(found, settings.k) for found in results]
    write(out / "figures.json", as_json(dict(zip(SUBJECTS, ours, strict=True))))
    say("drawing")
    cases = [Case(*parts) for parts in zip(subjects, results, first_rows, ours, load(), strict=True)]
    pictures = draw(cases, settings)
    for picture in pictures:
        write(out / IMAGES / f"{picture.name}.png", picture.png)
    blocks = _page(cases, settings, pictures, made)
    write(out / "reproduction.md", markdown(blocks, IMAGES))
    path = out / "reproduction.html"
    write(path, html_page(blocks))
    say(f"written: {path}")
    return path


def _page(cases: Sequence[Case], settings: Settings, pictures: Sequence[Picture], made: Made) -> list[Block]:
    """All that the pages say: the text is in ``page.md``, and names what is computed."""
    numbered: list[Table] = [
        *(tables.agreement_table(number, case, settings.k) for number, case in enumerate(cases, start=1)),
        *(tables.faithfulness_table(number, metric, cases) for number, metric in enumerate(METRICS, start=3)),
        *(tables.kernel_table(number, case) for number, case in enumerate(cases, start=5)),
        *(tables.settings_table(number, case) for number, case in enumerate(cases, start=7)),
    ]
    blocks: dict[str, Block] = {
        "readings": tables.readings_table(cases),
        "methods": tables.methods_table(cases),
        "genetic": tables.genetic_table(cases),
        **{f"table-{number}": table for number, table in enumerate(numbered, start=1)},
        **{picture.name: picture for picture in pictures},
    }
    known = facts(settings, cases) | made._asdict()
    text = (files("xcid_lab.reproduction") / "page.md").read_text(encoding="utf-8")
    return [_block(part, blocks, known) for part in text.split("\n\n")]


def _block(part: str, blocks: Mapping[str, Block], known: Mapping[str, object]) -> Block:
    """A heading, points, a table or picture by its name, or a paragraph."""
    if part.startswith("- "):
        points = [" ".join(point.split()) for point in f"\n{part}".split("\n- ")[1:]]
        return [sentence for point in points for sentence in _sentences(point, known)]
    text = " ".join(part.split())
    marks, _, title = text.partition(" ")
    if set(marks) == {"#"}:
        return Heading(len(marks), title)
    return blocks[text.strip("{}")] if text.startswith("{") else text


def _sentences(point: str, known: Mapping[str, object]) -> list[str]:
    """A point with its numbers; one that only names a list is as many points."""
    found = known.get(point.strip("{}"))
    return found if isinstance(found, list) else [point.format_map(known)]
