"""What verbs that give reasons share: their options, and the texts in a file."""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._terminal import whole_number

if TYPE_CHECKING:
    from xcid.show.reasons import Reasons

MOST_BYTES = 10_000_000  # of a file of texts


class Wanted(NamedTuple):
    """Reasons as they were typed."""

    k: int
    texts: Path | None
    against: str | None

    def made(self) -> Reasons:
        """Read the texts."""
        from xcid.show.reasons import Reasons

        return Reasons(self.k, {} if self.texts is None else read(self.texts), self.against)

    def check(self, names: Sequence[str]) -> None:
        """Refuse an outcome that a model with these classes does not have; a regression has one name.

        Without names nothing is known yet.
        """
        from xcid._check import sign_of
        from xcid.errors import InvalidParameter
        from xcid.outcomes.classes import no_class

        asked, sides = f"--against {self.against}", "--against higher or --against lower"
        if len(names) == 1 and self.against is None:
            raise InvalidParameter(f"the target is a number, which has two sides: add {sides} to --reasons")
        if len(names) == 1 and not sign_of(self.against):
            raise InvalidParameter(f"{asked}: the target is a number, not classes: give {sides}")
        if len(names) > 1 and self.against is not None and self.against not in names:
            raise InvalidParameter(f"{asked}: {no_class(self.against, names)}")


def add(parser: argparse.ArgumentParser, where: str) -> None:
    """Add the options."""
    count = whole_number(1)
    parser.add_argument("--reasons", type=count, metavar="K", help=f"{where}: the K strongest significant features")
    parser.add_argument(
        "--texts", type=Path, metavar="FILE",
        help="with --reasons: what to say of features, a .json or .toml file that maps names to texts with {value} in "
        "them",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="OUTCOME",
        help="with --reasons: the class that they work against, or higher or lower for a regression "
        "(default: every class but the predicted one)",
    )  # fmt: skip


def wanted_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Wanted | None:
    """The reasons of all that was typed; end with the usage where options do not go together."""
    if options.reasons is None:
        if options.texts is not None or options.against is not None:
            parser.error("--texts and --against need --reasons, how many to give for a row")
        return None
    if options.paper:
        parser.error("--reasons needs signs and p-values, which the paper's setting does not have: leave out --paper")
    return Wanted(options.reasons, options.texts, options.against)


def check(wanted: Wanted | None, names: Sequence[str]) -> None:
    """Refuse reasons, if any are wanted, that a model with these classes does not have."""
    if wanted is not None:
        wanted.check(names)


def evidence(wanted: Wanted | None) -> dict[str, Any]:
    """Settings of an explainer: reasons against one of several classes are made from the model's answers."""
    return {} if wanted is not None and wanted.against is not None else {"max_evidence_bytes": 0}


def read(path: Path) -> dict[str, str]:
    """Texts by the names of features."""
    from xcid.errors import InvalidFile, telling

    readers = {".json": json.loads, ".toml": tomllib.loads}
    if path.suffix.lower() not in readers:
        raise InvalidFile(f"{path} cannot be read: texts are in a .json or .toml file")
    with telling(InvalidFile, f"{path} cannot be read"):
        if path.stat().st_size > MOST_BYTES:
            raise InvalidFile(f"{path} cannot be read: it has more than {MOST_BYTES:,} bytes")
        found = readers[path.suffix.lower()](path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise InvalidFile(f"{path} cannot be read: it must hold one text for each name of a feature, and nothing else")
    return found
