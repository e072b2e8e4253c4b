"""How an explanation speaks, wherever it is shown: in the terminal, in pictures, in notebooks."""

from __future__ import annotations

import numpy as np

from xcid.records import SIGNIFICANT, Explanation, Flags, Integers

HOLDS, PULLS, UNSIGNED = "#009E73", "#D55E00", "#56B4E9"  # Okabe and Ito's, which colour-blind people can tell apart
NOISE = f"cannot be told from noise (p > {SIGNIFICANT:g})"


def answer(one: Explanation) -> str:
    """What the model says of a single row."""
    outputs = one.outputs[0]
    if np.isnan(outputs).any():
        return "no output"
    top = int(outputs.argmax())
    return f"output {one.output_names[top]} with {outputs[top]:.2f}" if len(outputs) > 1 else f"output {outputs[0]:.6g}"


def noise(explanation: Explanation) -> Flags:
    """(n, d) which features cannot be told from noise; none where there are no p-values."""
    if explanation.p_values is None:
        return np.zeros(explanation.values.shape, dtype=np.bool_)
    is_noise: Flags = (explanation.p_values > SIGNIFICANT) & (explanation.feature_status == "ok")
    return is_noise


def is_signed(explanation: Explanation) -> bool:
    """Whether the sign of a score says something."""
    return bool(explanation.direction.any())


def colour(explanation: Explanation, value: float) -> str:
    """The colour of a score."""
    if not is_signed(explanation):
        return UNSIGNED
    return HOLDS if value >= 0 else PULLS


def largest(scores: np.ndarray, most: int) -> Integers:
    """Positions of the largest (d,) absolute scores, the largest first."""
    return np.argsort(-np.abs(scores), kind="stable")[:most]


def elide(name: str, most: int) -> str:
    """A name of at most so many letters: names that start alike often differ at their ends, so the middle goes.

    Examples
    --------
    >>> elide("serum cholesterol, measured twice", 16)
    'serum c…ed twice'
    """
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head].rstrip()}…{name[len(name) - (most - 1 - head) :].lstrip()}"
