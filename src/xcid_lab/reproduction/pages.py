"""Blocks of a page, written as Markdown with picture files and as one HTML file that loads nothing."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from xcid_lab.markdown import Table, escaped, number, table

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Heading(NamedTuple):
    """A title of the given level."""

    level: int
    text: str


class Picture(NamedTuple):
    """A PNG with a caption; ``name`` is that of its file beside the Markdown page."""

    name: str
    caption: str
    png: bytes


Block: TypeAlias = Heading | str | list[str] | Table | Picture
"""Text is a paragraph, and a list of texts a list of points."""


def markdown(blocks: Sequence[Block], folder: str) -> str:
    """The page as Markdown; pictures are files in a folder beside it."""
    parts: dict[type, Callable[..., str]] = {
        Heading: lambda block: f"{'#' * block.level} {escaped(block.text)}",
        str: escaped,
        list: lambda block: "\n".join(f"- {escaped(item)}" for item in block),
        Table: _markdown_table,
        Picture: lambda block: f"![{escaped(block.caption)}]({folder}/{block.name}.png)\n\n{escaped(block.caption)}",
    }
    return "\n\n".join(parts[type(block)](block) for block in blocks) + "\n"


def html_page(blocks: Sequence[Block]) -> str:
    """The page as one HTML file, named after its first heading: pictures inside, nothing to load, all text escaped."""
    style = (files("xcid_lab.reproduction") / "page.css").read_text(encoding="utf-8")
    title = next(block.text for block in blocks if isinstance(block, Heading))
    parts: dict[type, Callable[..., str]] = {
        Heading: lambda block: f"<h{block.level}>{html.escape(block.text)}</h{block.level}>",
        str: lambda block: f"<p>{html.escape(block)}</p>",
        list: lambda block: "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in block) + "</ul>",
        Table: _html_table,
        Picture: _html_picture,
    }
    body = "\n".join(parts[type(block)](block) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown_table(block: Table) -> str:
    note = f"\n\n{escaped(block.note)}" if block.note else ""
    return f"**{escaped(block.title)}**\n\n{table(block.head, block.lines)}{note}"


def _html_table(block: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in block.head)
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(number(cell))}</td>' for cell in row)}</tr>\n" for row in block.lines
    )
    note = f'<p class="note">{html.escape(block.note)}</p>' if block.note else ""
    title = f"<p><strong>{html.escape(block.title)}</strong></p>"
    return f"{title}\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{note}"


def _html_picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode("ascii")
    caption = html.escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )
