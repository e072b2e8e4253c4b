"""What if: the smallest changes of rows that give them the output that is wanted.

``explainer.counterfactuals(X, target, k)`` gives them as a frame, and ``explainer.whatif(X, target, k)`` as the record
behind it, :class:`Counterfactuals`. ``explainer.actions(X, target, k)`` gives the few changes that flip most rows of a
group. A target is a class, or any outcome: :class:`xcid.outcomes.Raise`, ``Lower``, ``Within``, a function.
"""

from xcid.whatif.actions import Actions, group_actions
from xcid.whatif.engine import counterfactuals
from xcid.whatif.record import Change, Counterfactuals

__all__ = ["Actions", "Change", "Counterfactuals", "counterfactuals", "group_actions"]
