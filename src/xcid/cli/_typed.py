"""What is typed: verbs, whole numbers, and the records that options become at the edge of a verb."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def add_verb(subparsers: Any, document: str, summary: str, **more: Any) -> argparse.ArgumentParser:
    """Add a verb; the docstring of its module names it, and describes it."""
    name, _, description = document.partition(": ")
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name.removeprefix("``xcid ").removesuffix("``"), help=summary, description=description, **more
    )
    return parser


def record(kind: type[T], options: argparse.Namespace, **more: Any) -> T:
    """Make a record of what was typed, by the names of its fields."""
    names = [field.name for field in fields(kind) if field.name not in more]  # type: ignore[arg-type]
    return kind(**{name: getattr(options, name) for name in names}, **more)


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Read a number that lies within limits."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            limits = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise argparse.ArgumentTypeError(f"a whole number {limits}, not {text!r}")
        return int(text)

    return read
