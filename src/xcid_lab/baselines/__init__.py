"""Other methods behind the same call, to compare with: ``Baseline(model, background)(X, seed=0) -> Explanation``.

``model`` and ``background`` are those of :class:`xcid.Explainer`. Each method is set up as its authors would want it,
with enough evaluations, and its model evaluations are counted. Scores are signed where the method knows a sign: above 0
the present value supports the class that is predicted for the row, or raises the output of a regression. ``importance``
is a feature's share in the absolute scores of the row. ``lower`` and ``upper`` are there where the method has limits.
"""

from xcid_lab.baselines.bayes import BayesShap
from xcid_lab.baselines.counterfactual import CounterfactualShap
from xcid_lab.baselines.lime import Lime
from xcid_lab.baselines.plain import Chance, DiceImportance, Occlusion
from xcid_lab.baselines.regional import RegionalSensitivity, cramer_von_mises, kolmogorov_smirnov
from xcid_lab.baselines.shap import Shap
from xcid_lab.baselines.shapiq import Shapiq

__all__ = [
    "BayesShap",
    "Chance",
    "CounterfactualShap",
    "DiceImportance",
    "Lime",
    "Occlusion",
    "RegionalSensitivity",
    "Shap",
    "Shapiq",
    "cramer_von_mises",
    "kolmogorov_smirnov",
]
