"""``xcid verify``: a validation that was recorded, run again and compared: models, tables, versions, figures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli._subjects import MOST_SEED
from xcid.cli._terminal import MODELS, Progress, keep_streams_apart, show
from xcid_lab.verbs.validate import FEWEST_REFITS, PATHS, validate_files

if TYPE_CHECKING:
    from xcid.cli._subjects import SubjectOptions
    from xcid_lab.validation import Validation
    from xcid_lab.validation.differences import Difference

CAUTION = "row "  # differences that are about one row
MOST_REFITS = 1_000
TEXTS, LISTS = ("target", "weights", "id", "rows", "train"), ("drop", "dates", "class_names")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("record", type=Path, metavar="RECORD", help="the .json that xcid validate --json wrote")
    for name in PATHS:
        parser.add_argument(f"--{name}", type=Path, metavar="FILE", help="where this file is now, if it was moved")
    parser.add_argument(
        "--trust", nargs="+", action="extend", default=[], metavar="TYPE", help="types that a .skops file may contain"
    )
    parser.add_argument(
        "--unsafe-pickle", action="store_true",
        help="load a pickled model, which runs whatever code is in it; a record cannot ask for this itself",
    )  # fmt: skip
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.set_defaults(run=partial(_run, parser))


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    with keep_streams_apart(options.quiet):
        return run(options)


def run(options: argparse.Namespace) -> int:
    """Validate again with the same effort and seed, and say what differs; 1 where more than versions does."""
    from xcid.errors import InvalidFile
    from xcid_lab.validation import find_differences, load
    from xcid_lab.validation.words import headline

    before = load(options.record)
    if before.inputs is None:
        raise InvalidFile(
            f"{options.record} was made in Python, and does not say of which files: validate there again, and compare "
            "by xcid_lab.validation.find_differences(before, now)"
        )
    subject = _subject_of(options.record, before.inputs.get("options"))
    moved = {name: getattr(options, name) for name in PATHS if getattr(options, name) is not None}
    subject = replace(subject, trust=options.trust, unsafe_pickle=options.unsafe_pickle, **moved)
    n_refits = _count_refits(before.inputs.get("refits"))
    now = validate_files(subject, n_refits, Progress("steps", options.quiet), effort=before.effort)
    differences = find_differences(before, now)
    results = [one for one in differences if one.is_serious]
    show(f"{_describe(results, before, now)}; {headline(now)} ({before.date}, run again on {now.date})")
    for one in differences:
        show(str(one))
    return int(bool(results))


def _describe(results: list[Difference], before: Validation, now: Validation) -> str:
    """What is another, in words: what went in, how many verdicts, how many figures."""
    from xcid.show.wording.names import count_in_words

    verdicts = [{check.name: check.verdict for check in one.checks} for one in (before, now)]
    checks = [one.what for one in results if any(one.what in known for known in verdicts)]
    n_turned = sum(verdicts[0].get(name) != verdicts[1].get(name) for name in checks)
    inputs = [one.what for one in results if one.what not in checks and not one.what.startswith(CAUTION)]
    counts = {"verdict": n_turned, "figure": len(checks) - n_turned}
    counts["caution"] = len(results) - len(checks) - len(inputs)
    found = [f"another {what}" for what in inputs] + [
        count_in_words(n, f"other {what}") for what, n in counts.items() if n
    ]
    return ", ".join(found) or "the same model, data and figures"


def _count_refits(known: Any) -> int:
    """How often the model was trained again; no record makes that many hours."""
    return min(int(known), MOST_REFITS) if isinstance(known, int) and known >= FEWEST_REFITS else 0


def _subject_of(path: Path, known: Any) -> SubjectOptions:
    """The subject of a record, whose options may be anybody's."""
    from xcid.cli._subjects import SubjectOptions
    from xcid.errors import InvalidFile

    try:
        given: Mapping[str, Any] = dict(known)
        paths = {name: None if given[name] is None else Path(str(given[name])) for name in PATHS}
        texts = {name: None if given[name] is None else str(given[name]) for name in TEXTS}
        lists = {name: None if given[name] is None else tuple(map(str, given[name])) for name in LISTS}
        seed = int(given["seed"])
        if paths["reference"] is None or not 0 <= seed < MOST_SEED or texts["train"] not in (None, *MODELS):
            raise ValueError("it names no table, seed or model that there can be")
        if (texts["train"] is None) == (paths["model"] is None):
            raise ValueError("it names no model, or two")
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFile(f"{path} does not say what was validated ({str(error)[:100]}): validate again") from error
    parts: dict[str, Any] = {**paths, **texts, **lists, "drop": lists["drop"] or (), "dates": lists["dates"] or ()}
    return SubjectOptions(**parts, seed=seed, trust=(), unsafe_pickle=False)
