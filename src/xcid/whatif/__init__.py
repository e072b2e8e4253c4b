"""What if: the smallest changes of rows that give them the output that is wanted.

``explainer.counterfactuals(X, target, k)`` gives them as a frame, and ``explainer.whatif(X, target, k)`` as the record
behind it, :class:`Counterfactuals`. A target is a class, or for numbers :class:`Raise`, :class:`Lower` or
:class:`Between`.
"""

from xcid.whatif.engine import counterfactuals
from xcid.whatif.goals import Between, Lower, Raise
from xcid.whatif.record import Change, Counterfactuals

__all__ = ["Between", "Change", "Counterfactuals", "Lower", "Raise", "counterfactuals"]
