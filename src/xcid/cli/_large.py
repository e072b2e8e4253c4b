"""``xcid explain`` for tables that do not fit into memory: read some rows at a time, and runs with a folder."""

from __future__ import annotations

import argparse
import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xcid.cli._choices import ROWS_OF_A_CHUNK
from xcid.errors import InvalidFile, XcidError, XcidWarning

if TYPE_CHECKING:
    from xcid.cli._progress import Progress
    from xcid.explainer import Explainer
    from xcid.records import Explanation
    from xcid.runs.chunks import Chunk
    from xcid.runs.folder import Folder
    from xcid.runs.layout import Layout
    from xcid.runs.readers import Source
    from xcid.runs.run import Job
    from xcid.runs.worker import Task

SMALL = 2**26  # bytes of a table that may be in memory as a whole
UNPACKED = {".parquet": 8, ".feather": 4, ".arrow": 4}  # how much larger a table may be than its file
OWN_TYPES = ("xcid.files.training.days", "xcid.files.training.objects")  # in models that are trained here


@dataclass(frozen=True, slots=True)
class Recipe:
    """How any process makes the explainer of a run, from files."""

    background: Path
    target: str | None
    model: Path
    trust: tuple[str, ...]
    unsafe_pickle: bool
    paper: bool

    def __call__(self) -> Explainer:
        from xcid.cli import _inputs
        from xcid.explainer import Explainer

        options = argparse.Namespace(
            background=self.background,
            target=self.target,
            model=self.model,
            trust=self.trust,
            unsafe_pickle=self.unsafe_pickle,
            train=None,
        )
        table, background = _inputs.read_background(options)
        model = _inputs.model_for(options, table, lambda words: None)
        return (Explainer.paper if self.paper else Explainer)(model, background, max_evidence_bytes=0)


def is_large(options: argparse.Namespace) -> bool:
    """Whether the rows to explain should be read some at a time."""
    from xcid.files import tables

    path, step = options.data, options.rows.step
    if path is None or not path.is_file() or path.suffix.lower() == ".json" or (step is not None and step < 0):
        return False
    size: int = path.stat().st_size * UNPACKED.get(path.suffix.lower(), 1)
    return size > SMALL and tables.library() == "pandas"


def source(path: Path, layout: Layout) -> Source:
    """A table that is read some rows at a time; one list of JSON objects is read as a whole."""
    from xcid.files import cells, delimited, signatures, tables
    from xcid.runs.readers import Arrow, Held, Parquet
    from xcid.runs.texts import Lines, Text

    suffix = path.suffix.lower()
    if suffix not in tables.READERS:
        raise InvalidFile(f"{path} is no table that can be read: the extensions are {', '.join(tables.READERS)}")
    if not path.is_file():
        raise InvalidFile(f"there is no file {path}")
    tables.guard(path)
    if suffix in (".csv", ".tsv"):
        separator = "," if suffix == ".csv" else "\t"
        return Text(path, layout, delimited.check(path, separator), separator, delimited.ENCODING, delimited.MISSING)
    if suffix in (".jsonl", ".ndjson"):
        signatures.check_text(path)
        return Lines(path, layout, delimited.ENCODING)
    if suffix == ".parquet":
        return Parquet(path, layout)
    if suffix in (".feather", ".arrow"):
        return Arrow(path, layout)
    return Held(cells.features(path, tables.read(path), layout.target))


def streamed(options: argparse.Namespace, told: Progress) -> tuple[Iterator[Explanation], int]:
    """Explain rows some at a time as they are read; and how many there are."""
    from xcid.cli import _inputs
    from xcid.cli._rows import chosen
    from xcid.explainer import Explainer
    from xcid.runs.chunks import count, cut
    from xcid.runs.layout import Layout

    table, background = _inputs.read_background(options)
    model = _inputs.model_for(options, table, told.note)
    explainer = (Explainer.paper if options.paper else Explainer)(model, background, max_evidence_bytes=0)
    rows = source(options.data, Layout.of(explainer.space, options.target))
    positions = chosen(options.rows, rows.n_rows)
    size = max(ROWS_OF_A_CHUNK, options.workers * explainer.setup.rows_at_once)
    chunks = cut(rows.frames(positions[0]), positions, size, range(count(positions, size)), str(options.data))
    return _explained(explainer, chunks, options, told, len(positions)), len(positions)


def _explained(
    explainer: Explainer, chunks: Iterator[Chunk], options: argparse.Namespace, told: Progress, total: int
) -> Iterator[Explanation]:
    from xcid.engines import Threads
    from xcid.runs.worker import explain

    engine, done = Threads(options.workers), 0
    told(0, total)
    for chunk in chunks:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # of rows without flips: counted over all chunks instead
            explanation = explain(explainer, chunk, partial(engine, explainer, seed=options.seed), str(options.data))
        done += len(chunk.positions)
        told(done, total)
        yield explanation


def run(options: argparse.Namespace, told: Progress) -> None:
    """Explain all rows in a folder of their own; what is done there is not done again."""
    from xcid.cli._pieces import note_statuses
    from xcid.runs.folder import opened
    from xcid.runs.run import run as run_all

    with opened(options.folder) as folder:
        try:
            recipe = Recipe(
                options.background,
                options.target,
                options.model or _trained(options, folder, told.note),
                tuple(options.trust) if options.model else OWN_TYPES,
                options.unsafe_pickle,
                options.paper,
            )
            job, task = _prepared(options, recipe, folder)
            statuses = run_all(job, task, folder, options.out, options.workers, told)
        except KeyboardInterrupt:
            folder.log("interrupted")
            told.note(f"interrupted: what is finished is in {options.folder}, and the same command goes on from there")
            raise
        except XcidError as error:
            folder.log(f"ended by {type(error).__name__}")  # what it says may hold data
            raise
    note_statuses(statuses)
    print(f"{statuses.total():,} rows are explained in {options.out}")  # noqa: T201


def _prepared(options: argparse.Namespace, recipe: Recipe, folder: Folder) -> tuple[Job, Task]:
    """Look at everything before the first worker starts."""
    from xcid.cli._rows import chosen
    from xcid.runs import manifest
    from xcid.runs.layout import Layout
    from xcid.runs.run import Job, look_through
    from xcid.runs.worker import Task

    path = options.data or options.background
    space = recipe().space
    table = source(path, Layout.of(space, options.target))
    positions = chosen(options.rows, table.n_rows)
    settings = {
        "seed": options.seed,
        "target": options.target,
        "rows": [positions.start, positions.stop, positions.step],
        "train": options.train,
        "paper": options.paper,
        "chunk": options.chunk,
        "format": options.out.suffix.lower(),
    }
    inputs = {"model": recipe.model, "background": options.background, "data": path}
    job = Job(table, positions, path, options.chunk)
    if folder.adopt(manifest.describe(inputs, settings)):
        look_through(job, space)
    cores = max(1, (os.cpu_count() or 1) // options.workers)
    task = Task(recipe, options.seed, settings["format"], folder.chunks.absolute(), str(path), cores)
    return job, task


def _trained(options: argparse.Namespace, folder: Folder, note: Callable[[str], None]) -> Path:
    """Train a model once and keep it in the folder: all workers, and those who go on, have the same one."""
    from xcid._require import require
    from xcid.cli import _inputs
    from xcid.files.atomic import replacing
    from xcid.runs.manifest import digest

    known = (digest(options.background), options.target, options.train, options.seed)
    path = folder.path / f"model-{hashlib.sha256(repr(known).encode()).hexdigest()[:12]}.skops"
    if not path.exists():
        io = require("skops.io", extra="skops")
        model = _inputs.model_for(options, _inputs.read_background(options)[0], note)
        with replacing(path) as temporary:
            io.dump(model, temporary)
    return path
