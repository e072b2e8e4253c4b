"""Colours, tables and bars where a terminal shows them and rich is installed; plain text in pipes and with NO_COLOR."""

from __future__ import annotations

import os
import re
from typing import Any, TextIO

from xcid.cli._terminal import printable, show, streams

SUPPORTS, OPPOSES, UNSIGNED = "#009E73", "#D55E00", "#56B4E9"  # as in pictures and reports
_SCORE = re.compile(r"(?<=\s)([-+ ])\d\.\d{3}(?=\s|$)")
_BAR = re.compile(r"[█▏▎▍▌▋▊▉]+$")


def console(stream: TextIO) -> Any | None:
    """What draws on a stream in colour; None where it must be plain."""
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_scores(text: str) -> None:
    """Show bars: what supports the output in one colour, what works against it in another."""
    text, drawn = printable(text), console(streams()[0])
    if drawn is None:
        show(text)
        return
    for at, line in enumerate(text.splitlines()):
        drawn.print(_painted(line, is_title=at == 0))


def styled(text: str, style: str, stream: TextIO) -> str:
    """A text as a stream shows it."""
    drawn = console(stream)
    if drawn is None:
        return text
    with drawn.capture() as captured:
        drawn.print(text, style=style, end="")
    return str(captured.get())


def bar(done: int, total: int, width: int, stream: TextIO) -> str:
    """How much is done, as a bar."""
    drawn = console(stream)
    if drawn is None:
        filled = width * done // max(total, 1)
        return "#" * filled + "." * (width - filled)
    from rich.progress_bar import ProgressBar

    with drawn.capture() as captured:
        drawn.print(ProgressBar(total=max(total, 1), completed=done, width=width), end="")
    return str(captured.get()).rstrip("\n")


def _painted(line: str, is_title: bool) -> Any:
    from rich.text import Text

    found = Text(line)
    score, drawn = _SCORE.search(line), _BAR.search(line)
    if is_title:
        found.stylize("bold")
    elif score is None:
        found.stylize("dim")
    else:
        colour = {"+": SUPPORTS, "-": OPPOSES}.get(score[1], UNSIGNED)
        for part in (score, drawn):
            if part is not None:
                found.stylize(colour, *part.span())
    return found
