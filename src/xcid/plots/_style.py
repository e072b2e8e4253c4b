"""One look for all pictures; the colours are Okabe and Ito's, which colour-blind people can tell apart."""

from __future__ import annotations

POSITIVE = "#0072B2"
NEGATIVE = "#E69F00"
OVERLAP = "#999999"
HOLDS = "#009E73"
PULLS = "#D55E00"
INK = "#333333"
SIGNIFICANT = 0.05
