"""Blocks of a page, written as Markdown with picture files and as one HTML file that loads nothing."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1rem; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid #ddd; padding: 0.2rem 0.7rem; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
figure { margin: 1rem 0; }
figcaption, .note { color: #555; font-size: 90%; }
"""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True)
class Heading:
    """A title of the given level."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under a head, with a title above and perhaps a note below."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG with a caption; ``name`` is that of its file beside the Markdown page."""

    name: str
    caption: str
    png: bytes


Block: TypeAlias = Heading | Text | Points | Table | Picture


def markdown(blocks: Sequence[Block], folder: str) -> str:
    """The page as Markdown; pictures are files in a folder beside it."""
    parts: dict[type, Callable[..., str]] = {
        Heading: lambda block: f"{'#' * block.level} {_md(block.text)}",
        Text: lambda block: _md(block.text),
        Points: lambda block: "\n".join(f"- {_md(item)}" for item in block.items),
        Table: _markdown_table,
        Picture: lambda block: f"![{_md(block.caption)}]({folder}/{block.name}.png)\n\n{_md(block.caption)}",
    }
    return "\n\n".join(parts[type(block)](block) for block in blocks) + "\n"


def html_page(blocks: Sequence[Block], title: str) -> str:
    """The page as one HTML file: pictures inside, nothing to load, all text escaped."""
    parts: dict[type, Callable[..., str]] = {
        Heading: lambda block: f"<h{block.level}>{_html(block.text)}</h{block.level}>",
        Text: lambda block: f"<p>{_html(block.text)}</p>",
        Points: lambda block: "<ul>" + "".join(f"<li>{_html(item)}</li>" for item in block.items) + "</ul>",
        Table: _html_table,
        Picture: _html_picture,
    }
    body = "\n".join(parts[type(block)](block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
        f"<title>{_html(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown_table(table: Table) -> str:
    lines = [table.head, ("---",) * len(table.head), *table.rows]
    text = "\n".join("| " + " | ".join(_md(cell) for cell in line) + " |" for line in lines)
    note = f"\n\n{_md(table.note)}" if table.note else ""
    return f"**{_md(table.title)}**\n\n{text}{note}"


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{_html(cell)}</th>" for cell in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>\n" for row in table.rows)
    note = f'<p class="note">{_html(table.note)}</p>' if table.note else ""
    title = f"<p><strong>{_html(table.title)}</strong></p>"
    return f"{title}\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{note}"


def _html_picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode("ascii")
    caption = _html(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _html(text: str) -> str:
    return html.escape(text)


def _md(text: str) -> str:
    """Text that Markdown takes literally, but for what nothing here needs to escape."""
    for mark in ("\\", "|", "<", "*", "_", "`", "["):
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")
