"""Counterfactuals that the user brings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcid._check import as_int
from xcid._kernels.random import content_keys
from xcid.cid.generators.reach import Reach
from xcid.cid.generators.search import Member, Search, lacking
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """Samples of your own, which the model splits into positives and negatives.

    Samples that a row may not become under the constraints, or that leave the reference data's range, are left out for
    that row; the others are taken as they are. Nothing is drawn: the seed makes no difference. Grouped columns must
    hold combinations that the reference data have.

    Parameters
    ----------
    samples : table, or one table for each row
        A data frame or an array (s, d) that serves every row; with ``rows``, a sequence of n tables or an array
        (n, s, d).
    rows : table, optional
        The n rows that the tables belong to. A row that is explained finds its own table by its values; of equal rows
        the first counts.
    m : int
        Positives and negatives that a row must have to be "ok".
    """

    samples: Any = field(repr=False)
    rows: Any = field(default=None, repr=False)
    m: int = 10

    def __post_init__(self) -> None:
        as_int(self.m, "m (samples of each kind)", at_least=1)
        if self.rows is None and getattr(self.samples, "ndim", 2) != 2:
            raise InvalidParameter(
                f"the given samples have the shape {self.samples.shape}: give a table (s, d) for all rows, or say with "
                "rows=... which rows the tables of an array (n, s, d) belong to"
            )

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        tables = [self.samples] if self.rows is None else list(self.samples)
        which = np.zeros(len(rows), dtype=np.int64) if self.rows is None else self._tables_of(rows, space, len(tables))
        size = max(len(table) for table in tables)
        samples, there = np.repeat(rows[:, None], size, axis=1), np.zeros((len(rows), size), dtype=bool)
        for number in np.unique(which):
            one = _encoded(tables[number], space, "the given samples")
            samples[which == number, : len(one)], there[which == number, : len(one)] = one, True
        there &= Reach.of(rows, space).allows(samples).all(axis=2)
        positive, _ = Search(rows, space, member, 0, size).ask(np.arange(len(rows)), samples, there)
        flips = (there & (positive > 0.5)).sum(axis=1)
        n_asked = there.sum(axis=1)
        status = lacking(flips < self.m, n_asked - flips < self.m)
        return Perturbations(rows, samples, positive, (1 - positive) * there, n_asked, status, space.discrete)

    def _tables_of(self, rows: Array, space: FeatureSpace, n_tables: int) -> Integers:
        """(n,) the table of each row."""
        owners = _encoded(self.rows, space, "the rows of the given samples")
        if len(owners) != n_tables:
            raise InvalidParameter(f"there are {n_tables} tables of samples for {len(owners)} rows: give one for each")
        known, first = np.unique(content_keys(owners, seed=0), return_index=True)
        wanted = content_keys(rows, seed=0)
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        strange = np.flatnonzero(known[place] != wanted)
        if strange.size:
            raise InvalidParameter(
                f"{strange.size} of {len(rows)} rows are not among the {len(owners)} rows that samples were given for, "
                f"row {strange[0]} for one: {rows[strange[0]].tolist()}"
            )
        return first[place]


def _encoded(table: Any, space: FeatureSpace, what: str) -> Array:
    """Encode a table that is a setting; refuse joint values of a group that have no code."""
    try:
        cells = space.encode(table, what)
    except InvalidData as error:
        raise InvalidParameter(str(error)) from error
    unknown = np.argwhere((cells < 0) & space.discrete)
    if len(unknown):
        group = space.names[unknown[0, 1]]
        raise InvalidParameter(
            f"{what} have values of the group {group!r} in row {unknown[0, 0]} that the reference data "
            f"do not have together ({len(unknown)} such rows in all): a group changes only to what they have"
        )
    return cells
