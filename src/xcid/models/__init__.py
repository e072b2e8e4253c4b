"""Any model becomes one checked function from a matrix to an (n, k) matrix of outputs."""

from xcid.models.predictor import Predictor, wrap
from xcid.models.tables import Reader, names_for

__all__ = ["Predictor", "Reader", "names_for", "wrap"]
