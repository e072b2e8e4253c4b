"""What the features are, and the way between tables and float64 matrices.

This is the only room that knows data frames. Everything behind it works on matrices: numbers stand for themselves,
levels of a category for their position, and NaN for a missing cell.
"""

from xcid.records import Backend
from xcid.space.columns import Column, Kind, is_missing
from xcid.space.constraints import Constraints
from xcid.space.features import FeatureSpace
from xcid.space.groups import Features
from xcid.space.makers import ToRows, cells_maker, frame_maker, in_order, require_backend
from xcid.space.rules import Rows, Rules
from xcid.space.tables import labels
from xcid.space.unseen import Met, first_unseen, met

__all__ = [
    "Backend",
    "Column",
    "Constraints",
    "FeatureSpace",
    "Features",
    "Kind",
    "Met",
    "Rows",
    "Rules",
    "ToRows",
    "cells_maker",
    "first_unseen",
    "frame_maker",
    "in_order",
    "is_missing",
    "labels",
    "met",
    "require_backend",
]
