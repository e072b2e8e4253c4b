"""Other methods behind the same call, to compare with: ``Baseline(model, background)(X, seed=0) -> Explanation``.

``model`` and ``background`` are those of :class:`xcid.Explainer`. Each method is set up as its authors would want it,
with enough evaluations, and its model evaluations are counted. Scores are signed where the method knows a sign: above 0
the present value supports the class that is predicted for the row, or raises the output of a regression. ``importance``
is a feature's share in the absolute scores of the row.
"""

from xcid.baselines.lime import Lime
from xcid.baselines.plain import Chance, DiceImportance, Occlusion
from xcid.baselines.shap import Shap

__all__ = ["Chance", "DiceImportance", "Lime", "Occlusion", "Shap"]
