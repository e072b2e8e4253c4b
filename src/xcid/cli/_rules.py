"""Rules of the world as they are typed: columns that stay, relations, and a file with all that can be written down."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.table import Constraints

MOST_BYTES = 10_000_000  # of a file of rules


class Rules(NamedTuple):
    """What was typed."""

    frozen: tuple[str, ...]
    rules: Path | None
    rule: tuple[str, ...]

    def made(self) -> Constraints:
        """Read the file, and add what was typed."""
        from xcid.errors import InvalidFile, InvalidParameter
        from xcid.table import Constraints

        found = {} if self.rules is None else _read(self.rules, [field.name for field in fields(Constraints)])
        try:
            written = Constraints(**found)
        except InvalidParameter as error:
            raise InvalidFile(f"{self.rules}: {error}") from error
        more = {"frozen": (*written.frozen, *self.frozen), "relations": (*written.relations, *self.rule)}
        return Constraints(**(found | more))

    def in_words(self) -> str:
        """What a page says of them.

        Examples
        --------
        >>> Rules(("age", "sex"), None, ("months <= 12 * age",)).in_words()
        'proposed changes obey these rules: age stays; sex stays; months <= 12 * age'
        """
        file = [] if self.rules is None else [f"those of {self.rules.name}"]
        rules = (*(f"{name} stays" for name in self.frozen), *self.rule, *file)
        return f"proposed changes obey these rules: {'; '.join(rules)}"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--frozen", type=_names, default=(), metavar="A,B", help="columns that never change")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="FORMULA",
        help="what must be true of a changed row, such as 'months <= 12 * (age - 16)'; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--rules", type=Path, metavar="FILE",
        help="a .toml file of rules: frozen, ranges, levels, monotone, groups, relations, transitions, steps, costs, "
        "derived",
    )  # fmt: skip


def typed(options: argparse.Namespace) -> Rules:
    """The rules among all options."""
    return Rules(options.frozen, options.rules, tuple(options.rule))


def check(constraints: Constraints, background: Background) -> None:
    """Refuse rules that the reference data do not go with, before a model is trained on them."""
    space = background.space
    constraints.allowed(space.columns, space.rows)
    constraints.direction(space.columns)
    constraints.rules(space.columns, space.rows)


def _read(path: Path, known: list[str]) -> dict[str, Any]:
    import tomllib

    from xcid.errors import InvalidFile, telling
    from xcid.io.messages import meant

    if path.suffix.lower() != ".toml":
        raise InvalidFile(f"{path} cannot be read: rules are in a .toml file")
    with telling(InvalidFile, f"{path} cannot be read"):
        if path.stat().st_size > MOST_BYTES:
            raise InvalidFile(f"{path} cannot be read: it has more than {MOST_BYTES:,} bytes")
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    for key in found:
        if key not in known:
            raise InvalidFile(f"{path}: there is no rule {key!r}{meant(key, known)}; the rules are {', '.join(known)}")
    return found


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))
