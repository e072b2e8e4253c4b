"""What if: changes of rows that give them the output that is wanted.

``explainer.actions(X, target, k)`` gives the few changes that flip most rows of a group. A target is a class, or for
numbers :class:`Raise`, :class:`Lower` or :class:`Between`.
"""

from xcid.whatif.actions import Actions, group_actions
from xcid.whatif.goals import Between, Lower, Raise

__all__ = ["Actions", "Between", "Lower", "Raise", "group_actions"]
