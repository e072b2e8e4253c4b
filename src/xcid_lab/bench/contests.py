"""Races of xcid with the paper's stack, with other methods, and of two workers with one."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator
from itertools import product, starmap

import numpy as np

from xcid.engines import Threads
from xcid.explainer import Explainer
from xcid.records import Array
from xcid_lab.bench.peers import BATCHED, PaperStack, Peer, peers
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import Contestant, Extent, Timing, race, ratio, wall_ratio
from xcid_lab.markdown import Cell, Table
from xcid_lab.subjects import Subject, Timed, in_arrays, in_frames

STACK = "the paper's setting against the paper's stack"
PEERS = "the recommended setting against other methods"
PAPER_SUBJECTS = (("diabetes", "logistic", 800.0), ("heart", "forest", 400.0))
PEER_TARGETS = {"logistic": 10.0, "forest": 8.0}  # against KernelSHAP and LIME
PEER_HEAD = ("subject", "method", "in a batch", "a row alone", "ms a row", "xcid: ms a row", "xcid: ms, a row alone")
TWO_WORKERS = 1.8


def against_stack(extent: Extent) -> Iterator[Figure]:
    """``Explainer.paper`` on all test rows against dice-ml and scipy on a few."""
    for table, name, target in PAPER_SUBJECTS:
        if table in extent.stack_tables:
            for m in extent.stack_sizes:
                yield _stack_figure(in_frames(table, name), m, target, extent)


def _stack_figure(subject: Subject, m: int, target: float, extent: Extent) -> Figure:
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
        f"{subject.description}, m = {m}",
        ratio(found["stack"], found["xcid"]),
        target=target if is_first else None,
        detail=f"{len(subject.test)} rows against {len(few)}: {_ms(found['xcid'])} ms a row against "
        f"{_ms(found['stack'])} ms; {share:.0%} of xcid's is the model's{lacking}",
    )


def _model_share(subject: Subject, m: int) -> tuple[float, int]:
    """Share of the time in the paper's setting that passes in the model, and rows that found too few samples."""
    watched, timed = copy.copy(subject.model), Timed(subject.model.predict_proba)
    watched.predict_proba = timed
    explainer = Explainer.paper(watched, subject.train, m=m)
    explainer(subject.test)
    timed.seconds, start = 0.0, time.process_time()
    explanation = explainer(subject.test)
    return timed.seconds / (time.process_time() - start), int(np.sum(explanation.status != "ok"))


def against_peers(extent: Extent) -> Iterator[Figure | Table]:
    """The recommended setting against SHAP, LIME and DiCE, in a batch and for a row alone."""
    lines: list[tuple[Cell, ...]] = []
    for subject in starmap(in_arrays, product(extent.tables, extent.models)):
        found = _peer_race(subject, peers(subject), extent)
        batch, alone = found.pop("xcid"), found.pop("xcid, one row")
        for peer, theirs in found.items():
            yield Figure(
                f"peers/{subject.table}/{subject.name}/{peer}",
                PEERS,
                f"{subject.description}, against {peer}",
                ratio(theirs, batch),
                target=PEER_TARGETS.get(subject.name) if peer in ("KernelSHAP", "LIME") else None,
                detail=f"{_ms(batch)} ms a row against {_ms(theirs)} ms",
            )
            milliseconds = (1e3 * timing.seconds for timing in (theirs, batch, alone))
            lines.append((subject.description, peer, ratio(theirs, batch), ratio(theirs, alone), *milliseconds))
    note = (
        f"How many times faster xcid is: up to {extent.rows:,} rows at a time, and one by one. The others go row by "
        f"row and are timed on {extent.peer_rows}, but for TreeSHAP, which reads the trees in place of asking the "
        "model, many rows at a time. xcid: 1,000 evaluations a row (3,000 for more than 20 columns, 8,000 where trees "
        "are read from inside but do not add up), with limits and p-values. KernelSHAP is left out for more than 300 "
        "columns, where its samples take gigabytes, and DiCE for more than 30: at 100 columns a row takes it half a "
        "minute."
    )
    yield Table(PEERS, PEER_HEAD, tuple(lines), note)


def _peer_race(subject: Subject, others: dict[str, Peer], extent: Extent) -> dict[str, Timing]:
    ours, few = Explainer(subject.model, subject.train), subject.rows(extent.peer_rows)
    many = subject.rows(extent.rows_of(subject.n_features))
    contestants = [
        Contestant("xcid", lambda: ours(many), len(many)),
        Contestant("xcid, one row", lambda: ours(many[:1])),
        *(_contestant(name, peer, many if name in BATCHED else few) for name, peer in others.items()),
    ]
    return race(contestants, extent.rounds)


def _contestant(name: str, peer: Peer, rows: Array) -> Contestant:
    return Contestant(name, lambda: peer(rows), len(rows), warm=lambda: peer(rows[:1]))


def workers(extent: Extent) -> Iterator[Figure]:
    """A forest's rows, shared by two threads; by the clock, since both take the processor's time."""
    what = f"two workers against one, Diabetes, forest, {extent.worker_rows:,} rows"
    value, detail = None, "this machine has one core"
    if (os.cpu_count() or 1) > 1:
        threads, subject = Threads(workers=2), in_arrays("diabetes", "forest")
        explainer, rows = Explainer(subject.model, subject.train), subject.rows(extent.worker_rows)
        found = race(
            [
                Contestant("one", lambda: explainer(rows), warm=lambda: explainer(rows[:1])),
                Contestant("two", lambda: threads(explainer, rows), warm=lambda: threads(explainer, rows[:2])),
            ],
            extent.long_rounds,
        )
        value = wall_ratio(found["one"], found["two"])
        detail = f"{found['one'].elapsed:.3g} s against {found['two'].elapsed:.3g} s by the clock"
    yield Figure("workers/2", "workers", what, value, target=TWO_WORKERS, detail=detail)


def _ms(timing: Timing) -> str:
    return f"{1e3 * timing.seconds:,.3g}"
