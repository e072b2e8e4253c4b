"""What is wanted, as it is typed: the method, reasons, the outcome of a search, and rules that changes obey."""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli._subjects import read_small
from xcid.cli._terminal import read_names, whole_number

if TYPE_CHECKING:
    from xcid.io.readers import Background
    from xcid.show.reasons import Reasons
    from xcid.table import Constraints

MOST_WORKERS, MOST_SAMPLES, MOST_REPEATS = 256, 5_000, 1_000  # samples of either kind, and runs
KERNELS = ("gaussian", "epanechnikov", "exponential", "tophat", "triangular", "cosine")
_SHARE = re.compile(r"0?\.\d+")


class ReasonOptions(NamedTuple):
    """Reasons as they were typed."""

    k: int
    texts: Path | None
    against: str | None
    just_above: float | None = None

    def read(self) -> Reasons:
        """Read the texts."""
        from xcid.errors import InvalidFile
        from xcid.show.reasons import Reasons

        readers = {".json": json.loads, ".toml": tomllib.loads}
        found = {} if self.texts is None else read_small(self.texts, readers, "texts")
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            wrong = "it must hold one text for each name of a feature, and nothing else"
            raise InvalidFile(f"{self.texts} cannot be read: {wrong}")
        return Reasons(self.k, found, self.against)


def add_reasons(parser: argparse.ArgumentParser, where: str) -> None:
    """Add the options of reasons."""
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
    parser.add_argument(
        "--just-above", type=float, metavar="CUT_OFF",
        help="with --against: compare with the 100 reference rows that have this probability of the outcome, or this "
        "number, and only just (default: compare with all)",
    )  # fmt: skip


def reasons_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> ReasonOptions | None:
    """The reasons of all that was typed; end with the usage where options do not go together."""
    if options.reasons is None:
        if options.texts is not None or options.against is not None:
            parser.error("--texts and --against need --reasons, how many to give for a row")
        if options.just_above is not None:
            parser.error("--just-above needs --reasons K --against OUTCOME, whose cut-off it is")
        return None
    if options.just_above is not None and options.against is None:
        parser.error("--just-above needs --against OUTCOME, whose cut-off it is")
    if options.method is not None:
        parser.error(f"--reasons needs signs and p-values, which {options.method} does not have: leave it out")
    return ReasonOptions(options.reasons, options.texts, options.against, options.just_above)


def check_reasons(wanted: ReasonOptions | None, names: Sequence[str]) -> None:
    """Refuse an outcome that a model with these classes does not have; a regression has one name.

    Without names nothing is known yet.
    """
    from xcid._check import sign_of
    from xcid.errors import InvalidParameter
    from xcid.outcomes.classes import no_class

    if wanted is None:
        return
    against, sides = wanted.against, "--against higher or --against lower"
    if len(names) == 1 and against is None:
        raise InvalidParameter(f"the target is a number, which has two sides: add {sides} to --reasons")
    if len(names) == 1 and not sign_of(against):
        raise InvalidParameter(f"--against {against}: the target is a number, not classes: give {sides}")
    if len(names) > 1 and against is not None and against not in names:
        raise InvalidParameter(f"--against {against}: {no_class(against, names)}")


def evidence_settings(wanted: ReasonOptions | None) -> dict[str, Any]:
    """Settings of an explainer: reasons against one of several classes are made from the model's outputs."""
    return compare_settings(wanted) if wanted is not None and wanted.against is not None else {"max_evidence_bytes": 0}


def compare_settings(wanted: ReasonOptions | None) -> dict[str, Any]:
    """Which reference rows to compare with, where not with all: the outcome and its cut-off."""
    is_above = wanted is not None and wanted.just_above is not None
    return {"above": (wanted.against, wanted.just_above)} if is_above else {}  # type: ignore[union-attr]


class RuleOptions(NamedTuple):
    """Rules of the world as they were typed: columns that stay, a file, and relations."""

    frozen: tuple[str, ...]
    rules: Path | None
    rule: tuple[str, ...]

    @classmethod
    def of(cls, options: argparse.Namespace) -> RuleOptions:
        """The rules among all options."""
        return cls(options.frozen, options.rules, tuple(options.rule))

    def read(self) -> Constraints:
        """Read the file, and add what was typed."""
        from xcid._check import meant
        from xcid.errors import InvalidFile, InvalidParameter
        from xcid.table import Constraints

        found = {} if self.rules is None else read_small(self.rules, {".toml": tomllib.loads}, "rules")
        known = [field.name for field in fields(Constraints)]
        for key in found:
            if key not in known:
                other = f"{meant(key, known)}; the rules are {', '.join(known)}"
                raise InvalidFile(f"{self.rules}: there is no rule {key!r}{other}")
        try:
            written = Constraints(**found)
        except InvalidParameter as error:
            raise InvalidFile(f"{self.rules}: {error}") from error
        more = {"frozen": (*written.frozen, *self.frozen), "relations": (*written.relations, *self.rule)}
        return Constraints(**(found | more))

    def describe(self) -> str:
        """What a page says of them."""
        file = [] if self.rules is None else [f"those of {self.rules.name}"]
        rules = (*(f"{name} stays" for name in self.frozen), *self.rule, *file)
        return f"proposed changes obey these rules: {'; '.join(rules)}"


def add_outcome_and_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which output is wanted, and which changes may lead there."""
    parser.add_argument(
        "--wanted", metavar="OUTCOME",
        help="a class, or a class with its least probability such as good:0.9; for a number raise, lower (by a tenth) "
        "or a range such as 100:200 or 100: "
        "(default: any other class, or a move of the number either way)",
    )  # fmt: skip
    parser.add_argument("--frozen", type=read_names, default=(), metavar="A,B", help="columns that never change")
    parser.add_argument(
        "--rule", action="append", default=[], metavar="FORMULA",
        help="what must be true of a changed row, such as 'months <= 12 * (age - 16)'; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--rules", type=Path, metavar="FILE",
        help="a .toml file of rules: frozen, ranges, levels, monotone, groups, relations, transitions, steps, costs, "
        "derived",
    )  # fmt: skip


def check_rules(constraints: Constraints, background: Background) -> None:
    """Refuse rules that the reference data do not go with, before a model is trained on them."""
    space = background.space
    constraints.allowed(space.columns, space.rows)
    constraints.direction(space.columns)
    constraints.rules(space.columns, space.rows)


def target_of(wanted: str | None, names: Sequence[str]) -> Any:
    """The target that was typed, for a model with these classes; a number has one name, and () is not known yet.

    Examples
    --------
    >>> target_of("good", ["bad", "good"]), target_of("good:0.9", ["bad", "good"])
    ('good', Within(low=0.9, high=inf, target='good'))
    >>> target_of("100:", ["output"]), target_of("higher", ["output"])
    (Within(low=100.0, high=inf, target=None), Raise(by=0.1, target=None))
    """
    from xcid._check import sign_of
    from xcid.errors import InvalidParameter
    from xcid.outcomes import Lower, Raise, Within
    from xcid.outcomes.classes import no_class

    if wanted is None or not names or (len(names) > 1 and wanted in names):
        return wanted
    if len(names) > 1:
        name, _, share = wanted.rpartition(":")
        if name in names and _SHARE.fullmatch(share):
            return Within(float(share), target=name)
        typed = name or wanted.partition("=")[0]
        if typed in names:
            raise InvalidParameter(f"--wanted {wanted}: a probability is written {typed}:0.9, between 0 and 1")
        raise InvalidParameter(f"--wanted: {no_class(wanted, names)}")
    if sign_of(wanted):
        return Raise() if sign_of(wanted) > 0 else Lower()
    low, colon, high = wanted.partition(":")
    try:
        if not colon:
            raise ValueError("it is not a range")
        between = float(low or "-inf"), float(high or "inf")
    except ValueError as error:
        kinds = "raise, lower, or a range such as 100:200 or 100:"
        raise InvalidParameter(f"--wanted {wanted}: the target is a number: give {kinds}") from error
    return Within(*between)


@dataclass(frozen=True, slots=True)
class CidOptions:
    """Settings of the paper's method."""

    m: int = 50
    repeats: int = 1
    kernel: str = "gaussian"
    generator: str = "random"


USUAL_CID = CidOptions()


def add_workers(parser: argparse.ArgumentParser, who: str = "threads") -> None:
    """Add the option of verbs that explain many rows."""
    workers = whole_number(1, MOST_WORKERS)
    parser.add_argument("--workers", type=workers, default=1, metavar="N", help=f"{who} that explain rows at once")


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add the paper's method and its settings."""
    parser.add_argument(
        "--method", choices=("cid",),
        help="cid: the method of the paper (arXiv 2511.15371) as it is, unsigned d1 between the densities of positive "
        "and negative counterfactuals, nothing calibrated",
    )  # fmt: skip
    parser.add_argument("--paper", action="store_const", const="cid", dest="method", help="the same as --method cid")
    add_cid(parser)


def add_cid(parser: argparse.ArgumentParser) -> None:
    """Add the settings of the paper's method."""
    counted = {"m": (2, MOST_SAMPLES, "counterfactuals of either kind"), "repeats": (1, MOST_REPEATS, "runs, averaged")}
    for name, (least, most, what) in counted.items():
        usual = getattr(USUAL_CID, name)
        number = whole_number(least, most)
        parser.add_argument(f"--{name}", type=number, metavar="N", help=f"with cid: {what} (default: {usual})")
    named = {"kernel": (KERNELS, "of the densities"), "generator": (("random", "genetic"), "of counterfactuals")}
    for name, (choices, what) in named.items():
        usual = getattr(USUAL_CID, name)
        parser.add_argument(f"--{name}", choices=choices, help=f"with cid: that {what} (default: {usual})")


def cid_of(options: argparse.Namespace, parser: argparse.ArgumentParser) -> CidOptions | None:
    """The settings of the paper's method, where it is wanted; end with the usage where they are typed without it."""
    given = {field.name: getattr(options, field.name) for field in fields(CidOptions)}
    given = {name: value for name, value in given.items() if value is not None}
    is_wanted = "cid" in (options.method or ())  # one method, or several that are compared
    if given and not is_wanted:
        parser.error(f"{' and '.join(f'--{name}' for name in given)} needs --method cid, which it is a setting of")
    return CidOptions(**given) if is_wanted else None
