"""Tables in LaTeX, for the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

MARKS = str.maketrans(
    {mark: f"\\{mark}" for mark in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}"}
    | {"`": "\\textasciigrave{}", "'": "\\textquotesingle{}", "[": "{[}", "]": "{]}"}
)


def table(head: Sequence[str], lines: Sequence[Sequence[str]], caption: str, note: str, comments: Sequence[str]) -> str:
    r"""A float of text cells, the first of each line on the left; comments stand above it, and are not typeset.

    Examples
    --------
    >>> print(table(["", "a_b"], [["comp", "0.5 ± 0.1"]], "5% of the rows", "±: 2 errors", ["made by hand"]))
    % made by hand
    % \usepackage{booktabs}
    \begin{table}
      \centering
      \caption{5\% of the rows}
      \begin{tabular}{lr}
        \toprule
         & a\_b \\
        \midrule
        comp & 0.5 $\pm$ 0.1 \\
        \bottomrule
      \end{tabular}
      \par\smallskip\footnotesize $\pm$: 2 errors
    \end{table}
    """
    parts = [
        *(f"% {' '.join(line.split())}" for line in (*comments, r"\usepackage{booktabs}")),
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{escaped(caption)}}}",
        rf"  \begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"    \toprule",
        _line(head),
        r"    \midrule",
        *map(_line, lines),
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \par\smallskip\footnotesize {escaped(note)}",
        r"\end{table}",
    ]
    return "\n".join(parts)


def escaped(text: str) -> str:
    r"""Text that LaTeX takes literally, in one line; no two hyphens of it become a dash.

    Examples
    --------
    >>> print(escaped("R&D_50% --out x"))
    R\&D\_50\% -{}-out x
    """
    return " ".join(text.split()).translate(MARKS).replace("--", "-{}-").replace("±", r"$\pm$")


def _line(cells: Sequence[str]) -> str:
    return f"    {' & '.join(map(escaped, cells))} \\\\"
