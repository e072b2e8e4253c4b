"""Points 0 to 3 of ``ten_points.py`` on the tables of the review, before and now on equal rows, judged by one judge."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from changers import CHANGERS
from earlier import Answer, Key, Question, answer, answer_all, ask_earlier, kept
from proofs import LINES, timed
from review_judges import broken, flips, held, n_changed, rules_of, sum_of, superfluous, wrong_shares
from review_tables import ENSEMBLES, FOUR, REVIEWED, Cell, Codes, bootstrapped, cells

import xcid

KINDS = "sparsest", "nearest", "likeliest"
REFITS = JUDGES = 8

PROVED = (REVIEWED, 0.98, 1.0), (("spambase",), 0.85, 5 / 15)  # tables, what is due, and how many of the rows

MOST_ROWS = {"dice-ml, random": 3}  # of a cell, for a search that takes a second or two


class Line(NamedTuple):
    """One figure: of which point, what it is, as it was, as it is now, and whether it is as it must be."""

    point: int
    what: str
    before: str
    now: str
    holds: bool | None = None


class Place(NamedTuple):
    """Where the tables are, a checkout of before, and a folder that keeps what takes long; each may be missing."""

    folder: Path | None = None
    checkout: Path | None = None
    keep: Path | None = None

    def earlier(self, name: str, questions: Mapping[Key, Question]) -> dict[Key, Answer]:
        """The answers of before, none without a checkout."""
        checkout = self.checkout
        return {} if checkout is None else kept(self.keep, f"{name}-before", lambda: ask_earlier(checkout, questions))


def share(part: float, whole: float) -> str:
    """A share with its counts."""
    return f"{part / whole:.0%} ({part:,.0f} of {whole:,.0f})" if whole else "none"


def form(place: Place, n_rows: int) -> Iterator[Line]:
    """Compare valid answers, changes and times with other searches, and count what is wrong in form."""
    assert place.folder is not None
    made = {(one.table, one.model_name): one for one in cells(place.folder, REVIEWED, FOUR, n_rows)}
    free = {key: Question(one.model, one.train, one.rows) for key, one in made.items()}
    ruled = {(*key, "ruled"): Question(one.model, one.train, one.rows, rules_of(one)) for key, one in made.items()}
    before, now = place.earlier("form", free | ruled), answer_all(free | ruled)
    told = [{kind: sizes_of(made, one, kind) for kind in KINDS} if one else {} for one in (before, now)]
    peers = kept(place.keep, "form-peers", lambda: {key: list(others(one)) for key, one in made.items()})
    field = dict[str, list[tuple[float, float, float]]]()
    for key, found in peers.items():
        for name, rows, ms in found:
            there = [at for at, row in enumerate(rows) if row is not None and flips(made[key], row, at)]
            sizes = [n_changed(made[key], rows[at], at) for at in there]
            field.setdefault(name, []).append((len(there) / len(rows), float(np.mean(sizes)), ms))
    means = {name: np.mean(found, axis=0) for name, found in field.items()}
    least = min(mean[1] for mean in means.values())
    for kind in KINDS:
        valid, size, _ = told[1][kind]
        words = [_form(one[kind]) if one else "" for one in told]
        yield Line(0, f"xcid, {kind}", words[0], words[1], bool(valid == 1 and (size < least or kind != "sparsest")))
    for name, mean in means.items():
        yield Line(0, name + (f", {MOST_ROWS[name]} rows a cell" if name in MOST_ROWS else ""), "", _form(mean))
    for what, count in (("superfluous changes", superfluous), ("shares that are off", wrong_shares)):
        counts = [sum_of(made, one, count) for one in (before, now)]
        words = [f"{bad:,} of {whole:,}" if whole else "" for bad, whole in counts]
        yield Line(0, what, words[0], words[1], counts[1][0] == 0)
    counts = [broken(made, one) for one in (before, now)]
    words = [f"{bad:,} of {whole:,} lines" if whole else "" for bad, whole in counts]
    yield Line(0, "rules broken", words[0], words[1], counts[1][0] == 0)


def _form(mean: Any) -> str:
    return f"valid {mean[0]:.2f}, changes {mean[1]:.2f}, {mean[2]:.0f} ms"


def others(one: Cell, names: Sequence[str] = ()) -> Iterator[tuple[str, list[Any], float]]:
    """What the other searches give for the rows, as coded arrays, with milliseconds a row."""
    codes = Codes(one)
    rows = codes.encode(one.rows).to_numpy(float)
    for name in names or CHANGERS:
        package, make = CHANGERS[name]
        try:
            change = make(codes.task())
        except ModuleNotFoundError:
            print(f"({name} is left out: {package} is not installed)")
            continue
        start = time.process_time()
        some = rows[: MOST_ROWS.get(name)]
        found = [change(row, int(own)) for row, own in zip(some, one.has, strict=False)]
        yield name, found, 1e3 * (time.process_time() - start) / len(some)


def sizes_of(made: Mapping[Key, Cell], answers: Mapping[Key, Answer], kind: str) -> Any:
    """Shares of rows with a valid answer, changes and milliseconds a row, in the mean over cells."""
    told = []
    for key, one in made.items():
        found = answers[key]
        lines = found.is_kind(kind)
        there = one.model.predict(found.table[lines]).astype(int) != one.has[found.row[lines]]
        told.append((there.sum() / len(one.rows), found.n_changes[lines].mean(), found.ms))
    return np.mean(told, axis=0)


def unreached(place: Place, n_rows: int) -> Iterator[Line]:
    """Count rows 'not reached' with ten of German credit's columns frozen and a probability of .9 wanted."""
    assert place.folder is not None
    review = {"logistic": "44 of 80, 27 of them reachable", "XGBoost 100 x 4": "17 of 60, 15 reachable"}
    sizes = {"logistic": 80, "XGBoost 100 x 4": 60, "forest, in full": 30}
    some = {name: FOUR[name] for name in sizes}
    made = {one.model_name: one for one in cells(place.folder, ("german",), some, n_rows)}
    questions = dict[Key, Question]()
    for name, one in made.items():
        frozen = np.random.default_rng(1).permutation(list(one.train))[: one.train.shape[1] // 2].tolist()
        for own in (0, 1):
            rows = one.rows[one.has == own].iloc[: max(1, sizes[name] * n_rows // 80)].reset_index(drop=True)
            if len(rows):
                questions[name, own] = Question(one.model, one.train, rows, {"frozen": frozen}, str(1 - own), 0.9, k=1)
    before, now = place.earlier("unreached", questions), answer_all(questions)
    for name, one in made.items():
        mine = [key for key in questions if key[0] == name]
        missed, proved, n = 0, 0, 0
        was_missed = reachable = 0
        for key in mine:
            found = now[key]
            there = {int(row) for row in found.row[found.reached]}
            chances = one.chance(found.table[found.reached])[:, 1 - int(key[1])] if there else np.ones(1)
            assert chances.min() >= 0.9 - 1e-6, "an answer without the probability that is wanted"
            n += len(questions[key].rows)
            missed += int((found.kind == "not reached").sum())
            proved += int((found.proof == "none exists").sum())
            if before:
                rows = {int(row) for row in before[key].row[before[key].kind == "not reached"]}
                was_missed, reachable = was_missed + len(rows), reachable + len(rows & there)
        was = f"not reached {was_missed}, of which reachable {reachable}" if before else ""
        said = f" (review: {review[name]})" if name in review else ""
        now_words = f"of {n} rows not reached {missed}, proved {proved}"
        yield Line(1, f"German credit, {name}", was + said, now_words, missed == proved)


def nearest(place: Place, n_rows: int) -> Iterator[Line]:
    """Count the nearest lines that are proved, how far those of before were, and the time of a proof."""
    assert place.folder is not None
    review = {"bupa": "57%", "mammographic": "63%", "phoneme": "22%", "german": "43%"}
    for names, due, part in PROVED:
        rows = max(1, int(n_rows * part))
        ones = [(one.table, one.model_name, one) for one in cells(place.folder, names, ENSEMBLES, rows)]
        questions: dict[Key, Question] = {
            (table, model): Question(one.model, one.train, one.rows) for table, model, one in ones
        }
        before = place.earlier(f"nearest-{names[0]}", questions)
        spent, now = dict[Key, dict[tuple[int, bool], float]](), dict[Key, Answer]()
        for key, asked in questions.items():
            with timed(spent.setdefault(key, {})):
                now[key] = answer(asked._replace(k=LINES))
        total = np.zeros(2, dtype=int)
        for name in names:
            keys = [key for key in questions if key[0] == name]
            counts = np.array([_proved(now[key]) for key in keys]).sum(axis=0)
            total += counts
            ms = [one for key in keys for (_, is_nearest), one in spent[key].items() if is_nearest]
            far = np.concatenate([_how_far(before[key], now[key]) for key in keys]) if before else np.zeros(0)
            was = ""
            if len(far):
                worse = far[far > 1 + 1e-6]
                was = f"optimal {np.mean(far <= 1 + 1e-6):.0%}"
                was += f", else {np.median(worse):.2f} times as far, at most {max(worse):.1f}" if len(worse) else ""
            said = f" (review: {review[name]})" if name in review else ""
            columns = questions[keys[0]].train.shape[1]
            yield Line(2, f"{name}, {columns} columns, 6 ensembles: nearest", was + said,
                       f"proved {share(*counts)}, median {np.median(ms):.1f} ms", None)  # fmt: skip
        every = [one for key in spent for (_, is_nearest), one in spent[key].items() if is_nearest]
        what = "all of these" if len(names) > 1 else "57 columns"
        yield Line(2, f"{what}: nearest proved, median time", "",
                   f"{share(*total)}, {np.median(every):.1f} ms",
                   bool(total[0] >= due * total[1] and np.median(every) < 10))  # fmt: skip


def _proved(found: Answer) -> tuple[int, int]:
    lines = found.is_nearest
    return int((lines & (found.proof == "nearest")).sum()), int(lines.sum())


def _how_far(before: Answer, now: Answer) -> Any:
    """Distances of before over those that are proved to be the least."""
    far = []
    for line in np.flatnonzero(now.is_nearest & (now.proof == "nearest")):
        old = before.is_kind("nearest") & (before.row == now.row[line])
        far += [float(before.distance[at] / max(now.distance[line], 1e-12)) for at in np.flatnonzero(old)[:1]]
    return np.array(far)


def survival(place: Place, n_rows: int) -> Iterator[Line]:
    """Train again on samples of the other half of each table, and count how often answers still work."""
    assert place.folder is not None
    made = {(one.table, one.model_name): one for one in cells(place.folder, REVIEWED, FOUR, n_rows)}
    questions: dict[Key, Question] = {key: Question(one.model, one.train, one.rows) for key, one in made.items()}
    before = place.earlier("survival", questions)
    refits = kept(place.keep, "survival-refits", lambda: {
        key: tuple(xcid.refits(one.model, one.train, one.target, n=REFITS)) for key, one in made.items()
    })  # fmt: skip
    judges = kept(place.keep, "survival-judges", lambda: {key: bootstrapped(one, JUDGES) for key, one in made.items()})
    names = "nearest unlike row", "NICE, sparsity"
    peers = kept(place.keep, "survival-peers", lambda: {key: list(others(one, names)) for key, one in made.items()})
    told = dict[tuple[str, str], list[tuple[float, float]]]()
    was = dict[tuple[str, str], list[tuple[float, float]]]()
    for key, one in made.items():
        now = answer(questions[key]._replace(refits=refits[key], k=4))
        for book, found in ((told, now), (was, before.get(key))):
            for kind in (*KINDS, "steady"):
                if found is None:
                    continue
                for line in np.flatnonzero(found.is_kind(kind)):
                    holds = held(one, judges[key], found.table.iloc[[line]], int(found.row[line]))
                    book.setdefault((key[1], f"xcid, {kind}"), []).append((holds, float(found.n_changes[line])))
        for name, rows, _ in peers[key]:
            for at, row in enumerate(rows):
                if row is not None:
                    table = Codes(one).decode(pd.DataFrame(row[None], columns=one.train.columns))
                    mine = held(one, judges[key], table, at), float(n_changed(one, row, at))
                    told.setdefault((key[1], name), []).append(mine)
    for model in FOUR:
        means = {name: np.mean(found, axis=0) for (own, name), found in told.items() if own == model}
        steady, rivals = means["xcid, steady"], [means["NICE, sparsity"], means["nearest unlike row"]]
        is_best = all(steady[0] > rival[0] and steady[1] < rival[1] for rival in rivals)
        for name in means:
            words = [_holding(book[model, name]) if (model, name) in book else "" for book in (was, told)]
            yield Line(3, f"{model}: {name}", words[0], words[1], bool(is_best) if name == "xcid, steady" else None)


def _holding(found: Any) -> str:
    holds, sizes = np.array(found).T
    return f"holds {holds.mean():.2f} ± {holds.std(ddof=1) / np.sqrt(len(holds)):.2f}, changes {sizes.mean():.2f}"
