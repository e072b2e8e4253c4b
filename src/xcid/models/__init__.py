"""Any model becomes one checked function from a matrix to an (n, k) matrix of outputs."""

from xcid.models.names import names_for
from xcid.models.predictor import Predictor, wrap
from xcid.models.readers import Reader

__all__ = ["Predictor", "Reader", "names_for", "wrap"]
