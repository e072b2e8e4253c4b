"""Questions: what counts as a flip, and what a search for counterfactuals wants.

``outcome(outputs, reference) -> membership``: ``outputs`` (N, k) are the model's for perturbed rows, ``reference``
(N, k) those for the rows they come from; the result (N,) is 1 where the output lies on the far side of the question and
0 where it does not, or a number between that says how far it belongs there. Any function with that signature is an
outcome. A perturbation flips when it lies on the other side than the row itself: a row that is already in the wanted
class is explained by what would take it out.

An outcome that inherits from :class:`Question` may say more of itself: ``bind`` lets it know the model first, ``gain``
guides a search, ``target`` is the class that it is about, and ``describe`` puts it in words. All of them serve as
``outcome`` of an explainer and as ``target`` of its counterfactuals.
"""

from xcid.outcomes.classes import Flip, ToClass
from xcid.outcomes.numbers import Interval, Lower, Raise, Threshold, Within
from xcid.outcomes.protocol import Question
from xcid.records import Outcome as Outcome  # what annotations call it

__all__ = ["Flip", "Interval", "Lower", "Question", "Raise", "Threshold", "ToClass", "Within"]


def __dir__() -> list[str]:
    return __all__
