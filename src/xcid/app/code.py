"""What a page has asked as Python code: the row, the rules, the question and the calls."""

from __future__ import annotations

import numpy as np

from xcid._kernels.arrays import same
from xcid.app.requests import Asked
from xcid.explainer import Explainer
from xcid.question import usual_outcome
from xcid.table import Constraints
from xcid.whatif.record import cell_code, row_code

GIVEN = "# model, background and weights, if any: those that the explorer was started with"


def code_of(explainer: Explainer, asked: Asked, seed: int, recipe: str = GIVEN) -> str:
    """Python code that repeats an answer and a search; ``recipe`` are lines that make ``model`` and ``background``."""
    columns = explainer.space.columns
    edited = np.flatnonzero(~same(asked.cells, asked.own)).tolist()
    weights = "" if explainer.space.weights is None else "weights"
    options = {
        "weights": weights,
        "constraints": _constraints(asked.limits.constraints(columns)),
        "outcome": "" if asked.outcome == usual_outcome(explainer.subject) else f"xcid.outcomes.{asked.outcome!r}",
    }
    given = "".join(f", {name}={text}" for name, text in options.items() if text)
    target = "" if asked.target is None else f", target={asked.target!r}"
    seeded = f", seed={seed}" if seed else ""
    return "\n".join(
        [
            "import pandas as pd",
            "import xcid",
            "",
            recipe,
            f"explainer = xcid.Explainer(model, background{given})",
            row_code(columns, asked.own),
            *(cell_code(columns[at], asked.cells[at]) for at in edited),
            f"explanation = explainer(row{seeded})",
            f"counterfactuals = explainer.counterfactuals(row{target}{seeded})",
        ]
    )


def _constraints(limits: Constraints) -> str:
    parts = {name: getattr(limits, name) for name in ("frozen", "monotone", "levels")}
    written = [f"{name}={list(part) if name == 'frozen' else part!r}" for name, part in parts.items() if part]
    return f"xcid.Constraints({', '.join(written)})" if written else ""
