"""Explanations as scikit-learn's displays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xcid.plots import bar, densities
from xcid.records import Explanation


class ExplanationDisplay:
    """An explanation with a way to draw it, as scikit-learn's displays have one.

    Parameters
    ----------
    explanation : Explanation
    draw : callable
        ``draw(explanation, ax=..., **settings) -> Axes``: one of :mod:`xcid.plots`, or a function of your own.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them
        What was drawn, after :meth:`plot`.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> import xcid
    >>> explainer = xcid.Explainer(model, train)  # doctest: +SKIP
    >>> display = ExplanationDisplay.from_explainer(
    ...     explainer, test, draw=xcid.plots.beeswarm
    ... )  # doctest: +SKIP
    >>> display.figure_.savefig("swarm.png")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(self, explanation: Explanation, *, draw: Callable[..., Any] = bar) -> None:
        self.explanation, self.draw = explanation, draw

    @classmethod
    def from_explainer(
        cls,
        explainer: Callable[..., Explanation],
        X: Any,
        *,
        draw: Callable[..., Any] = bar,
        seed: int = 0,
        **settings: Any,
    ) -> ExplanationDisplay:
        """Explain the rows ``X``, and draw them; settings are those of :meth:`plot`."""
        return cls(explainer(X, seed=seed), draw=draw).plot(**settings)

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, draw: Callable[..., Any] = bar, **settings: Any
    ) -> ExplanationDisplay:
        """Draw an explanation; settings are those of :meth:`plot`."""
        return cls(explanation, draw=draw).plot(**settings)

    def plot(self, ax: Any = None, **settings: Any) -> ExplanationDisplay:
        """Draw on the given Axes or on new ones (an array for ``densities``), and keep them as ``ax_``.

        Further settings, such as ``row=3, most=8``, are those of the plot.
        """
        place = "axes" if self.draw is densities else "ax"  # it fills several
        self.ax_ = self.draw(self.explanation, **{place: ax}, **settings)
        self.figure_ = np.ravel(self.ax_)[0].figure
        return self
