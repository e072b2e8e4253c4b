"""Any model becomes one checked function from a matrix to an (n, k) matrix of outputs."""

from xcid.models.predictor import Predictor, agrees, is_near, see, wrap
from xcid.models.tables import Reader, names_for
