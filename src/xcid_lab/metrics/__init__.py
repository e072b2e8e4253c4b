"""More figures of merit: how often scores flip a decision, and means with their margins."""

from xcid_lab.metrics.flips import FlipShares, flip_necessity, flip_shares, flip_sufficiency
from xcid_lab.metrics.summary import Interval, interval, paired

__all__ = ["FlipShares", "Interval", "flip_necessity", "flip_shares", "flip_sufficiency", "interval", "paired"]
