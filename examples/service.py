"""A service that explains rows over HTTP: one saved explainer, requests that come together in one call.

    EXPLAINER=model.xcid uvicorn service:app --factory --workers 2 --app-dir examples

``POST /explain`` takes a row or a list of rows in JSON, and answers what ``xcid explain --json`` prints (``xcid schema
explain``): contributions alone, or with ``?importance=yes`` importance too. ``GET /health`` says which model it is.
docs/service.md describes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import xcid
from xcid.errors import InvalidData, ModelError, XcidError

Row = dict[str, Any]
Answer = list[dict[str, Any]]

WAIT = 0.004  # seconds in which requests join the one that came first
MOST_ROWS = 256  # of one call, and of one request
MOST_WAITING = 1_000  # requests; beyond that the service is busy
MOST_BYTES = 2**20  # of a request
SECONDS = 30.0  # that a request may wait for its answer


class Waiting(NamedTuple):
    """Rows of a request, and where their answer goes."""

    rows: list[Row]
    answer: asyncio.Future[Answer]


class Batcher:
    """Explains in one call what several requests ask within a few milliseconds, in a thread of its own."""

    def __init__(self, explain: Callable[[list[Row]], xcid.Explanation]) -> None:
        self.explain, self.queue = explain, asyncio.Queue[Waiting](MOST_WAITING)

    async def ask(self, rows: list[Row]) -> Answer:
        """Wait for the answer about some rows; an error of xcid is that of these rows alone."""
        answer = asyncio.get_running_loop().create_future()
        try:
            self.queue.put_nowait(Waiting(rows, answer))
        except asyncio.QueueFull:
            raise HTTPException(503, "too many requests are waiting: try again in a second") from None
        return await asyncio.wait_for(answer, SECONDS)

    async def run(self) -> None:
        """Answer requests for ever."""
        while True:
            batch = [await self.queue.get()]
            await asyncio.sleep(WAIT)
            while not self.queue.empty() and sum(len(one.rows) for one in batch) < MOST_ROWS:
                batch.append(self.queue.get_nowait())
            found = await asyncio.to_thread(self.answer_all, [one.rows for one in batch])
            for one, answer in zip(batch, found, strict=True):
                if one.answer.done():  # nobody waits for it any more
                    continue
                if isinstance(answer, Exception):
                    one.answer.set_exception(answer)
                else:
                    one.answer.set_result(answer)

    def answer_all(self, batch: Sequence[list[Row]]) -> list[Answer | Exception]:
        """Answer all at once; where that fails, each alone, so that nobody pays for the rows of others."""
        try:
            explanation = self.explain([row for rows in batch for row in rows])
            ends = [sum(map(len, batch[: at + 1])) for at in range(len(batch))]
            lines = to_lines(explanation)
            return [
                number_rows(lines[end - len(rows) : end], explanation) for rows, end in zip(batch, ends, strict=True)
            ]
        except Exception as error:
            return [error] if len(batch) == 1 else [self.answer_all([rows])[0] for rows in batch]


def to_lines(explanation: xcid.Explanation) -> list[Answer]:
    """For each row the lines of its features; numbers that are none are null."""
    lines = explanation.to_frame(backend="pyarrow").to_pylist()
    plain = [{name: None if is_nan(cell) else cell for name, cell in line.items()} for line in lines]
    return [list(group) for _, group in groupby(plain, key=lambda line: line["row"])]


def is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and not math.isfinite(cell)


def number_rows(rows: Sequence[Answer], explanation: xcid.Explanation) -> Answer:
    """The lines of a request: its rows count from 0, and the first line says where the numbers come from."""
    lines = [line | {"row": at} for at, lines in enumerate(rows) for line in lines]
    lines[0]["settings"] = dict(explanation.details.settings or {})
    return lines


def read_dates(explainer: xcid.Explainer, rows: list[Row]) -> list[Row]:
    """Dates of JSON are text, as in 2026-11-19 or 2026-11-19T08:30:00+01:00."""
    dates = [column.name for column in explainer.space.columns if column.unit]
    for name in dates:
        for at, row in enumerate(rows):
            if isinstance(row.get(name), str):
                try:
                    row[name] = datetime.fromisoformat(row[name])
                except ValueError:
                    raise InvalidData(f"column {name!r} holds {row[name]!r:.60}", at, ", which is no date") from None
    return rows


async def read_rows(request: Request) -> list[Row]:
    """The rows of a request, or an error that says what is wrong."""
    if int(request.headers.get("content-length") or MOST_BYTES + 1) > MOST_BYTES:
        raise HTTPException(413, f"a request has a Content-Length of at most {MOST_BYTES:,} bytes: send fewer rows")
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HTTPException(422, f"the body is not JSON: {error}") from None
    rows = [found] if isinstance(found, dict) else found
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise HTTPException(422, "the body must be a row, an object with a cell for each column, or a list of rows")
    if len(rows) > MOST_ROWS:
        raise HTTPException(422, f"{len(rows):,} rows are too many for one request: send {MOST_ROWS} at a time")
    return rows


def make_app(explainer: xcid.Explainer) -> Starlette:
    """The service of an explainer."""
    batchers = {"no": Batcher(explainer.contributions), "yes": Batcher(explainer)}

    async def explain(request: Request) -> Response:
        batcher = batchers.get(request.query_params.get("importance", "no"))
        if batcher is None:
            raise HTTPException(422, "importance is yes or no")
        return respond(await batcher.ask(read_dates(explainer, await read_rows(request))))

    async def health(request: Request) -> Response:
        return respond({"status": "ok", **explainer.subject.record})

    @contextlib.asynccontextmanager
    async def working(app: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(one.run()) for one in batchers.values()]
        yield
        for task in tasks:
            task.cancel()

    routes = [Route("/explain", explain, methods=["POST"]), Route("/health", health)]
    handlers: Any = {HTTPException: refuse, XcidError: refuse, TimeoutError: refuse}
    return Starlette(routes=routes, exception_handlers=handlers, lifespan=working)


async def refuse(request: Request, error: Exception) -> Response:
    """Bad rows are the client's affair (422), a model that fails is ours (500)."""
    if isinstance(error, HTTPException):
        return respond({"error": error.detail}, error.status_code)
    if isinstance(error, TimeoutError):
        return respond({"error": f"no answer within {SECONDS:.0f} s: send fewer rows, or try again"}, 503)
    return respond({"error": str(error)}, 500 if isinstance(error, ModelError) else 422)


def respond(content: Any, status: int = 200) -> Response:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return Response(text, status, media_type="application/json")


def app() -> Starlette:
    """Load the explainer that the environment names: once in each worker process, before it takes requests."""
    return make_app(xcid.Explainer.load(os.environ["EXPLAINER"]))
