"""Explanations in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import numpy as np

from xcid._check import as_int
from xcid._numbers import percent
from xcid._require import make_printable
from xcid.records import Explanation
from xcid.show import wording
from xcid.show.wording import differences, rows
from xcid.show.wording.names import count_in_words

if TYPE_CHECKING:
    from xcid.comparison import Comparison
    from xcid.interactions import Interactions
    from xcid.whatif import Actions, Counterfactuals

MOST_WIDE = 60  # letters of a column that is padded
CHANGE_HEADS = ("row", "kind", "changes", "output", "likeness", "proof", "survival")
HALF = " (exactly half, which is enough)"
SURVIVAL = "survival: the chance that a model trained on other data agrees"
UNMEASURED = "xcid.Explainer(..., refits=xcid.refits(model, X, y)) measures it"
_EIGHTHS = " ▏▎▍▌▋▊▉"
Given = ParamSpec("Given")


def _printable(write: Callable[Given, str]) -> Callable[Given, str]:
    """The same text without what a terminal takes for a command: names and levels come from files."""

    @wraps(write)
    def write_printable(*given: Given.args, **settings: Given.kwargs) -> str:
        return make_printable(write(*given, **settings))

    return write_printable


@_printable
def bars(explanation: Explanation, row: int = 0, *, width: int = 32, most: int = 20) -> str:
    """List what each value of a row did and what the decision hangs on, with bars, the largest contribution first.

    Parameters
    ----------
    explanation : Explanation
    row : int
    width : int
        Characters of the longest bar.
    most : int
        Features shown; the rest are counted in the last line.
    """
    one, width = explanation[row], as_int(width, "width", at_least=1)
    if not wording.is_explained(one):
        return wording.title_row(one)
    values, faint = one.values[0], wording.is_faint(one)[0]
    sizes = np.abs(values) if one.size is None else one.size[0]
    shown, longest = wording.rank_largest(sizes, as_int(most, "most", at_least=1)).tolist(), float(sizes.max())
    has_sum, drawn = one.base_values is not None, [""]
    for at in shown:
        mark = "" if one.p_values is None else "~ " if faint[at] else "  "
        bar = _bar(sizes[at] / longest if has_sum and longest > 0 else sizes[at], width)
        drawn.append(f"{mark}{bar}{wording.format_status(one.feature_status[0, at])}")
    lines = align_cells([[*line, bar] for line, bar in zip(rows.list_table(one, shown), drawn, strict=True)])
    notes = [note.replace("−", "-") for note in rows.list_notes(one, shown, "~ ")]  # as scores have it here
    head = [_title(one), one.question, rows.explain_sum(one)]
    return "\n  ".join(line.rstrip() for line in [*filter(None, head), *lines, *notes])


@_printable
def pairs(interactions: Interactions, *, most: int = 12) -> str:
    """List the strongest pairs of one row, or averaged over many."""
    places = tuple(at[: as_int(most, "most", at_least=1)] for at in interactions.places)
    names = [f"{first} x {second}" for first, second in interactions.pairs[:most]]
    width, found = max(map(len, names), default=0), interactions
    if not names or not len(found):
        return repr(found)
    if len(found) == 1:
        spent = count_in_words(int(found.n_evaluations[0]), "evaluation")
        is_exact, unit = bool(found.exact[0]), wording.name_unit(found)
        how = f"exact, in {unit}" if is_exact else f"in {unit}, with 95% limits over our sampling"
        title = f"pairs of row {found.index[0]}, {how} ({spent})"
        parts = (part[0][places] for part in (found.values, found.lower, found.upper, found.p_values))
        line = "{:+.3f}" if is_exact else "{:+.3f}  [{:+.3f}, {:+.3f}]  p = {:.2g}"
        ends = [line.format(*each) for each in zip(*parts, strict=True)]
        faint = ~found.significant[0][places]
        ends = [f"{end}{'  ~' if is_faint else ''}" for end, is_faint in zip(ends, faint, strict=True)]
    else:
        what = f"mean size in {wording.name_unit(found)}, share of rows where it is significant"
        title = f"pairs of {len(found)} rows: {what}"
        share = found.significant.mean(axis=0)[places]
        ends = [
            f"{v:.3f}  {percent(s):>4}" for v, s in zip(np.abs(found.values).mean(axis=0)[places], share, strict=True)
        ]
    lines = [f"{name:<{width}}  {end}" for name, end in zip(names, ends, strict=True)]
    left = len(interactions.pairs) - len(names)
    more = f"and {count_in_words(left, 'more pair')}" if left else ""
    note = f"~ {wording.NOT_SIGNIFICANT}" if len(found) == 1 and faint.any() else ""
    return "\n  ".join(filter(None, [title, *lines, more, note]))


@_printable
def comparison(found: Comparison, *, most: int = 12, sentences: int = 3) -> str:
    """List the largest differences between two explanations, and say the strongest of them in sentences."""
    shown = wording.rank_largest(found.difference, as_int(most, "most", at_least=1)).tolist()
    cells = [["", *differences.list_headings(found)]]
    cells += [["" if found.significant[at] else "~", *differences.list_cells(found, at)] for at in shown]
    told = differences.word_strongest(found, as_int(sentences, "sentences"))
    lines = [*align_cells(cells), *differences.list_notes(found, shown), *told]
    return "\n  ".join([differences.title_comparison(found), found.question, *lines])


def _title(one: Explanation) -> str:
    title, spent = wording.title_row(one), count_in_words(int(one.n_evaluations[0]), "evaluation")
    if one.n_rows is not None:
        return f"{title} ({spent} of the model)"
    n_flips, tried = int(one.n_flips[0]), round(float(one.n_positive[0] + one.n_negative[0]))
    verb = f"{wording.choose_verb(one)}{'s' if n_flips == 1 else ''}"
    copies = f"{n_flips:,} of {tried:,} changed copies of the row"
    flips = f"; {copies} {verb} it" if tried else ""  # other methods have none
    return f"{title}{flips} ({spent} of the model, status: {one.status[0]})"


def _bar(share: float, width: int) -> str:
    eighths = round(min(share, 1.0) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


FEWER = "rows with fewer lines than others: nothing else was found that differs enough"
COVERED = "covered: rows like these that actions down to this one flip, by leaving out a tenth of the rows in turn"


@_printable
def changes(found: Counterfactuals, *, most: int = 20) -> str:
    """List counterfactuals, a line each: row, kind, changes, the output before and after, likeness and proof."""
    shown = range(min(len(found), as_int(most, "most", at_least=1)))
    lines = [change_cells(found, line) for line in shown]
    left = len(found) - len(shown)
    more = [f"(and {count_in_words(left, 'more line')}: found.to_frame())"] if left else []
    survival = SURVIVAL if np.isfinite(found.survival).any() else f"{SURVIVAL}; {UNMEASURED}"
    counts = np.bincount(found.row[found.reached & (found.n_changes > 0)], minlength=len(found.data))
    few = [FEWER] if np.any((counts > 0) & (counts < counts.max(initial=0))) else []
    return "\n".join([repr(found), *align_cells([CHANGE_HEADS, *lines]), *more, survival, *few, *found.notes])


def change_cells(found: Counterfactuals, line: int) -> tuple[str, ...]:
    """A counterfactual in words: row, kind, changes, the output before and after, likeness and proof."""
    hurts = f" ({found.hurts(line)})" if found.hurts(line) else ""
    row, said = str(found.index[found.row[line]]), found.in_words(line) + hurts
    likeness, proved = str(found.likeness[line]), found.proved(line)
    return row, str(found.kind[line]), said, format_outputs(found, line), likeness, proved, found.survives(line)


def format_outputs(found: Counterfactuals, line: int) -> str:
    """The output before and after: "diabetes 0.71 -> 0.48", "118 -> 131"; one number where it stays."""
    ends = float(found.was[line]), float(found.output[line])
    if np.isnan(ends[0]):
        return ""
    said = [found.word_output(line, end) for end in ends]
    if ends[1] == 0.5 != ends[0] and not found.is_number(line):  # a tie of two classes is decided by the model
        said[1] += HALF if found.reached[line] else HALF.partition(",")[0] + ")"
    about = "" if found.is_number(line) else f"{wording.name_class(str(found.about[line]))} "
    return about + " -> ".join(dict.fromkeys(said))


@_printable
def actions(found: Actions) -> str:
    """List actions for a group: what to do, how many rows that flips, what it costs, what so far is covered."""
    return "\n".join([repr(found), *list_actions(found), *found.notes])


def list_actions(found: Actions) -> list[str]:
    """The lines of a table of actions, and what its last column means; none where there are none."""
    columns, n = found.to_columns(), found.flips.shape[1]
    lines = [("action", "flips", "cost", "covered")]
    for action, _, flipped, cost, covered in zip(*columns.values(), strict=True):
        lines.append(
            (str(action), f"{flipped:,} of {n:,}", f"{cost:.2f}", "" if np.isnan(covered) else percent(covered))
        )
    return [*align_cells(lines), COVERED] if len(lines) > 1 else []


def align_cells(lines: Sequence[Sequence[str]]) -> list[str]:
    """Cells in columns; those that are very wide stand out rather than push all others away.

    Examples
    --------
    >>> align_cells([("row", "kind"), ("12", "nearest")])
    ['row  kind', '12   nearest']
    """
    widths = [min(MOST_WIDE, max(map(len, cells))) for cells in zip(*lines, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
