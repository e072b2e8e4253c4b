"""xcid explains single decisions of any model: what a value did, what the decision hangs on, what would change it.

>>> import xcid
>>> explainer = xcid.Explainer(model, reference)  # doctest: +SKIP
>>> explanation = explainer(rows)                 # doctest: +SKIP

Importance, what a decision hangs on, comes from CID, counterfactual importance distributions; ``xcid.CID`` is the
method as its paper has it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xcid import (
        app,
        calibration,
        datasets,
        densities,
        distances,
        engines,
        errors,
        generators,
        metrics,
        outcomes,
        plots,
        scores,
        whatif,
    )
    from xcid.cid.per_feature import d1
    from xcid.errors import XcidError, XcidWarning
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation, load
    from xcid.method import CID
    from xcid.models.refits import refits
    from xcid.records import DensityPair, Perturbations
    from xcid.show.reasons import Reasons
    from xcid.table import Constraints

__version__ = "0.1.0"

__all__ = [
    "CID",
    "Constraints",
    "DensityPair",
    "Explainer",
    "Explanation",
    "Perturbations",
    "Reasons",
    "XcidError",
    "XcidWarning",
    "__version__",
    "app",
    "calibration",
    "d1",
    "datasets",
    "densities",
    "distances",
    "engines",
    "errors",
    "generators",
    "load",
    "metrics",
    "outcomes",
    "plots",
    "refits",
    "scores",
    "whatif",
]

_HOMES = {
    "CID": "xcid.method",
    "Constraints": "xcid.table",
    "DensityPair": "xcid.records",
    "Explainer": "xcid.explainer",
    "Explanation": "xcid.explanation",
    "Perturbations": "xcid.records",
    "Reasons": "xcid.show.reasons",
    "XcidError": "xcid.errors",
    "XcidWarning": "xcid.errors",
    "d1": "xcid.cid.per_feature",
    "load": "xcid.explanation",
    "refits": "xcid.models.refits",
}  # all other names are rooms


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: the command line answers before NumPy and SciPy are loaded."""
    if name not in __all__:
        raise AttributeError(f"module 'xcid' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name) if name in _HOMES else import_module(f"xcid.{name}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
