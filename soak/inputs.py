"""Give the library objects that misbehave in any of their methods, in any public argument.

``python soak/inputs.py --seconds 60``: each try puts one such object, or a table, a cell or an answer made of one,
somewhere into an otherwise good call. Any outcome must be a result or an error of xcid that can be printed, and come in
time. The exit status is 1 where that does not hold.
"""

from __future__ import annotations

import argparse
import decimal
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from verdict import verdict

import xcid
from xcid.errors import XcidError

OURS = Path(xcid.__file__).parent
SLOWEST = 20  # seconds for a try
ROWS = 24


class Hung(BaseException):
    """A try took too long."""


class Mute(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise OSError("no words")


ERRORS = (KeyError, OSError, RuntimeError, ValueError, TypeError, AttributeError, StopIteration, ZeroDivisionError,
          Mute, RecursionError, UnicodeDecodeError, decimal.InvalidOperation, AssertionError, SystemError)  # fmt: skip
METHODS = ("eq", "ne", "lt", "gt", "le", "hash", "bool", "len", "iter", "getitem", "contains", "repr", "str", "format",
           "float", "int", "index", "array", "call", "getattr", "add", "sub", "array_ufunc", "reduce_ex", "copy",
           "deepcopy", "dir", "sizeof", "arrow_c_stream", "narwhals_dataframe__", "dataframe")  # fmt: skip
NAMES = ("predict", "predict_proba", "classes_", "feature_names_in_", "n_features_in_", "bind", "draw", "columns",
         "shape", "dtype", "index", "toarray", "nnz", "to_frame", "keys", "items", "slots", "density")  # fmt: skip
ENDLESS = ("getitem", "iter")  # a sequence that always has another item has no end for anybody
BASES = (object, object, float, int, str, dict, list, np.ndarray)


def nasty(draw: random.Random) -> Any:
    """An object with some methods and properties that raise, or give what they should not."""
    found: dict[str, Any] = {}
    for name in draw.sample(METHODS, draw.randint(0, 6)):
        found[f"__{name}__"] = _method(draw, 0.0 if name in ENDLESS else 0.3)
    for name in draw.sample(NAMES, draw.randint(0, 4)):
        found[name] = draw.choice([property(_method(draw)), _method(draw), draw.choice(VALUES)])
    base = draw.choice(BASES)
    kind = type(draw.choice(["Odd", "Series", "DataFrame", "Booster", "Module"]), (base,), found)
    try:
        return kind((2, 2)) if base is np.ndarray else kind()
    except Exception:
        return type("Odd", (), found)()


def _method(draw: random.Random, share: float = 0.3) -> Callable[..., Any]:
    """One that fails, or in a share of cases gives something."""
    error, value = draw.choice(ERRORS), draw.choice(VALUES)
    if draw.random() < share:
        return lambda self, *args, **named: self if value is None else value

    def fail(self: Any, *args: Any, **named: Any) -> Any:
        raise error("utf-8", b"", 0, 1, "odd") if error is UnicodeDecodeError else error("odd\nin two lines")

    return fail


VALUES: tuple[Any, ...] = (
    None, True, False, -1, 0, 3, 2.5, float("nan"), float("inf"), 2**80, "", "a", "\ud800", "a\x00b", b"\xff", (), [],
    {}, [[]], np.ones(3), np.ones((2, 2)), np.array(None), np.ma.masked, pd.NA, pd.NaT,
    pd.Timestamp("2020", tz="UTC"), np.timedelta64(1, "s"), np.datetime64("NaT"), decimal.Decimal("sNaN"),
    decimal.Decimal(2), 1j, object(), int, len, date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), range(2), slice(1),
    {1: 2}, {"a": "b"}, {"a"}, ...,
)  # fmt: skip


def value(draw: random.Random) -> Any:
    """Something that is out of place."""
    return draw.choice(VALUES) if draw.random() < 0.4 else nasty(draw)


def good(draw: random.Random) -> Any:
    """A table that can be explained."""
    cells = np.random.default_rng(0).normal(size=(ROWS, 2))
    return draw.choice(
        [cells, pd.DataFrame(cells, columns=["a", "b"]), cells.tolist(), pl.DataFrame(cells, ["a", "b"])]
    )


def column(draw: random.Random, size: int) -> list[Any]:
    """Cells of few kinds."""
    some = [value(draw) for _ in range(draw.randint(1, 3))]
    return [draw.choice(some) for _ in range(size)]


def table(draw: random.Random, size: int = ROWS) -> Any:
    """A table with a column of odd cells, of some make."""
    cells, numbers = column(draw, size), np.random.default_rng(1).normal(size=size).tolist()
    makes: list[Callable[[], Any]] = [
        lambda: [{"a": one, "b": other} for one, other in zip(numbers, cells, strict=True)],
        lambda: [[one, other] for one, other in zip(numbers, cells, strict=True)],
        lambda: pd.DataFrame({"a": numbers, "b": pd.Series(cells, dtype=object)}),
        lambda: pl.DataFrame({"a": numbers, "b": pl.Series(cells, dtype=pl.Object)}),
        lambda: pl.DataFrame({"a": numbers, "b": cells}, strict=False),
        lambda: pd.DataFrame(dict(zip([value(draw), "b"], [numbers, numbers], strict=True))),
        lambda: pd.DataFrame({"a": numbers, "b": numbers}, index=cells),
        lambda: np.array([numbers, cells], dtype=object).T,
        lambda: value(draw),
    ]
    try:
        return draw.choice(makes)()
    except (Exception, pl.exceptions.PanicException):  # the library of data frames has refused it
        return [[one, other] for one, other in zip(numbers, cells, strict=True)]


def model(table: Any) -> Any:
    """A model that asks for a number."""
    rows = table.to_numpy() if hasattr(table, "to_numpy") else table
    first = [row["a"] if isinstance(row, dict) else row[0] for row in rows]
    return np.array(first, dtype=float) > 0


class Answering:
    """A model with odd answers, all or after some."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.left = draw, draw.choice([0, 0, 5])

    def predict(self, rows: Any) -> Any:
        self.left -= 1
        return model(rows) if self.left >= 0 else self.answers(rows)

    def answers(self, rows: Any) -> Any:
        kind = self.draw.randint(0, 2)
        if kind == 0:
            return value(self.draw)
        if kind == 1:
            return np.ma.array(np.ones(len(rows)), mask=self.draw.choice([False, True]))
        return column(self.draw, len(rows))


SETTINGS = ("generator", "score", "density", "outcome", "feature_names", "kinds", "constraints", "stop", "time_limit",
            "memory", "max_evidence_bytes")  # fmt: skip
LIMITS = ("frozen", "ranges", "levels", "monotone", "groups", "relations", "transitions", "steps", "costs", "derived")


def attempt(draw: random.Random) -> Any:
    """One call with something out of place."""
    place = draw.choice(["model", "answers", "background", "rows", "setting", "setting", "limits", "seed", "part"])
    if place == "model":
        return xcid.Explainer(value(draw), good(draw))
    if place == "answers":
        return xcid.Explainer(Answering(draw), good(draw))(good(draw)[:2])
    if place == "background":
        found = table(draw)
        return xcid.Explainer(model, found)(table(draw, 2) if draw.random() < 0.5 else found)
    if place == "setting":
        settings = {draw.choice(SETTINGS): value(draw)}
        return xcid.Explainer(model, good(draw), **settings)([0.1, 0.2])
    if place == "limits":
        name, odd = draw.choice(LIMITS), value(draw)
        limit = draw.choice([odd, {"a": odd}, [odd], {"g": ["a", odd]}])
        return xcid.Explainer(model, good(draw), constraints=xcid.Constraints(**{name: limit})).counterfactuals(
            [0.1, 0.2]
        )
    explainer = xcid.Explainer(model, good(draw))
    if place == "rows":
        return explainer(table(draw, 2))
    if place == "seed":
        return explainer([0.1, 0.2], seed=value(draw))
    return draw.choice(
        [
            lambda: explainer.counterfactuals([0.1, 0.2], k=value(draw)),
            lambda: explainer.counterfactuals([0.1, 0.2], target=value(draw)),
            lambda: explainer.interactions(table(draw, 2), n=400),
            lambda: explainer.interactions([0.1, 0.2], n=value(draw)),
            lambda: explainer.with_outcome(value(draw))([0.1, 0.2]),
        ]
    )()


def outcome(seed: int) -> str:
    """Try once; empty where it held, else what came out."""

    def hung(*args: Any) -> None:
        raise Hung

    before = signal.signal(signal.SIGALRM, hung)
    signal.alarm(SLOWEST)
    try:
        attempt(random.Random(seed))
    except XcidError as error:
        try:
            return "" if str(error) else "an error without words"
        except Exception as silent:
            return f"an error that cannot be printed ({type(silent).__name__})"
    except Hung:
        return f"nothing in {SLOWEST} s"
    except BaseException as error:
        trace, place = error.__traceback__, ""
        while trace is not None:
            path = Path(trace.tb_frame.f_code.co_filename)
            place = f"{path.relative_to(OURS)}:{trace.tb_lineno}" if path.is_relative_to(OURS) else place
            trace = trace.tb_next
        return f"{type(error).__name__} at {place}" if place else ""  # the try itself could not be made
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Try for some time or so many times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, help="tries, in place of seconds")
    parser.add_argument("--seed", type=int, default=0, help="of the first try")
    options = parser.parse_args(arguments)
    end, tried, failed = time.monotonic() + options.seconds, 0, list[str]()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while tried < options.count if options.count is not None else time.monotonic() < end:
            found = outcome(options.seed + tried)
            failed += [f"seed {options.seed + tried}: {found}"] if found else []
            tried += 1
    return verdict("inputs", tried, failed)


if __name__ == "__main__":
    sys.exit(main())
