"""Trees that are read from inside, beside calling the same model, and beside other readers of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product, starmap
from typing import Any, NamedTuple

from xcid._kernels.random import run_key
from xcid._require import require
from xcid.explainer import Explainer
from xcid.generators import Balanced
from xcid.native import library
from xcid.records import Array
from xcid_lab.bench.peers import N_BACKGROUND, Peer, background, tree_shap
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import Contestant, Extent, Timing, race, ratio
from xcid_lab.markdown import Cell, Table
from xcid_lab.subjects import Subject, in_arrays

TREES, EXACT = "trees read from inside", "exact contributions of trees alone"
CALLED_ROWS = 16  # that calling is timed on
LINES = {
    "xcid, called": "xcid, calling the same model with the same samples",
    "the model alone": "the model's own predictions of the samples, without explaining",
    "TreeSHAP": "shap's TreeExplainer along the paths",
    "TreeSHAP, interventional": f"the same with {N_BACKGROUND} background rows",
    "contributions": "pred_contribs of XGBoost, pred_contrib of LightGBM",
    "woodelf": f"WoodelfExplainer with {N_BACKGROUND} background rows, if it is installed",
    "fasttreeshap": "fasttreeshap's TreeExplainer, if it is installed (0.1.6 needs NumPy below 2)",
}
CALLING = {"forest": 10.0, "extra trees": 10.0, "histogram boosting": 10.0, "LightGBM": 10.0, "XGBoost": 5.0}
FORESTS, SMALL, WIDE = ("forest", "extra trees"), 13, 57


class _Called(NamedTuple):
    """The same model, which is not known from inside."""

    predict_proba: Callable[[Any], Any]


def trees(extent: Extent) -> Iterator[Figure | Table]:
    """Explanations by reading, at the evaluations a row that calling gets."""
    lines: list[tuple[Cell, ...]] = []
    installed = [name for name, module in (("XGBoost", "xgboost"), ("LightGBM", "lightgbm")) if find_spec(module)]
    for subject in starmap(in_arrays, product(extent.tree_tables, (*extent.tree_models, *installed))):
        found = _race(subject, extent)
        ours, alone, exact = (found.pop(name) for name in ("xcid", "xcid, one row", EXACT))
        for name, theirs in found.items():
            yield Figure(
                f"trees/{subject.table}/{subject.name}/{name}",
                TREES,
                f"{subject.description}, against {name}",
                ratio(theirs, ours),
                target=_target(subject, name),
                detail=f"{_microseconds(ours)} µs a row against {_microseconds(theirs)} µs",
            )
        for name in filter(found.__contains__, READERS):
            yield Figure(
                f"exact/{subject.table}/{subject.name}/{name}",
                EXACT,
                f"{subject.description}, against {name}",
                ratio(found[name], exact),
                target=1.0,
                detail=f"{_microseconds(exact)} µs a row against {_microseconds(found[name])} µs",
            )
        shown = [_microseconds(found[name]) if name in found else "" for name in LINES]
        lines.append((subject.description, *map(_microseconds, (exact, ours, alone)), *shown))
    form = "the compiled form" if library.loaded() is not None else "NumPy's form"
    note = (
        f"Microseconds a row, one thread, xcid by {form}, {extent.tree_rows} rows at a time and one alone, the others "
        f"{extent.tree_peer_rows} at a time, 1,000 "
        "evaluations a row (3,000 for more than 20 columns) for importance; exact: contributions alone. "
        + "; ".join(f"{name}: {what}" for name, what in LINES.items())
        + "."
    )
    yield Table(TREES, ("subject", "exact", "xcid", "one row", *LINES), tuple(lines), note)


def _target(subject: Subject, line: str) -> float | None:
    """How many times faster than another line xcid is meant to be."""
    d, is_forest = subject.n_features, subject.name in FORESTS
    if line == "TreeSHAP, interventional":
        return 10.0 if is_forest and d <= SMALL else 1.0
    if line == "TreeSHAP":
        return 1.0 if d <= WIDE and (is_forest or subject.name == "LightGBM") else None
    if line == "contributions":
        return 1 / 1.5 if d <= SMALL and subject.name == "XGBoost" else None
    return CALLING.get(subject.name) if line == "xcid, called" else None


def _race(subject: Subject, extent: Extent) -> dict[str, Timing]:
    n = 1_000 if subject.n_features <= 20 else 3_000
    ours, calling = (
        Explainer(model, subject.train, generator=Balanced(n))
        for model in (subject.model, _Called(subject.model.predict_proba))
    )
    many, few = subject.rows(extent.tree_rows), subject.rows(CALLED_ROWS)
    generator: Any = ours.setup.generator
    samples = generator.draw(ours.space, run_key(0)).plan.samples(few).reshape(-1, subject.n_features)
    contestants = [
        Contestant("xcid", lambda: ours(many), len(many)),
        Contestant("xcid, one row", lambda: ours(many[:1])),
        Contestant(EXACT, lambda: ours.contributions(many), len(many)),
        Contestant("xcid, called", lambda: calling(few), len(few)),
        Contestant("the model alone", lambda: subject.model.predict_proba(samples), len(few)),
    ]
    for name, make in READERS.items():
        if (peer := make(subject)) is not None:
            contestants.append(_contestant(name, peer, many[: extent.tree_peer_rows]))
    return race(contestants, extent.rounds)


def _contestant(name: str, peer: Peer, rows: Array) -> Contestant:
    return Contestant(name, lambda: peer(rows), len(rows), warm=lambda: peer(rows[:2]))


def _interventional(subject: Subject) -> Peer | None:
    explainer = require("shap", extra="bench").TreeExplainer(subject.model, background(subject))
    return lambda rows: explainer.shap_values(rows, check_additivity=False)


def _contributions(subject: Subject) -> Peer | None:
    model = subject.model
    if subject.name == "XGBoost":
        booster, matrix = model.get_booster(), require("xgboost", extra="xgboost").DMatrix
        return lambda rows: booster.predict(matrix(rows), pred_contribs=True)
    return (lambda rows: model.predict_proba(rows, pred_contrib=True)) if subject.name == "LightGBM" else None


def _woodelf(subject: Subject) -> Peer | None:
    if find_spec("woodelf") is None:
        return None
    frame, names = require("pandas", extra="bench").DataFrame, [f"x{at}" for at in range(subject.n_features)]
    model = subject.model.get_booster() if subject.name == "XGBoost" else subject.model
    try:
        explainer = require("woodelf", extra="bench").WoodelfExplainer(model, frame(background(subject), columns=names))
        explainer.shap_values(frame(subject.rows(2), columns=names), verbose=False)
    except Exception:  # it does not know all models
        return None
    return lambda rows: explainer.shap_values(frame(rows, columns=names), verbose=False)


def _fast(subject: Subject) -> Peer | None:
    try:
        explainer = require("fasttreeshap", extra="bench").TreeExplainer(subject.model, n_jobs=1)
    except Exception:  # it cannot be loaded beside NumPy 2, and does not know all models
        return None
    return lambda rows: explainer.shap_values(rows, check_additivity=False)


READERS: dict[str, Callable[[Subject], Peer | None]] = {
    "TreeSHAP": tree_shap,
    "TreeSHAP, interventional": _interventional,
    "contributions": _contributions,
    "woodelf": _woodelf,
    "fasttreeshap": _fast,
}


def _microseconds(timing: Timing) -> str:
    return f"{1e6 * timing.seconds:,.0f}"
