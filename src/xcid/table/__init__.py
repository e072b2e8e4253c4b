"""What the features are, and the way between tables and float64 matrices.

This is the only room that knows data frames. Everything behind it works on matrices: numbers stand for themselves,
levels of a category for their position, and NaN for a missing cell.
"""

from xcid.records import Backend
from xcid.table.columns import Column, Kind, is_missing
from xcid.table.constraints import Constraints
from xcid.table.features import FeatureSpace
from xcid.table.groups import Features
from xcid.table.makers import (
    Met,
    ToRows,
    cells_maker,
    encode_unseen,
    flag_unseen,
    frame_maker,
    frame_of,
    in_order,
    require_backend,
)
from xcid.table.rules import RowView, Rules
from xcid.table.tables import labels
