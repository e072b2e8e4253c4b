"""Explanations in notebooks: one small table of HTML, without scripts and styles of its own beyond the cells.

Names and values come from data: all of them are escaped.
"""

from __future__ import annotations

from collections import Counter
from html import escape

import numpy as np

from xcid import wording
from xcid.records import Explanation

MOST = 12  # features shown
MOST_LETTERS = 40
BAR = 160  # pixels of a score of 1
CELL = "padding:1px 8px;text-align:left;vertical-align:middle"
NUMBER = f"{CELL};text-align:right;font-variant-numeric:tabular-nums"


def html(explanation: Explanation) -> str:
    """One row as bars; many as the mean of their absolute scores, feature by feature."""
    if not len(explanation):
        return f"<p>{escape(repr(explanation))}</p>"
    return _one(explanation) if len(explanation) == 1 else _many(explanation)


def _one(one: Explanation) -> str:
    values = one.values[0]
    order = wording.largest(values, MOST)
    status = "" if one.status[0] == "ok" else f" ({one.status[0]})"
    head = f"row {one.index[0]}: {wording.answer(one)}{status}"
    has_limits = one.lower is not None and one.upper is not None
    titles = ["feature", "value", "score", *(["95 % limits"] if has_limits else []), ""]
    lines = []
    for feature in map(int, order):
        cells = [_text(one.feature_names[feature]), _text(one.shown(0, feature)), _number(one, values[feature])]
        if one.lower is not None and one.upper is not None:
            low, high = one.lower[0, feature], one.upper[0, feature]
            cells.append(f'<td style="{NUMBER}">{low:+.2f} to {high:+.2f}</td>')
        lines.append("".join([*cells, _bar(one, feature)]))
    notes = [_left_out(one), "+ holds the output in place, − pulls away" if wording.is_signed(one) else "score: d1"]
    if wording.noise(one)[0, order].any():
        notes.append(f"hollow: {wording.NOISE}")
    return _table(head, titles, lines, notes)


def _many(explanation: Explanation) -> str:
    means = np.abs(explanation.values).mean(axis=0)
    told = 1 - wording.noise(explanation).mean(axis=0)
    counts = Counter(explanation.status.tolist())
    found = ", ".join(f"{count:,} {status}" for status, count in counts.most_common())
    head = f"{len(explanation):,} rows, {len(explanation.feature_names):,} features; status: {found}"
    has_p = explanation.p_values is not None
    titles = ["feature", "mean |score|", *(["told from noise"] if has_p else []), ""]
    lines = []
    for feature in map(int, wording.largest(means, MOST)):
        cells = [_text(explanation.feature_names[feature]), f'<td style="{NUMBER}">{means[feature]:.3f}</td>']
        if has_p:
            cells.append(f'<td style="{NUMBER}">{told[feature]:.0%}</td>')
        lines.append("".join([*cells, _drawn(means[feature], wording.UNSIGNED, wording.UNSIGNED)]))
    return _table(head, titles, lines, [_left_out(explanation), "explanation[i] shows one row"])


def _table(head: str, titles: list[str], lines: list[str], notes: list[str]) -> str:
    heads = "".join(f'<th style="{CELL}">{escape(title)}</th>' for title in titles)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    foot = escape("; ".join(filter(None, notes)))
    return (
        f'<table style="border-collapse:collapse"><caption style="{CELL};caption-side:top">{escape(head)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f'<p style="{CELL};font-size:85%;opacity:.75;margin:2px 0">{foot}</p>'
    )


def _text(text: str) -> str:
    return f'<td style="{CELL}" title="{escape(text)}">{escape(wording.elide(text, MOST_LETTERS))}</td>'


def _number(one: Explanation, value: float) -> str:
    return (
        f'<td style="{NUMBER}">{value:+.3f}</td>'
        if wording.is_signed(one)
        else f'<td style="{NUMBER}">{value:.3f}</td>'
    )


def _bar(one: Explanation, feature: int) -> str:
    status = str(one.feature_status[0, feature])
    if status != "ok":
        return f'<td style="{CELL}">({escape(status)})</td>'
    value: float = one.values[0, feature]
    colour = wording.colour(one, value)
    return _drawn(abs(value), colour, "transparent" if wording.noise(one)[0, feature] else colour)


def _drawn(share: float, colour: str, fill: str) -> str:
    """A bar as wide as a score; hollow where its inside is transparent."""
    width = round(min(share, 1.0) * BAR)
    style = f"display:inline-block;height:.7em;width:{width}px;background:{fill};border:1px solid {colour}"
    return f'<td style="{CELL}"><span style="{style}"></span></td>'


def _left_out(explanation: Explanation) -> str:
    more = len(explanation.feature_names) - MOST
    return f"and {more:,} features with smaller scores" if more > 0 else ""
