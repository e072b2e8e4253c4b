"""xcid explains single decisions of any model by counterfactual importance distributions.

>>> import xcid
>>> explainer = xcid.Explainer(model, background)  # doctest: +SKIP
>>> explanation = explainer(rows)                  # doctest: +SKIP
"""

from xcid import (
    baselines,
    calibration,
    datasets,
    densities,
    distances,
    errors,
    generators,
    metrics,
    outcomes,
    plots,
    scores,
)
from xcid._data import DensityPair, Explanation, Perturbations
from xcid._one_feature import d1
from xcid.errors import XcidError, XcidWarning
from xcid.explainer import Explainer
from xcid.io import load
from xcid.space import Constraints

__version__ = "0.1.0"

__all__ = [
    "Constraints",
    "DensityPair",
    "Explainer",
    "Explanation",
    "Perturbations",
    "XcidError",
    "XcidWarning",
    "__version__",
    "baselines",
    "calibration",
    "d1",
    "datasets",
    "densities",
    "distances",
    "errors",
    "generators",
    "load",
    "metrics",
    "outcomes",
    "plots",
    "scores",
]
