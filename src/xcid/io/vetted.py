"""Types that a .skops file may bring without a question, beside those that skops knows by itself.

skops makes an object by ``cls.__new__`` and ``__setstate__`` (or by a constructor that the file cannot choose), and
every part of it must be of a trusted type too. So a type may stand here if neither of the two runs what the file says:
each was read for that, and the reason is beside it; it also says by which of skops' nodes the type may come, since a
constructor may open files that a state cannot. What its content may do, a type does not say: compiled code that
walks a tree does not look whether an index lies within it. ``trial`` calls the model in another process first.
"""

from __future__ import annotations

STATE_ONLY = "takes its attributes as they are"
COMPILED = "compiled; copies arrays and numbers"
NUMBERS_ONLY = "a function of arrays, without any other effect"

_SKLEARN = {
    "_loss.loss.HalfTweedieLoss": STATE_ONLY,
    "_loss.loss.HalfTweedieLossIdentity": STATE_ONLY,
    "calibration._CalibratedClassifier": STATE_ONLY,
    "calibration._SigmoidCalibration": STATE_ONLY,
    "calibration._TemperatureScaling": STATE_ONLY,
    "ensemble._hist_gradient_boosting.predictor.TreePredictor": COMPILED,
    "feature_selection._univariate_selection.chi2": NUMBERS_ONLY,
    "feature_selection._univariate_selection.f_classif": NUMBERS_ONLY,
    "feature_selection._univariate_selection.f_regression": NUMBERS_ONLY,
    "gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace": STATE_ONLY,
    "gaussian_process.kernels.ConstantKernel": STATE_ONLY,
    "gaussian_process.kernels.DotProduct": STATE_ONLY,
    "gaussian_process.kernels.Matern": STATE_ONLY,
    "gaussian_process.kernels.Product": STATE_ONLY,
    "gaussian_process.kernels.RBF": STATE_ONLY,
    "gaussian_process.kernels.RationalQuadratic": STATE_ONLY,
    "gaussian_process.kernels.Sum": STATE_ONLY,
    "gaussian_process.kernels.WhiteKernel": STATE_ONLY,
    "metrics._dist_metrics.ChebyshevDistance64": "compiled; takes a number and an array by their names",
    "metrics._dist_metrics.EuclideanDistance64": "compiled; takes a number and an array by their names",
    "metrics._dist_metrics.ManhattanDistance64": "compiled; takes a number and an array by their names",
    "metrics._scorer._PassthroughScorer": STATE_ONLY,
    "model_selection._split.KFold": STATE_ONLY,
    "model_selection._split.StratifiedKFold": STATE_ONLY,
    "multiclass._ConstantPredictor": STATE_ONLY,
    "neighbors._ball_tree.BallTree": COMPILED,
    "neighbors._kd_tree.KDTree": COMPILED,
    "neural_network._stochastic_optimizers.AdamOptimizer": STATE_ONLY,
    "neural_network._stochastic_optimizers.SGDOptimizer": STATE_ONLY,
    "tree._tree.Tree": COMPILED,
    "utils._bunch.Bunch": "a dict; its __setstate__ does nothing",
    "utils.validation.check_array": NUMBERS_ONLY,
}

VETTED = {f"sklearn.{name}": reason for name, reason in _SKLEARN.items()} | {
    "collections.OrderedDict": "a dict",
    "functools.partial": "calls nothing when it is made, and its function must be trusted by itself",
    "lightgbm.basic.Booster": "its __setstate__ hands the text of the model to LightGBM's own reader of text",
    "lightgbm.sklearn.LGBMClassifier": STATE_ONLY,
    "lightgbm.sklearn.LGBMRegressor": STATE_ONLY,
    "numpy.dtype": "made of the names of plain types",
    "scipy._lib.array_api_compat.numpy._aliases.asarray": NUMBERS_ONLY,
    "scipy.interpolate._bsplines.BSpline": STATE_ONLY,
    "xgboost.core.Booster": "its __setstate__ hands the bytes of the model to XGBoost's own reader",
    "xgboost.sklearn.XGBClassifier": STATE_ONLY,
    "xgboost.sklearn.XGBRFClassifier": STATE_ONLY,
    "xgboost.sklearn.XGBRFRegressor": STATE_ONLY,
    "xgboost.sklearn.XGBRegressor": STATE_ONLY,
}


_MAKERS = {
    NUMBERS_ONLY: ("FunctionNode",),
    VETTED["collections.OrderedDict"]: ("DictNode", "TypeNode"),
    VETTED["functools.partial"]: ("PartialNode",),
    VETTED["numpy.dtype"]: ("DTypeNode",),
    VETTED["sklearn.utils._bunch.Bunch"]: ("DictNode", "ObjectNode"),
    COMPILED: ("ObjectNode", "TreeNode"),
}


def makers(name: str) -> tuple[str, ...]:
    """Nodes of skops by which a vetted type may come."""
    return (*_MAKERS.get(VETTED[name], ("ObjectNode",)), "CachedNode")
