"""A comparison as tables in text."""

from __future__ import annotations

from collections.abc import Sequence

from xcid.lab.comparison.measure import Comparison
from xcid.metrics import Interval


def markdown(comparison: Comparison) -> str:
    """The figures, the agreement of the methods, and what was left out."""
    names = list(next(iter(comparison.figures.values())))
    figures = [[method, *(shown(comparison.figures[method][name]) for name in names)] for method in comparison.methods]
    agreement = [
        [method, *(shown(comparison.agreement[method, other]) for other in comparison.methods)]
        for method in comparison.methods
    ]
    parts = [
        _table(["method", *names], figures),
        "comp: how far the output falls when the best features are masked, the higher the better;\n"
        "suff: when only they are kept, the lower the better; ±: two standard errors (of ms: over blocks of rows)",
        _table([f"top {comparison.k} in common", *comparison.methods], agreement),
        *(f"left out: {method}: {reason}" for method, reason in comparison.left_out.items()),
    ]
    return "\n\n".join(parts)


def shown(figure: Interval) -> str:
    """A mean with its margin, in as many digits as it is worth.

    Examples
    --------
    >>> shown(Interval(0.12345, 0.01)), shown(Interval(25401.2, 12.0)), shown(Interval(1.5, float("inf")))
    ('0.123 ± 0.010', '25,401 ± 12', '1.500 ± ?')
    """
    digits = 3 if abs(figure.mean) < 10 else 1 if abs(figure.mean) < 1000 else 0
    margin = f"{figure.margin:,.{digits}f}" if figure.margin < float("inf") else "?"
    return f"{figure.mean:,.{digits}f} ± {margin}"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in (head, *lines)) for column in range(len(head))]
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([_line(head, widths), f"|{rule}|", *(_line(line, widths) for line in lines)])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, figures to the right."""
    numbers = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([cells[0].ljust(widths[0]), *numbers])} |"
