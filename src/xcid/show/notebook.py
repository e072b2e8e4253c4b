"""Explanations in notebooks: one small table of HTML, without scripts and styles of its own beyond the cells.

Names and values come from data: all of them are escaped, and letters that act on the text around them written out.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from xcid import directions
from xcid._numbers import format_number, percent
from xcid.records import Explanation
from xcid.show import text, wording
from xcid.show.wording import colours, differences, rows
from xcid.show.wording.names import clean, count_in_words, elide, write_out

if TYPE_CHECKING:
    from xcid.comparison import Comparison
    from xcid.explainer import Explainer
    from xcid.whatif import Counterfactuals

MOST = 12  # features shown
MOST_LINES = 20  # of counterfactuals
MOST_LETTERS = 40
MOST_LETTERS_OF_A_PART = 300
BAR = 160  # pixels of a score of 1
CELL = "padding:1px 8px;text-align:left;vertical-align:middle"
NUMBER = f"{CELL};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"


def html(explanation: Explanation) -> str:
    """One row as bars; many as means of their scores, about one outcome, feature by feature."""
    if not len(explanation):
        return write_out(f"<p>{escape(repr(explanation))}</p>")
    return _one(explanation) if len(explanation) == 1 else _many(explanation)


def _one(one: Explanation) -> str:
    if not wording.is_explained(one):
        return write_out(f"<p>{escape(wording.title_row(one))}</p>")
    sizes = np.abs(one.values[0]) if one.size is None else one.size[0]
    order, longest = wording.rank_largest(sizes, MOST), float(sizes.max(initial=0.0))
    faint, has_sum = wording.is_faint(one)[0], one.base_values is not None
    (titles, *cells), lines = rows.list_table(one, order.tolist()), []
    for at, (name, beside, *numbers), colour in zip(
        order.tolist(), cells, colours.of_scores(one, one.values[0, order]), strict=True
    ):
        share, why = sizes[at] / longest if has_sum and longest > 0 else sizes[at], one.feature_status[0, at]
        bar = _bar(share, colour, "transparent" if faint[at] else colour, wording.format_status(why))
        lines.append("".join([_name(name), _name(beside), *(_number(escape(number)) for number in numbers), bar]))
    notes = rows.list_notes(one, order.tolist(), "hollow: ")
    head = f"{wording.title_row(one)}{wording.format_status(one.status[0])}", one.question, rows.explain_sum(one)
    return _table(head, [*titles, ""], lines, notes)


def _many(explanation: Explanation) -> str:
    counts = Counter(explanation.status.tolist()).most_common()
    found = ", ".join(f"{count:,} {status}" for status, count in counts)
    size = f"{len(explanation):,} rows, {count_in_words(len(explanation.feature_names), 'feature')}"
    head = f"{size}; status: {found}", explanation.question
    explanation = directions.explained(explanation)
    means, signed = np.abs(explanation.values).mean(axis=0), explanation.values.mean(axis=0)
    significant, has_signs = explanation.significant, explanation.base_values is not None
    lines, longest = [], float(means.max(initial=0.0)) if has_signs else 1.0
    for at in wording.rank_largest(means, MOST).tolist():
        shares = [_number(wording.format_score(explanation, signed[at]))] if has_signs else []
        shares += [] if significant is None else [_number(percent(significant[:, at].mean()))]
        bar = _bar(means[at] / longest if longest > 0 else 0.0, colours.UNSIGNED, colours.UNSIGNED)
        size = wording.format_score(explanation, means[at]).lstrip("+")
        lines.append("".join([_name(explanation.feature_names[at]), _number(size), *shares, bar]))
    extra = ["mean contribution"] * has_signs + ["significant"] * (significant is not None)
    notes = [wording.count_left_out(len(means), MOST), wording.explain_score(explanation) if has_signs else ""]
    return _table(head, ["feature", "mean size", *extra, ""], lines, [*notes, "explanation[i] shows one row"])


def comparison(found: Comparison, title: str | None = None) -> str:
    """The largest differences between two explanations, under a title, which may be empty."""
    shown = wording.rank_largest(found.difference, MOST).tolist()
    lines = []
    for at in shown:
        name, *cells = differences.list_cells(found, at)
        mark = _cell("" if found.significant[at] else "~")
        lines.append("".join([_name(name), *(_number(escape(cell)) for cell in cells), mark]))
    head = differences.title_comparison(found) if title is None else title, found.question
    return _table(head, [*differences.list_headings(found), ""], lines, differences.list_notes(found, shown))


def counterfactuals(found: Counterfactuals) -> str:
    """The first counterfactuals, a line each."""
    lines = ["".join(map(_cell, text.change_cells(found, line))) for line in range(min(len(found), MOST_LINES))]
    left = len(found) - len(lines)
    more = f"and {left:,} more: found.to_frame()" if left else ""
    return _table((repr(found).strip("<>"), ""), [*text.CHANGE_HEADS], lines, [more, *found.notes])


def explainer(found: Explainer) -> str:
    """What an explainer explains, asks and is made of: a line, and details to open, as scikit-learn has them."""
    setup, subject = found.made, found.made.subject
    columns, frozen, outcome = subject.space.columns, subject.constraints.frozen, setup.outcome
    kinds = [
        [one.name, one.kind, ", ".join(map(str, one.levels[:MOST])), "frozen" if one.name in frozen else ""]
        for one in columns[:MOST]
    ]
    left = len(columns) - len(kinds)
    notes = [f"and {count_in_words(left, 'more feature')}"] if left > 0 else []
    describe = getattr(outcome, "describe", lambda *given: repr(outcome))
    values = "counted out, as the model can be read" if subject.exact is not None else "sampled"
    parts = [
        ["question", str(describe(subject.output_names, format_number))],
        ["outputs", ", ".join(subject.output_names[:MOST])],
        ["contributions", values],
        ["generator", repr(setup.generator)],
        ["score", repr(setup.score)],
        ["model", repr(subject.model)],
    ]
    size = f"{len(subject.space.rows):,} reference rows, {count_in_words(len(subject.features.names), 'feature')}"
    return (
        f"<div><p>{escape(type(found).__name__)} of a {escape(type(subject.model).__name__)}</p>"
        f"{_details(size, ['feature', 'kind', 'levels', ''], kinds, notes)}"
        f"{_details('what it asks, and how', ['', ''], parts, [])}</div>"
    )


def _details(summary: str, titles: list[str], cells: list[list[str]], notes: list[str]) -> str:
    lines = ["".join(_cell(clean(text, MOST_LETTERS_OF_A_PART)) for text in line) for line in cells]
    return f"<details><summary>{escape(summary)}</summary>{_table(('',), titles, lines, notes)}</details>"


def _table(head: tuple[str, ...], titles: list[str], lines: list[str], notes: list[str]) -> str:
    heads = "".join(f'<th style="{CELL}">{escape(title)}</th>' for title in titles)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    first, *more = [*map(escape, filter(None, head))] or [""]
    above = "".join([first, *(f'<p style="font-size:85%;opacity:.75;margin:0">{line}</p>' for line in more)])
    foot = escape("; ".join(filter(None, notes)))
    return write_out(
        f'<table style="border-collapse:collapse"><caption style="{CELL};caption-side:top">{above}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        f'<p style="{CELL};font-size:85%;opacity:.75;margin:2px 0">{foot}</p>'
    )


def _name(text: str) -> str:
    return f'<td style="{CELL}" title="{escape(text)}">{escape(elide(text, MOST_LETTERS))}</td>'


def _cell(text: str) -> str:
    return f'<td style="{CELL}">{escape(text)}</td>'


def _number(text: str) -> str:
    return f'<td style="{NUMBER}">{text}</td>'


def _bar(value: float, colour: str, fill: str, note: str = "") -> str:
    """A bar as wide as a score, with a note behind it; hollow where its inside is transparent."""
    width = round(min(abs(value), 1.0) * BAR)
    style = f"display:inline-block;height:.7em;width:{width}px;background:{fill};border:1px solid {colour}"
    return f'<td style="{CELL}"><span style="{style}"></span>{escape(note)}</td>'
