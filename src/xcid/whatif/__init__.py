"""What if: the smallest changes of rows that give them the output that is wanted.

``explainer.counterfactuals(X, target, k)`` gives them as a record, :class:`Counterfactuals`, and
``explainer.actions(X, target, k)`` the few changes that flip most rows of a group, :class:`Actions`. A target is a
class, or any outcome: :class:`xcid.outcomes.Raise`, ``Lower``, ``Within``, a function.
"""

from xcid.whatif.actions import Actions
from xcid.whatif.record import Counterfactuals

__all__ = ["Actions", "Counterfactuals"]
