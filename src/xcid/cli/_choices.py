"""Names that can be typed, for the parser: nothing is imported for them."""

from __future__ import annotations

MODELS = ("logistic", "forest", "boosting", "network")
METHODS = ("xcid", "paper", "shap", "lime", "dice", "occlusion", "chance")
