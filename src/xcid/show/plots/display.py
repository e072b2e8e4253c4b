"""The way of scikit-learn to a picture: ``ExplanationDisplay.from_estimator(model, X, background=train)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xcid.explainer import Explainer
from xcid.records import Explanation
from xcid.show.plots.evidence import densities
from xcid.show.plots.scores import bar


class ExplanationDisplay:
    """An explanation with a way to draw it.

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
    >>> display = xcid.plots.ExplanationDisplay.from_estimator(
    ...     model, test, background=train, draw=xcid.plots.beeswarm
    ... )  # doctest: +SKIP
    >>> display.figure_.savefig("swarm.png")  # doctest: +SKIP
    """

    ax_: Any
    figure_: Any

    def __init__(self, explanation: Explanation, *, draw: Callable[..., Any] = bar) -> None:
        self.explanation, self.draw = explanation, draw

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        background: Any,
        draw: Callable[..., Any] = bar,
        seed: int = 0,
        ax: Any = None,
        **settings: Any,
    ) -> ExplanationDisplay:
        """Explain the rows ``X`` with the recommended setting, and draw them.

        ``draw``, ``ax`` (an array of Axes for :func:`xcid.plots.densities`) and further settings such as
        ``row=3, most=8`` are those of the drawing.
        """
        return cls(Explainer(model, background)(X, seed=seed), draw=draw).plot(ax, **settings)

    @classmethod
    def from_explanation(
        cls, explanation: Explanation, *, draw: Callable[..., Any] = bar, ax: Any = None, **settings: Any
    ) -> ExplanationDisplay:
        """Draw what is explained already."""
        return cls(explanation, draw=draw).plot(ax, **settings)

    def plot(self, ax: Any = None, **settings: Any) -> ExplanationDisplay:
        """Draw, on the given axes or on new ones, and keep them as ``ax_`` and ``figure_``."""
        place = "axes" if self.draw is densities else "ax"  # it fills several
        self.ax_ = self.draw(self.explanation, **{place: ax}, **settings)
        self.figure_ = np.ravel(self.ax_)[0].figure
        return self
