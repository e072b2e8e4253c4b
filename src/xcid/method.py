"""CID, the paper's method, by its name."""

from __future__ import annotations

from typing import Any

from xcid.cid.densities.bandwidths import Bandwidth
from xcid.cid.generators.search import Generator
from xcid.cid.method import BANDWIDTH, KERNEL, M, paper_parts
from xcid.explainer import Explainer


class CID(Explainer):
    """Counterfactual Importance Distribution: the method of the paper, nothing added and nothing calibrated.

    Positive counterfactuals C+ flip the output and negative ones C- do not. For each feature the densities p of its
    values in C+ and q of those in C- are estimated, and its importance is d_k(p, q) = k - ∫min(p, q) / ∫max(p, q).
    ``values`` are these unsigned distances and equal ``importance``. Every part can be replaced by itself.

    E. Conti, Á. Parafita and A. Brando, "CID: Measuring Feature Importance Through Counterfactual Distributions",
    NLDL 2026, arXiv 2511.15371.

    Parameters
    ----------
    model : object
        As for :class:`xcid.Explainer`.
    reference : table
        Rows that show what values are usual: the training data.
    m : int
        Counterfactuals of either kind.
    repeats : int
        Independent runs of each row, whose distances are averaged; the paper's tables take 10.
    kernel : str
        "gaussian", "epanechnikov", "exponential", "tophat", "triangular" or "cosine".
    bandwidth : str, float or Bandwidth
        "silverman", "scott" (of each set by itself), "pooled-silverman", "pooled-scott" or a number.
    generator : str or Generator
        "random", "genetic" or "gradient" (for PyTorch modules), after DiCE's methods; or any object of
        :mod:`xcid.generators`, with its own m: ``xcid.generators.Dice()`` asks dice-ml itself.
    k : float
        From 1 up; d_1 lies between 0 and 1.
    **settings
        The other settings of :class:`xcid.Explainer`. A ``density`` takes the place of kernel and bandwidth. Without an
        ``outcome`` sets are hard: a perturbation is in one of them, and in both only where two classes tie.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> table = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = xcid.CID(lambda X: X[:, 1] > 0, table, feature_names=["a", "b", "c"])(table[:1])
    >>> explanation.feature_names[int(np.argmax(explanation.values[0]))], bool(explanation.values.min() >= 0)
    ('b', True)
    """

    __slots__ = ()

    def __init__(
        self,
        model: Any,
        reference: Any,
        *,
        m: int = M,
        repeats: int = 1,
        kernel: str = KERNEL,
        bandwidth: str | float | Bandwidth = BANDWIDTH,
        generator: str | Generator = "random",
        k: float = 1.0,
        **settings: Any,
    ) -> None:
        chosen: dict[str, Any] = {"m": m, "kernel": kernel, "bandwidth": bandwidth, "generator": generator, "k": k}
        super().__init__(model, reference, repeats=repeats, **paper_parts(model, **chosen, **settings))

    def __repr__(self) -> str:
        return super().__repr__().replace("xcid.Explainer", "xcid.CID", 1)
