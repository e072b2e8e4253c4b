"""What the options become: tables, a model and an explainer, and rows that are explained or searched in pieces."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from xcid.cli._subjects import SubjectOptions, find_positions, naming_of, try_model
from xcid.cli._terminal import Progress
from xcid.cli._wanted import CidOptions

if TYPE_CHECKING:
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation
    from xcid.io.readers import Background
    from xcid.io.rows import Rows, Unseen
    from xcid.io.sources import Source
    from xcid.subject import Subject
    from xcid.table import Constraints
    from xcid.whatif import Counterfactuals

FAR_ABOVE = (
    "these are far from the cut-off, as rows that a model was trained on often are: give others as --reference, and "
    "the model as a file by --model"
)


def read_inputs(
    subject: SubjectOptions,
    note: Callable[[str], None],
    most: int | None = None,
    check: Callable[[Background], None] = lambda reference: None,
    describe: Callable[[Unseen], str] | None = None,
) -> tuple[Any, Background, Rows]:
    """Read the tables, refuse rows that cannot be explained, and get the model.

    Where no rows are typed, a sample of at most so many is taken. ``check`` looks at the reference data before a model
    is trained on them. ``describe`` makes the note on cells that these lack; by default it shows the first of them.
    """
    from xcid.io.rows import Unseen

    with try_model(subject) as call:
        reference = read_reference(subject)
        check(reference)
        found = find_rows(subject, reference, most)
        for line in reading_notes(subject, reference, found.source):
            note(line)
        unseen = found.check(reference.space)
        call(reference.features)
        model = get_model(subject, reference, note)
    if unseen is not None:
        note((describe or Unseen.describe)(unseen))
    if subject.rows is None and len(found) < found.source.n_rows:
        note(f"taking {len(found):,} of {found.source.n_rows:,} rows, drawn at random; use --rows : for all")
    return model, reference, found


def read_reference(subject: SubjectOptions) -> Background:
    """Read the reference data as a model from a file wants them, or as one that is trained on them does."""
    from xcid.io.readers import Background

    read = Background.read if subject.train is None else Background.to_train
    return read(subject.reference, subject.roles)


def reading_notes(subject: SubjectOptions, reference: Background, data: Source | None = None) -> Iterator[str]:
    """What a user should know of how the tables were read."""
    from xcid.io.readers import note_writing, of_dates

    if subject.drop:
        yield f"left out of the features: {', '.join(subject.drop)}"
    yield from reference.notes
    if subject.data is not None and data is not None:
        yield from note_writing(data)
        yield from of_dates(data, reference.layout)


def output_names(subject: SubjectOptions, reference: Background) -> tuple[str, ...]:
    """What a model that is trained on the reference data will predict: its classes, or one name for a number.

    Nothing is known of a model in a file.
    """
    if not subject.train:
        return ()
    from numpy import unique

    from xcid.io import tables, training
    from xcid.outcomes.classes import renamed

    target = tables.column_of(reference.table, subject.lesson[0])
    if not training.is_classes(target):
        return ("output",)
    names = tuple(map(str, unique(training.labels(target)).tolist()))
    return names if subject.class_names is None else renamed(names, subject.class_names)


def find_rows(subject: SubjectOptions, reference: Background, most: int | None = None) -> Rows:
    """Find the rows to explain, or where none are typed a sample of them; they are read when they are needed."""
    from xcid.io.rows import Rows

    source = reference.opened(subject.data)
    positions: Sequence[int] = range(source.n_rows)
    if subject.rows is not None:
        positions = find_positions(subject, reference, source.n_rows)
    elif most is not None and most < source.n_rows:
        from numpy.random import default_rng

        positions = tuple(sorted(default_rng(subject.seed).permutation(source.n_rows)[:most].tolist()))
    return Rows(source, reference.layout, positions)


def get_model(subject: SubjectOptions, reference: Background, note: Callable[[str], None]) -> Any:
    """Load the model, or train one on the reference data; note how well it does, and what it should not have learnt."""
    from xcid.io import suspects, training

    if subject.model is not None:
        return load_model(subject, reference.table)
    trained = training.train(reference.table, *subject.lesson)
    note(trained.description)
    if judgement := training.judged(trained.model, reference.table, *subject.lesson):
        note(judgement)
    if subject.data is None:
        known = "the rows to explain are among those that it was trained on"
        note(f"{known}, where a model is more confident than elsewhere")
    for warning in suspects.notes(reference.table, subject.lesson[0], subject.id):
        note(warning)
    return trained.model


def load_model(subject: SubjectOptions, table: Any) -> Any:
    """Load the model that there is a file of; without a target, it must know all columns of its table."""
    from xcid.io import models, tables

    assert subject.model is not None
    model = models.load(subject.model, subject.trust, unsafe_pickle=subject.unsafe_pickle)
    if subject.target is None:
        tables.check_known(table, getattr(model, "feature_names_in_", None))
    return model


def make_explainer(
    subject: SubjectOptions,
    model: Any,
    reference: Background,
    cid: CidOptions | None = None,
    only: str | None = None,
    above: tuple[Any, float] | None = None,
    note: Callable[[str], None] = lambda said: None,
    **settings: Any,
) -> Explainer:
    """Make the explainer, which knows the weights of the reference rows and what the classes are called.

    ``above`` are an outcome and its cut-off: only reference rows just above that are compared with; ``note`` is told
    which these are.
    """
    known: dict[str, Any] = {"weights": reference.weights, **naming_of(subject, model)}
    if cid is not None:
        from xcid.method import CID

        return CID(model, reference.features, **asdict(cid), **known, **settings)
    from xcid.explainer import Explainer

    explainer = Explainer(model, reference.features, **known, **settings)
    if above is not None:
        from xcid.answers import describe_just_above
        from xcid.models.refits import take_rows

        rows, whole = explainer.just_above(reference.features, *above), explainer.subject
        said, is_far = describe_just_above(whole, reference.features, rows, *above)
        note(f"compared with {said}")
        if is_far:
            note(FAR_ABOVE)
        known |= {} if reference.weights is None else {"weights": take_rows(reference.weights, rows)}
        explainer = Explainer(model, take_rows(reference.features, rows), **known, **settings)
        explainer.subject.standing.trace(explainer.subject.space)["compared"] = said
    return explainer if only is None else explainer.without_importance()


def list_refits(subject: Subject, models: list[Any]) -> tuple[Subject, ...]:
    """The same table before each model that was trained again."""
    from xcid.uncertainty import refit

    return refit(subject, models) if models else ()


def make_subject(subject: SubjectOptions, model: Any, reference: Background, constraints: Constraints) -> Subject:
    """Make the subject of a search for changes that obey constraints, which needs no explainer."""
    from xcid._check import telling
    from xcid.errors import InvalidParameter
    from xcid.explainer import SETTINGS
    from xcid.models.tables import Naming
    from xcid.subject import Subject

    named = naming_of(subject, model)
    naming = Naming(named["class_names"], named.get("target"))
    with telling(InvalidParameter, SETTINGS):
        return Subject.of(model, reference.features, constraints=constraints, weights=reference.weights, naming=naming)


def explain_pieces(
    explainer: Explainer,
    rows: Rows,
    seed: int,
    size: int,
    workers: int,
    progress: Progress,
    keep: Callable[[Any], None] = lambda frame: None,
    redact: Callable[[str], str] = str,
) -> Iterator[Explanation]:
    """Explain so many rows at a time, and warn of those that failed or lack perturbations.

    A row has the same scores in whatever piece it is. ``keep`` gets the table of each piece before its explanation
    comes, and ``redact`` makes of the reason why the first row failed what may be said of it.
    """
    from xcid._faults import quietly, refuse_one_side, warn_of_statuses
    from xcid._require import one_core_each
    from xcid.records import Failure

    one_side, failures = list[str](), list[Failure]()
    explainer = explainer.replace(one_sided=one_side.append, failed=failures.append)  # other pieces may have flips
    explain: Callable[..., Explanation] = explainer
    if workers > 1:
        from xcid.engines import Threads

        explain, size = partial(Threads(workers), explainer), max(size, workers * explainer.setup.rows_at_once)
    statuses: Counter[str] = Counter()
    reason, pieces = "", list[tuple[set[str], str]]()
    progress(0, len(rows))
    for chunk in rows.chunks(size):
        with quietly(), one_core_each():
            explanation = explain(chunk.frame, seed=seed)
        explanation = replace(explanation, index=chunk.names)
        statuses.update(explanation.status.tolist())
        if failures and not reason:
            reason = f"row {chunk.names[failures[0].place]}: {failures[0].reason}"
        pieces.append((set(explanation.status.tolist()), one_side.pop() if one_side else ""))
        progress(statuses.total(), len(rows))
        keep(chunk.frame)
        yield explanation
    refuse_one_side(pieces)
    warn_of_statuses(statuses, redact(reason))


@dataclass(slots=True)
class RowSearch:
    """A search for counterfactuals, and what there is to know of all that it finds."""

    subject: Subject
    outcome: Any
    target: Any
    k: int
    seed: int
    refits: tuple[Subject, ...] = ()
    changed: Counter[str] = field(default_factory=Counter)  # how often features change that people hardly can
    broken: Counter[str] = field(default_factory=Counter)  # rules that rows break
    n_lines: int = 0
    n_rows: int = 0
    n_failed: int = 0

    def __call__(self, frame: Any, index: Any) -> tuple[Counterfactuals, Subject]:
        """Counterfactuals of some rows, and the subject that knows all their cells."""
        from xcid.table import encode_unseen
        from xcid.whatif.engine import find_counterfactuals
        from xcid.whatif.record import FAILED
        from xcid.whatif.undeclared import find_suspects

        space, cells, unseen = encode_unseen(self.subject.space, frame)
        subject, *refits = (one.with_room(space) if unseen.any() else one for one in (self.subject, *self.refits))
        asked = index, self.target, self.k, self.seed
        found = find_counterfactuals(subject, self.outcome, cells, *asked, refits=tuple(refits))
        moved, names = dict(zip(found.feature_names, found.moved.sum(axis=0), strict=True)), subject.features.names
        self.n_lines += int((found.n_changes > 0).sum())
        self.n_rows += len(cells)
        self.n_failed += int((found.kind == FAILED).sum())
        self.changed.update({names[at]: int(moved.get(names[at], 0)) for at in find_suspects(subject).nonzero()[0]})
        self.broken.update({name: int(is_broken.sum()) for name, is_broken in subject.rules.broken(cells)})
        return found, subject

    def notes(self) -> Iterator[str]:
        """What was counted, in words."""
        from xcid.whatif.undeclared import word_unchangeable

        if changed := +self.changed:
            often = word_unchangeable(changed, self.n_lines, "ways")
            yield f"{often}, add --frozen {shlex.quote(','.join(changed))}"
        for name, count in (+self.broken).items():
            yield f"{count:,} of {self.n_rows:,} rows break the rule {name} themselves"
        if self.n_failed:
            yield f"the model failed for {self.n_failed:,} of {self.n_rows:,} rows"
