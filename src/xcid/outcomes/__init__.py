"""Questions: what counts as a flip. ``outcome(outputs, reference) -> membership``.

``outputs`` (N, k) are the model's answers for perturbed rows, ``reference`` (N, k) those for the rows they come from;
the result (N,) is 1 where the output lies on the far side of the question and 0 where it does not, or a number between
that says how far it belongs there. Any function with that signature is an outcome. A perturbation flips when it lies
on the other side than the row itself: a row that is already in the wanted class is explained by what would take it
out.

Three methods are optional. ``bind(names, outputs) -> outcome`` lets an outcome know the model first: the names of its
outputs and its outputs for the background. ``where(output, names, number) -> str`` says in words on which side the
(k,) output of a row lies ("it above 0.5"), with ``number`` to write numbers; "" stands for the predicted class itself.
``asks(names, number) -> str`` puts the question in words.
"""

from xcid.outcomes.classes import Flip, SoftFlip, SoftToClass, ToClass
from xcid.outcomes.numbers import HardThreshold, Interval, SoftInterval, SoftThreshold, Threshold, Within
from xcid.records import Outcome

__all__ = [
    "Flip",
    "HardThreshold",
    "Interval",
    "Outcome",
    "SoftFlip",
    "SoftInterval",
    "SoftThreshold",
    "SoftToClass",
    "Threshold",
    "ToClass",
    "Within",
]
