"""How rows are explained, as it is typed: how many at once, and by the paper's method with its settings."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, fields

from xcid.cli._terminal import whole_number

MOST_WORKERS = 256
MOST_SAMPLES, MOST_REPEATS = 5_000, 1_000  # of either kind, and runs
KERNELS = ("gaussian", "epanechnikov", "exponential", "tophat", "triangular", "cosine")


@dataclass(frozen=True, slots=True)
class CidOptions:
    """Settings of the paper's method."""

    m: int = 50
    repeats: int = 1
    kernel: str = "gaussian"
    generator: str = "random"


USUAL_CID = CidOptions()


def add_method(parser: argparse.ArgumentParser, who: str = "threads") -> None:
    """Add the options of verbs that explain many rows: how many at once, and by the paper's method."""
    workers = whole_number(1, MOST_WORKERS)
    parser.add_argument("--workers", type=workers, default=1, metavar="N", help=f"{who} that explain rows at once")
    parser.add_argument(
        "--method", choices=("cid",),
        help="cid: the method of the paper (arXiv 2511.15371) as it is, unsigned d1 between the densities of positive "
        "and negative counterfactuals, nothing calibrated",
    )  # fmt: skip
    parser.add_argument("--paper", action="store_const", const="cid", dest="method", help="the same as --method cid")
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
    if given and options.method != "cid":
        parser.error(f"{' and '.join(f'--{name}' for name in given)} needs --method cid, which it is a setting of")
    return CidOptions(**given) if options.method == "cid" else None
