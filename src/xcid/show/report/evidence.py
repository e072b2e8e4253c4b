"""What importance is measured by, in few plain numbers: densities to draw, and changes that would flip it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from xcid import directions
from xcid._check import name_class
from xcid.cid.drawn import DrawnPair, drawn, kept_shares
from xcid.errors import EvidenceNotKept, NotEnoughFlips
from xcid.records import Array, DensityPair, Explanation, Flags, Integers
from xcid.show import wording
from xcid.show.report.page import Values
from xcid.show.report.rows import round_number
from xcid.show.wording import rows as words
from xcid.show.wording.names import clean
from xcid.whatif.record import Change, Counterfactuals
from xcid.whatif.samples import find_flips

CELLS = 64  # of a curve
TOP = 999  # a curve goes from 0 to this
THOUSANDTHS = 1_000
TAIL = 5e-4  # of the mass of each curve is cut off at either end
MOST_ATOMS = 24
MOST_LEVELS = 14
MOST_CHANGES = 8  # of a counterfactual that are listed
NEAREST = 3

Picture: TypeAlias = dict[str, Any]
"""What ``drawEvidence`` of the page draws.

``kind`` "number": ``range`` [low, high] of the axis; ``p`` and ``q`` curves over it in cells of one width, as shares
TOP of ``peak``; ``atoms`` [place, p, q] in thousandths; ``missing`` [p, q]; ``own`` place, None where it is missing;
``unit`` of dates; ``dropped`` atoms; ``scale``, where it is there, of places that are arcsinh(value / scale). ``why``
in words. ``kind`` "levels": ``names``, ``p``, ``q`` in thousandths, ``own`` position.
``kind`` "shares" (of a group): ``p`` and ``q`` in ten equal classes of the share of flips.
"""


def describe_evidence(explanation: Explanation, row: int, feature: int, values: Values) -> Picture:
    """Give what has to be drawn for one score, and said of it."""
    cloud, density = directions.require_evidence(explanation)
    shown = "its value" if values.is_hidden else clean(explanation.shown(row, feature), wording.MOST_LETTERS)
    columns = explanation.details.features[feature]
    found = drawn(cloud, row, feature, density) if len(columns) == 1 else None
    pair = directions.evidence(explanation, row, feature) if found is None else found.pair
    kept, verb = kept_shares(cloud, row, feature, found), wording.choose_verb(explanation)
    noise = words.measure_noise(explanation, row, feature, pair)
    drawn_apart = "" if noise is None else f" These curves, drawn through few samples, have a d1 of {noise:.2f}."
    why = {"why": words.word_evidence(kept, shown, verb) + drawn_apart}
    if found is None:
        return _draw_shares(pair) | why
    (column,) = columns
    own = float(explanation.data[row, column])
    if explanation.details.levels[column]:
        return _draw_levels(pair, explanation.details.levels[column], own, values) | why
    return _draw_number(found, own, explanation.details.units[column], values) | why


def _draw_number(found: DrawnPair, own: float, unit: str, values: Values) -> Picture:
    pair, own = found.pair, float(found.places(np.array(own)))
    is_missing = np.isnan(pair.points)
    cells, atoms, missing = pair[~pair.atoms], pair[pair.atoms & ~is_missing], pair[is_missing]
    atoms, dropped = _keep_strongest(atoms, own)
    low, high = _find_range(cells, np.append(atoms.points, own))
    p, q = _average_curves(cells, low, high)
    peak = max(float(p.max()), float(q.max()))
    place = values.line(low, high)
    picture: Picture = {
        "kind": "number",
        "range": _shorten_all(place(np.array([low, high]))),
        "p": _round_all(p / peak * TOP) if peak > 0 else [],
        "q": _round_all(q / peak * TOP) if peak > 0 else [],
        "atoms": [
            [at, *_round_all(THOUSANDTHS * np.array(masses))]
            for at, *masses in zip(_shorten_all(place(atoms.points)), atoms.p, atoms.q, strict=True)
        ],
        "own": None if np.isnan(own) else _shorten_all(place(np.array([own])))[0],
    }
    if not values.is_hidden:
        picture |= {"peak": float(f"{peak:.4g}"), "unit": unit} | ({"scale": found.width} if found.width else {})
    if missing.points.size:
        picture["missing"] = _round_all(THOUSANDTHS * np.array([missing.p.sum(), missing.q.sum()]))
    return picture | ({"dropped": dropped} if dropped else {})


def _draw_levels(pair: DensityPair, names: tuple[str, ...], own: float, values: Values) -> Picture:
    """Masses of levels in their order, missing cells and what is left out last."""
    codes = np.where(np.isnan(pair.points), len(names), pair.points).astype(np.int64)
    own_code = len(names) if np.isnan(own) else int(own)
    mass = pair.p + pair.q + 2.0 * (codes == own_code)
    kept = np.sort(np.argsort(-mass, kind="stable")[:MOST_LEVELS])
    all_names = (*names, "missing")
    shown = [values.level(at, all_names[codes[index]]) for at, index in enumerate(kept.tolist())]
    p, q = pair.p[kept], pair.q[kept]
    if len(codes) > len(kept):
        shown.append(f"{len(codes) - len(kept)} others")
        p, q = np.append(p, pair.p.sum() - p.sum()), np.append(q, pair.q.sum() - q.sum())
    where = np.flatnonzero(codes[kept] == own_code)
    return {
        "kind": "levels",
        "names": shown,
        "p": _round_all(THOUSANDTHS * p),
        "q": _round_all(THOUSANDTHS * q),
        "own": int(where[0]) if where.size else None,
    }


def _draw_shares(pair: DensityPair) -> Picture:
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * density)[0] for density in (pair.p, pair.q))
    return {"kind": "shares", "p": _round_all(THOUSANDTHS * p), "q": _round_all(THOUSANDTHS * q)}


def _keep_strongest(atoms: DensityPair, own: float) -> tuple[DensityPair, int]:
    """The atoms with most mass and the one at the own value, in their order, and how many others there are."""
    mass = atoms.p + atoms.q + 2.0 * (atoms.points == own)
    kept = np.sort(np.argsort(-mass, kind="stable")[:MOST_ATOMS])
    return atoms[kept], len(mass) - len(kept)


def _find_range(cells: DensityPair, places: Array) -> tuple[float, float]:
    """From where to where there is something to see."""
    ends = [places[np.isfinite(places)]]
    for density in (cells.p, cells.q):
        mass = np.cumsum(cells.weights * density)
        if mass.size and mass[-1] > 0:
            inside: Integers = np.searchsorted(mass / mass[-1], [TAIL, 1 - TAIL])
            ends.append(cells.points[np.minimum(inside, mass.size - 1)])
    there = np.concatenate(ends)
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    margin = 0.04 * (high - low) or abs(low) * 0.1 or 1.0
    return low - margin, high + margin


def _average_curves(cells: DensityPair, low: float, high: float) -> list[Array]:
    """Mean densities of C+ and C- over equal cells from low to high: the mass in each of them, by its width."""
    if not cells.points.size:
        return [np.zeros(CELLS)] * 2
    at = np.stack([cells.points - cells.weights / 2, cells.points + cells.weights / 2], axis=1).ravel()
    is_rising: Flags = np.maximum.accumulate(at) <= at  # neighbours may overlap in their last digits
    edges, rising, found = np.linspace(low, high, CELLS + 1), at[is_rising], []
    for density in (cells.p, cells.q):
        mass = cells.weights * density
        total = np.cumsum(mass)
        reached = np.interp(edges, rising, np.stack([total - mass, total], axis=1).ravel()[is_rising])
        found.append(np.maximum(np.diff(reached), 0.0) / ((high - low) / CELLS))
    return found


def _round_all(numbers: Array) -> list[int]:
    return [int(number) for number in np.rint(numbers)]


def _shorten_all(numbers: Array) -> list[float]:
    return [float(f"{number:.7g}") for number in numbers]


def list_changes_found(found: Counterfactuals, row: int, values: Values) -> list[dict[str, Any]]:
    """The counterfactuals of a row that a search found.

    Each has its ``kind``, the ``changes`` in the order in which they work best ([feature, before, after, what it adds
    to the output, the output then]), how many ``more`` there are, what the output ``was``, the ``output`` now, the
    class that this is ``about`` (none for a regression), its ``likeness`` to real rows, what ``proof`` there is,
    whether that says that nothing gets there (``impossible``), the ``digits`` of probabilities, what usually ``hurts``,
    and how likely a model of other data agrees (``survival``).
    """
    return [_line(found, int(line), values) for line in np.flatnonzero(found.row == row)]


def _line(found: Counterfactuals, line: int, values: Values) -> dict[str, Any]:
    changes = (*found.changes(line), *found.derived(line))
    is_number = found.is_number(line)
    has_numbers = not (values.is_hidden and is_number)
    record: dict[str, Any] = {
        "kind": str(found.kind[line]),
        "changes": [_change(change, values, has_numbers) for change in changes[:MOST_CHANGES]],
        "more": max(0, len(changes) - MOST_CHANGES),
        "likeness": str(found.likeness[line]),
        "proof": found.proved(line),
        "impossible": str(found.proof[line]) == "none exists",
        "digits": int(found.digits[line]),
        "hurts": clean(found.hurts(line)),
        "survival": found.lasts(line),
        "about": "" if is_number else name_class(clean(found.about[line])),
    }
    return record | (_outputs(found.was[line], found.output[line]) if has_numbers else {})


def _change(change: Change, values: Values, has_numbers: bool) -> list[Any]:
    cells = [clean(change.feature), values.cell(change.before), values.cell(change.after)]
    return [*cells, _round_finite(change.share), _round_finite(change.output)] if has_numbers else cells


def list_changes_sampled(explanation: Explanation, row: int, values: Values) -> list[dict[str, Any]]:
    """The nearest perturbations that flip a row, among those of the explanation: without shares and likeness."""
    try:
        flips = find_flips(explanation, row, NEAREST, 0)
    except (EvidenceNotKept, NotEnoughFlips):
        return []
    found = []
    for at, flip in enumerate(flips.rows):
        record = _largest_changes(explanation, row, flip, flips.moved[at], values)
        outputs = None if flips.outputs is None else flips.outputs[at]
        found.append(record | _compare_outputs(explanation, row, outputs, values))
    return found


def _largest_changes(explanation: Explanation, row: int, flip: Array, moved: Array, values: Values) -> dict[str, Any]:
    """The largest changes of a flip, in mean absolute deviations, and how many more there are."""
    own, details, columns = explanation.data[row], explanation.details, np.flatnonzero(moved)
    scale, has_levels = np.array(details.scales)[columns], [bool(details.levels[at]) for at in columns]
    by_number = np.abs(flip - own)[columns] / np.where(scale > 0, scale, np.nan)
    far = np.nan_to_num(np.where(has_levels, 1.0, by_number), nan=1.0)
    first = columns[wording.rank_largest(far, MOST_CHANGES)].tolist()
    listed = [
        [clean(details.column_names[at]), *(values.cell(details.cell(row[at], at)) for row in (own, flip))]
        for at in first
    ]
    return {"changes": listed, "more": len(columns) - len(first)}


def _compare_outputs(explanation: Explanation, row: int, outputs: Array | None, values: Values) -> dict[str, Any]:
    """The output before and after, of the class that is then predicted, or whose output moves most."""
    own = explanation.outputs[row]
    if outputs is None or np.isnan(outputs).any() or outputs.shape != own.shape:
        return {}
    if len(own) == 1:
        return {} if values.is_hidden else {"about": "", **_outputs(own[0], outputs[0])}
    is_other = outputs.argmax() != own.argmax()
    at = int(outputs.argmax() if is_other else np.abs(outputs - own).argmax())
    return {"about": name_class(clean(explanation.output_names[at])), **_outputs(own[at], outputs[at])}


def _outputs(was: float, output: float) -> dict[str, Any]:
    return {"was": _round_finite(was), "output": _round_finite(output)}


def _round_finite(value: float) -> float | None:
    return round_number(float(value)) if np.isfinite(value) else None
