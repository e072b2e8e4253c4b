"""``xcid compare``: xcid, SHAP, LIME and others side by side on your own data and model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xcid.cli import _subjects
from xcid.cli._terminal import (
    METHODS,
    MODELS,
    MORE_METHODS,
    USUAL_METHODS,
    Progress,
    add_verb,
    apart,
    printable,
    progress,
    record,
    show,
    whole_number,
)

if TYPE_CHECKING:
    from xcid.lab.comparison import Comparison
    from xcid.space import FeatureSpace

TEST_SHARE = 0.2


class Options(NamedTuple):
    """What was typed."""

    data: Path
    target: str | None
    weights: str | None
    model: str
    rows: int
    methods: tuple[str, ...]
    trust: Sequence[str]
    unsafe_pickle: bool
    seed: int
    quiet: bool
    out: Path | None


def add(subparsers: Any) -> None:
    """Add the verb."""
    parser = add_verb(subparsers, __doc__, "compare with other methods")
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="a table; a fifth of it is explained")
    parser.add_argument("--target", metavar="COLUMN", help="what the model predicts; left out of the features")
    parser.add_argument("--weights", metavar="COLUMN", help="weights of the reference rows; left out of the features")
    parser.add_argument(
        "--model", required=True, metavar="MODEL", help=f"{', '.join(MODELS)}, or a file as for explain"
    )
    count = whole_number(1)
    parser.add_argument("--rows", type=count, default=50, metavar="N", help="rows to explain (default: 50)")
    parser.add_argument(
        "--methods",
        type=_methods,
        default=USUAL_METHODS,
        metavar="A,B",
        help=f"by default {','.join(USUAL_METHODS)}; also {', '.join(MORE_METHODS)}",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for figures.csv, figures.json, comparison.png")
    _subjects.add_common(parser)
    parser.set_defaults(run=partial(_checked, parser))


def _methods(text: str) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown methods {unknown}: there are {', '.join(METHODS)}")
    return chosen


def _checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.model in MODELS and not options.target:
        parser.error(f"--model {options.model} is trained, and needs --target, the column to learn")
    with apart(options.quiet):
        run(record(Options, options))


def run(options: Options) -> None:
    """Compare, print the tables, and keep them where asked."""
    from xcid.files.writers import folder
    from xcid.lab.comparison import compare, markdown

    out = None if options.out is None else folder(options.out)
    line, parts = progress("runs", options.quiet), split(options)
    comparison = compare(parts.model, parts.train, parts.rows, options.methods, options.seed, line, parts.weights)
    show(printable(f"{parts.description}\n\n{markdown(comparison)}"))
    if out is not None:
        _keep(comparison, parts.description, out, line)


def _keep(comparison: Comparison, subject: str, out: Path, line: Progress) -> None:
    """Write the figures, and draw them where matplotlib is installed."""
    import numpy as np

    from xcid.errors import MissingDependency
    from xcid.files.writers import replacing, write
    from xcid.lab.comparison import draw

    figures = comparison.figures.items()
    lines = [(method, name, one.mean, one.margin) for method, found in figures for name, one in found.items()]
    lines += [(a, f"top {comparison.k} in common with {b}", *one) for (a, b), one in comparison.agreement.items()]
    names = ("method", "figure", "mean", "margin")
    write(out / "figures.csv", [{name: np.array([line[at] for line in lines]) for at, name in enumerate(names)}])
    report = {
        "subject": subject,
        "figures": [
            {name: None if cell == float("inf") else cell for name, cell in zip(names, line, strict=True)}
            for line in lines
        ],  # strict JSON has no infinity
        "left_out": comparison.left_out,
    }
    with replacing(out / "figures.json") as path:
        path.write_text(json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")
    try:
        picture = draw(comparison)
    except MissingDependency as error:
        line.note(f"no picture: {error}")
        return
    with replacing(out / "comparison.png") as path:
        picture.savefig(path, dpi=150, format="png")


class Split(NamedTuple):
    """A model, the rows it may know, rows to explain, and a text that says what they are."""

    model: Any
    train: Any
    rows: Any
    description: str
    weights: Any  # of the rows it may know, where a column has them


def split(options: Options) -> Split:
    """Hold out a fifth of the rows; a model that is trained has not seen them."""
    import numpy as np

    from xcid.files import models, readers, tables, training, trial
    from xcid.space import FeatureSpace

    table, weights = tables.parted(readers.read(options.data), options.weights)
    n_rows = tables.size(table)
    shuffled = np.random.default_rng(options.seed).permutation(n_rows)
    n_test = max(1, round(TEST_SHARE * n_rows))
    test, known = shuffled[:n_test].tolist(), sorted(shuffled[n_test:].tolist())
    features = tables.without(table, options.target)
    train, weights = tables.part(features, known), None if weights is None else weights[known]
    fit, passed_over = _fit(FeatureSpace.of(train, weights=weights), features, test, options.rows)
    if options.model in MODELS:
        assert options.target is not None
        model, text = training.train(tables.part(table, known), options.target, options.model, options.seed)
    else:
        with trial.tried(Path(options.model), options.trust) as passed:
            passed(train)
            model = models.load(Path(options.model), options.trust, unsafe_pickle=options.unsafe_pickle)
        text = f"{options.model} with {len(known):,} reference rows"
    text = f"{text}; {len(fit)} others explained"
    if passed_over:
        text += f" ({passed_over} passed over, with levels or missing cells that the {len(known):,} rows do not have)"
    return Split(model, train, tables.part(features, fit), text, weights)


def _fit(space: FeatureSpace, features: Any, test: list[int], most: int) -> tuple[list[int], int]:
    """Rows that can be explained against the training rows, and how many before them cannot."""
    from xcid.errors import InvalidData
    from xcid.files.tables import part

    fit: list[int] = []
    passed_over = 0
    for position in test:
        if len(fit) == most:
            break
        try:
            space.encode(part(features, [position]))
            fit.append(position)
        except InvalidData as error:
            passed_over, reason = passed_over + 1, error
    if not fit:
        raise InvalidData(f"none of the {len(test)} rows to explain fits the others: {reason}")
    return fit, passed_over
