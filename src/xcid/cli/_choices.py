"""Names that can be typed, for the parser: nothing is imported for them."""

from __future__ import annotations

MODELS = ("logistic", "forest", "boosting", "network")
METHODS = ("xcid", "paper", "shap", "lime", "dice", "occlusion", "chance")
ROWS_OF_A_CHUNK, MOST_OF_A_CHUNK = 256, 65_536  # of a large run; an explainer takes 256 at once
