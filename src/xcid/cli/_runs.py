"""``xcid explain --run``: a folder remembers finished rows, and several processes share the work."""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xcid.cli import _subjects, _wanted, _work
from xcid.cli._terminal import Progress, show
from xcid.errors import XcidError

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.io.readers import Background
    from xcid.runs.folder import FileFingerprint, Folder
    from xcid.runs.run import Job
    from xcid.runs.worker import Task
    from xcid.show.reasons import Reasons

OWN_TYPES = ("xcid.io.training.days", "xcid.io.training.objects")  # in models that are trained here


@dataclass(frozen=True, slots=True)
class Recipe:
    """How any process makes the explainer of a run, from files."""

    subject: _subjects.SubjectOptions
    cid: _wanted.CidOptions | None = None
    only: str | None = None
    reasons: _wanted.ReasonOptions | None = None

    def __call__(self) -> Explainer:
        return self.make(_work.read_reference(self.subject), lambda note: None)

    def make(self, reference: Background, note: Callable[[str], None]) -> Explainer:
        """Make the explainer for reference data that were read already."""
        model = _work.get_model(self.subject, reference, lambda note: None)
        settings = _wanted.evidence_settings(self.reasons)
        return _work.make_explainer(self.subject, model, reference, self.cid, self.only, note=note, **settings)


def run(options: argparse.Namespace, reasons: Reasons | None, path: Path, out: Path, progress: Progress) -> None:
    """Explain all rows in a folder of their own; what is done there is not done again."""
    from xcid._faults import warn_of_statuses
    from xcid.runs.folder import open_folder
    from xcid.runs.run import run as run_all

    with open_folder(path) as folder:
        try:
            job, task, data, try_out = _prepare(options, reasons, folder, out.suffix.lower(), progress.note)
            statuses, reason = run_all(job, task, data, folder, out, progress, try_out)
        except KeyboardInterrupt:
            folder.log("interrupted")
            progress.note(f"interrupted: what is finished is in {path}, and the same command resumes it")
            raise
        except XcidError as error:
            folder.log(f"ended by {type(error).__name__}")  # what it says may hold data
            raise
    failed = warn_of_statuses(statuses, reason)
    done = f"{statuses.total() - failed:,} of " if failed else ""
    show(f"{done}{statuses.total():,} rows are explained in {out}")


def _prepare(
    options: argparse.Namespace, reasons: Reasons | None, folder: Folder, suffix: str, note: Callable[[str], None]
) -> tuple[Job, Task, FileFingerprint, Callable[[], None]]:
    """Look at the files before the first worker starts: the job, the task, the table to explain, how to try the task.

    A run that is finished needs no model: it is not loaded before it is known that something is left to do.
    """
    from xcid.frames import to_columns
    from xcid.runs.folder import describe, fingerprint, identity, verify_unchanged
    from xcid.runs.run import Job
    from xcid.runs.worker import Task

    subject, wanted = options.subject, options.reasons
    files = {"background": subject.reference, "data": subject.data or subject.reference, "model": subject.model}
    files["text file"] = None if wanted is None else wanted.texts
    files_read = {what: fingerprint(path) for what, path in files.items() if path is not None}
    with verify_unchanged(files_read.values()):
        reference = _work.read_reference(subject)
        _wanted.check_reasons(wanted, _work.output_names(subject, reference))
        job = Job(_work.find_rows(subject, reference), options.chunk, options.workers)
        for line in _work.reading_notes(subject, reference, job.rows.source):
            note(line)
        unseen = None if folder.has_chunks else job.rows.check(reference.space)
        if unseen is not None:
            note(unseen.describe())
        model = subject.model or _train_once(subject, reference, files_read["background"].sha256, folder, note)
        trust = OWN_TYPES if subject.model is None else subject.trust
        files_read["model"] = files_read.get("model") or fingerprint(model)
        recipe = Recipe(replace(subject, model=model, trust=trust), options.cid, options.only, wanted)
    manifest = describe(files_read, _describe_settings(options, reference, job, suffix))
    folder.adopt(manifest)
    task = Task(
        recipe,
        subject.seed,
        suffix,
        folder.chunks.absolute(),
        max(1, (os.cpu_count() or 1) // options.workers),
        identity(manifest),
        (files_read["model"], files_read["background"]),
        options.time_limit,
        to_columns if reasons is None else reasons.columns,
    )

    def try_out() -> None:
        with verify_unchanged(files_read.values()):
            _try_out(recipe, reference, reasons, note)

    is_sure_to_end = options.time_limit is None  # else it might hang, and only a worker can be ended
    return job, task, files_read["data"], try_out if is_sure_to_end else lambda: None


def _try_out(recipe: Recipe, reference: Background, reasons: Reasons | None, note: Callable[[str], None]) -> None:
    """Make the explainer: it fails here rather than in every worker."""
    with _subjects.try_model(recipe.subject) as call:
        call(reference.features)
        made = recipe.make(reference, note).subject
        _wanted.check_reasons(recipe.reasons, made.output_names)
        if reasons is not None:
            reasons.check(made.features.names, made.output_names)


def _describe_settings(options: argparse.Namespace, reference: Background, job: Job, suffix: str) -> dict[str, Any]:
    """What was typed, in the words of a manifest."""
    subject, wanted = options.subject, options.reasons
    settings: dict[str, Any] = {name: getattr(subject, name) for name in ("seed", "target", "weights", "train")}
    settings |= {"paper": options.cid is not None} | {name: getattr(options, name) for name in ("chunk", "time_limit")}
    if options.cid not in (None, _wanted.USUAL_CID):
        settings["cid"] = asdict(options.cid)
    settings |= {} if options.only is None else {"only": options.only}
    settings |= {"rows": _describe_positions(job.rows.positions), "format": suffix}
    if wanted is not None:
        settings |= {"reasons": wanted.k, "against": wanted.against}
        settings |= {} if wanted.just_above is None else {"just_above": wanted.just_above}
    roles = reference.layout.roles
    more = {"id": subject.id, "drop": roles.drop, "dates": roles.all_dates, "class_names": subject.class_names}
    return settings | {name: list(one) if isinstance(one, tuple) else one for name, one in more.items() if one}


def _describe_positions(positions: Sequence[int]) -> list[int] | str:
    """Which rows these are, in few letters."""
    if isinstance(positions, range):
        return [positions.start, positions.stop, positions.step]
    return hashlib.sha256(repr(tuple(positions)).encode()).hexdigest()


def _train_once(
    subject: _subjects.SubjectOptions, reference: Background, sha256: str, folder: Folder, note: Callable[[str], None]
) -> Path:
    """Train a model once and keep it in the folder: all workers, and those who resume the run, have the same one."""
    from xcid.io import models
    from xcid.io.writers import replacing

    roles = reference.layout.roles
    chosen = (roles.drop, roles.all_dates)
    known = (sha256, subject.target, subject.train, subject.seed, *(chosen if any(chosen) else ()))
    path = folder.path / f"model-{hashlib.sha256(repr(known).encode()).hexdigest()[:12]}.skops"
    if not path.exists():
        io = models.import_library(models.LOADERS[".skops"])
        model = _work.get_model(subject, reference, note)
        with replacing(path) as temporary:
            io.dump(model, temporary)
    return path
