"""A comparison as tables in text."""

from __future__ import annotations

from xcid.lab.comparison.measure import Comparison
from xcid.lab.markdown import aligned
from xcid.metrics import Interval


def markdown(comparison: Comparison) -> str:
    """The figures, the agreement of the methods, and what was left out."""
    methods = comparison.methods
    figures = [[method, *map(shown, comparison.figures[method].values())] for method in methods]
    agreement = [[method, *(shown(comparison.agreement[method, other]) for other in methods)] for method in methods]
    parts = [
        aligned(["method", *comparison.figures[methods[0]]], figures, str.rjust, gap="-"),
        "comp: how far the output falls when the best features are masked, the higher the better;\n"
        "suff: when only they are kept, the lower the better; ±: two standard errors (of ms: over blocks of rows)",
        aligned([f"top {comparison.k} in common", *methods], agreement, str.rjust, gap="-"),
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
