"""How a row or a feature ended: each status has its name, its meaning and its advice here and nowhere else.

To add one, add a line: messages, reports and the app take their sentences from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Status(NamedTuple):
    """A name that an explanation records, a sentence that says what it means, and what can be done about it."""

    name: str
    meaning: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """Rows that could not be explained: what is known of them, until somebody words it."""

    code: str  # the status of the first of them
    place: int  # of the first among all rows
    count: int
    n_rows: int
    reason: str  # why the first could not: what the model said, or what its status means

    def __str__(self) -> str:
        failed = f"{self.count} of {self.n_rows} rows could not be explained, see explanation.status"
        return f"{failed}; the first: {self.reason}"


_SEARCH = (
    "search for rare flips with generator=xcid.generators.Growing(), raise the generator's budget, use "
    "reference data that vary more, or relax the constraints"
)
_ROWS = (
    Status("ok", "the row is explained"),
    Status(
        "insufficient_flips",
        "fewer perturbations flip the output than were asked for: read the scores with care",
        _SEARCH,
    ),
    Status(
        "insufficient_stays",
        "fewer perturbations keep the output than were asked for: read the scores with care",
        _SEARCH,
    ),
    Status("rare_flips", "flips are so rare that a directed search had to find them"),
    Status("rare_stays", "perturbations that keep the output are so rare that a directed search had to find them"),
    Status("no_flips", "no perturbation flips the output: the scores rest on probabilities alone"),
    Status("few_flips", "fewer than five perturbations flip the output: the scores rest on probabilities"),
    Status(
        "model_failed",
        "the model failed for this row or its perturbations",
        "call the model with this row alone",
    ),
    Status(
        "unseen_value",
        "the row holds a level or a missing cell that the reference data do not have, and the model cannot take it",
        "add such rows to the reference data, or give a model that takes them, such as handle_unknown='ignore' does",
    ),
    Status("too_slow", "the model took longer than time_limit allows", "raise time_limit"),
    Status("some_rows_lack_samples", "some rows behind this average have too few perturbations that flip or stay"),
)
_FEATURES = (
    Status("ok", "the feature may change"),
    Status("frozen", "the constraints keep the feature as it is"),
    Status("constant", "no other value of the feature is allowed here"),
)

STATUSES: Mapping[str, Status] = {status.name: status for status in _ROWS}
UNKNOWN = ("model_failed", "unseen_value", "too_slow")  # of rows that failed
POOR = ("insufficient_flips", "insufficient_stays")  # of rows that have fewer perturbations of a kind than asked for
FEATURE_STATUSES: Mapping[str, Status] = {status.name: status for status in _FEATURES}


def meaning(name: str, known: Mapping[str, Status] = STATUSES) -> str:
    """What a status means; one that is not known, such as that of a newer version, says its name."""
    return known[name].meaning if name in known else f"status: {name}"
