"""Races of xcid with the paper's stack and with other methods."""

from __future__ import annotations

import copy
import time
from typing import Any

import numpy as np

from xcid.explainer import Explainer
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.peers import BATCHED, Peer, peers
from xcid.lab.bench.record import Cell, Figure, Part, Table
from xcid.lab.bench.stack import PaperStack
from xcid.lab.bench.subjects import Subject, Timed, in_arrays, in_frames
from xcid.lab.bench.timing import Contestant, race, ratio

STACK = "the paper's setting against the paper's stack"
PEERS = "the recommended setting against other methods"
PAPER_SUBJECTS = (("diabetes", "logistic", 500.0), ("heart", "forest", 400.0))
PEER_TARGETS = {"logistic": 10.0, "forest": 8.0}  # against KernelSHAP and LIME


def against_stack(extent: Extent) -> Part:
    """``Explainer.paper`` on whole test sets against dice-ml and scipy on a few rows."""
    figures = [
        _stack_figure(in_frames(table, name), m, target if m == extent.stack_sizes[0] else None, extent)
        for table, name, target in PAPER_SUBJECTS
        if table in extent.stack_tables
        for m in extent.stack_sizes
    ]
    return Part(tuple(figures))


def _stack_figure(subject: Subject, m: int, target: float | None, extent: Extent) -> Figure:
    stack = PaperStack(subject.model, subject.train, subject.target, m)
    ours = Explainer.paper(subject.model, subject.train, m=m)
    is_first = m == extent.stack_sizes[0]  # the others take minutes a row, and are warm by then
    few = subject.test.iloc[: extent.stack_rows if is_first else 1]
    found = race(
        [
            Contestant("stack", lambda: stack(few), len(few), warm=lambda: stack(few.iloc[: int(is_first)])),
            Contestant("xcid", lambda: ours(subject.test), len(subject.test)),
        ],
        extent.long_rounds if is_first else 1,
    )
    share, short = _model_share(subject, m)
    lacking = f"; {short} rows found fewer than {m}" if short else ""
    return Figure(
        f"stack/{subject.table}/{subject.name}/{m}",
        STACK,
        f"{subject.title}, m = {m}",
        ratio(found["stack"], found["xcid"]),
        target=target,
        detail=f"{len(subject.test)} rows against {len(few)}: {_ms(found['xcid'].seconds)} ms a row against "
        f"{_ms(found['stack'].seconds)} ms; {share:.0%} of xcid's is the model's{lacking}",
    )


def _model_share(subject: Subject, m: int) -> tuple[float, int]:
    """Share of the time in the paper's setting that passes in the model, and rows that found too few samples."""
    watched, timed = copy.copy(subject.model), Timed(subject.model)
    watched.predict_proba = timed
    explainer = Explainer.paper(watched, subject.train, m=m)
    explainer(subject.test)
    timed.seconds, start = 0.0, time.process_time()
    explanation = explainer(subject.test)
    return timed.seconds / (time.process_time() - start), int(np.sum(explanation.status != "ok"))


def against_peers(extent: Extent) -> Part:
    """The recommended setting against SHAP, LIME and DiCE, in a batch and for a row alone."""
    figures: list[Figure] = []
    lines: list[tuple[Cell, ...]] = []
    for table in extent.tables:
        for name in extent.models:
            subject = in_arrays(table, name)
            ours, line = _peer_figures(subject, peers(subject), extent)
            figures += ours
            lines += line
    head = ("subject", "method", "in a batch", "a row alone", "ms a row", "xcid: ms a row", "xcid: ms, a row alone")
    note = (
        f"How many times faster xcid is: up to {extent.rows:,} rows at a time, and one by one. The others go row by "
        f"row and are timed on {extent.peer_rows}, but for TreeSHAP, which reads the trees in place of asking the "
        "model, many rows at a time. xcid: 1,000 evaluations a row (3,000 for more than 20 columns), with limits and "
        "p-values. KernelSHAP is left out for more than 300 columns, where its samples take gigabytes, and DiCE for "
        "more than 30: at 100 columns a row takes it half a minute."
    )
    return Part(tuple(figures), (Table(PEERS, head, tuple(lines), note),))


def _peer_figures(
    subject: Subject, others: dict[str, Peer], extent: Extent
) -> tuple[list[Figure], list[tuple[Cell, ...]]]:
    ours, few = Explainer(subject.model, subject.train), subject.rows(extent.peer_rows)
    many = subject.rows(extent.rows_of(subject.test.shape[1]))
    contestants = [
        Contestant("xcid", lambda: ours(many), len(many)),
        Contestant("xcid, one row", lambda: ours(many[:1])),
        *(_contestant(name, peer, many if name in BATCHED else few) for name, peer in others.items()),
    ]
    found = race(contestants, extent.rounds)
    alone, batch = found["xcid, one row"], found["xcid"]
    figures: list[Figure] = []
    lines: list[tuple[Cell, ...]] = []
    for name in others:
        faster = ratio(found[name], batch)
        target = PEER_TARGETS.get(subject.name) if name in ("KernelSHAP", "LIME") else None
        what = f"{subject.title}, against {name}"
        detail = f"{_ms(batch.seconds)} ms a row against {_ms(found[name].seconds)} ms"
        key = f"peers/{subject.table}/{subject.name}/{name}"
        figures.append(Figure(key, PEERS, what, faster, target=target, detail=detail))
        shown = (1e3 * timing.seconds for timing in (found[name], batch, alone))
        lines.append((subject.title, name, faster, ratio(found[name], alone), *shown))
    return figures, lines


def _contestant(name: str, peer: Peer, rows: Any) -> Contestant:
    return Contestant(name, lambda: peer(rows), len(rows), warm=lambda: peer(rows[:1]))


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:,.3g}"
