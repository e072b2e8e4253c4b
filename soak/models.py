"""Model files that were tampered with: ``python soak/models.py --count 5000``.

Every estimator of scikit-learn that skops writes, some of them with other choices than the usual ones, and those of
XGBoost and LightGBM are fitted and written. Then one to three fields of a file are changed: taken out, emptied, cut,
swapped, set to limits, or made by another node. One file in four is of LightGBM or XGBoost in its own format
(``boosters.py``). For each file one process does what the trial of a model file does,
with its limits; only where that lets the file through does another do what the command does. A file does not hold where
that second process crashes or hangs, or where either of the two opens a file that is none of its own. Among the files
are some that are known to do harm. ``--unguarded`` leaves out what guards against them: then they are reported, and
with them some of the others.

The processes are forks of one that has imported everything and asked no such model, so that a file takes little time.
The names of files in them are those of a pipe: whoever opens it, compiled or not, waits there to be found.
"""

from __future__ import annotations

import argparse
import copy
import inspect
import io
import itertools
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import boosters
import crafted
import numpy as np

SECONDS = 5  # of computing for a file in one of its two processes
PATIENCE = 12 * SECONDS  # on the clock, since other processes may be at work
MEMORY = 2**33
FAULTS = OPENED, CRASHED, HANGS = "OPENS A FILE", "CRASHES", "HANGS"
Stages = tuple[Callable[[Path, Any], int], ...]
PROCESSES = multiprocessing.get_context("spawn")
REFUSED, PASSED = 10, 11  # exit statuses
OTHER_FILE = 12
BAIT = "/a/pipe/that/nobody/opens"  # stands for the pipe of the process that tries a file
COMMANDS = {"os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "socket.connect"}
OPENING = {"open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}
VALUES = (
    None,
    0,
    -1,
    1,
    2,
    2**20,
    2**31,
    -(2**40),
    1e300,
    float("nan"),
    True,
    "",
    "filename",
    "brute",
    BAIT,
    [],
)


def table() -> Any:
    """Rows that every model is fitted on, and asked about."""
    import pandas as pd

    values = np.random.default_rng(7).normal(size=(60, 3)).round(3)
    return pd.DataFrame(values, columns=["a", "b", "c"])


def write_models(folder: Path, share: float, seed: int) -> None:
    """Fit a share of the estimators and write them."""
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    from xcid.io import models

    warnings.simplefilter("ignore")
    frame = table()
    target = (frame["a"] - frame["b"] > 0).astype(int)
    for number, (name, make) in enumerate(_estimators(random.Random(seed))):
        if random.Random(f"{seed} {name}").random() > share:
            continue
        for features in (frame, frame.abs()):
            try:
                model = make()
                model = model if hasattr(model, "predict") else make_pipeline(model, LogisticRegression())
                path = folder / f"{number:04}-{name}.skops"
                skops.io.dump(model.fit(features, target), path)
                models.load(path, [])
                break
            except Exception:  # one that cannot be fitted on this table, or not be written
                path.unlink(missing_ok=True)
    _write_harmful(folder, frame, target)
    boosters.write(folder, frame, target)


def _write_harmful(folder: Path, frame: Any, target: Any) -> None:
    """Write files that crash, hang or open another file, unless they are refused."""
    import skops.io
    from sklearn.tree import DecisionTreeClassifier

    for name, child in (("crash", 2**30), ("circle", 0)):
        model = DecisionTreeClassifier(max_depth=2).fit(frame, target)
        for side in (model.tree_.children_left, model.tree_.children_right):
            side[0] = child
        skops.io.dump(model, folder / f"harmful-{name}.skops")
    skops.io.dump(DecisionTreeClassifier(max_depth=2).fit(frame, target), path := folder / "harmful-booster.skops")
    file = File(path)
    holder, key, _ = next(found for found in file.nodes() if found[1] == "max_depth")
    node = {"__class__": "Booster", "__module__": "lightgbm.basic"}
    holder[key] = {**node, "__loader__": "ConstructorFromReduceNode", "content": _values(None, None, BAIT)}
    file.write(path, BAIT)
    for name, model in crafted.models(frame, target):
        skops.io.dump(model, folder / f"harmful-{name}.skops")


def _estimators(chance: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names and makers: the usual choices, and for some parameters others that the estimator declares."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils import all_estimators
    from sklearn.utils._param_validation import StrOptions

    needed = {
        "estimator": DecisionTreeClassifier(max_depth=2),
        "estimators": [("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=2))],
        "transformers": [("a", "passthrough", ["a", "b", "c"])],
        "transformer_list": [("a", "passthrough")],
    }
    small = {"n_estimators": 3, "max_iter": 20, "n_quantiles": 10}
    for name, kind in all_estimators():
        taken = inspect.signature(kind).parameters
        given = {one: needed[one] for one in needed if one in taken and taken[one].default is inspect.Parameter.empty}
        given |= {one: small[one] for one in small if one in taken}
        yield name, lambda kind=kind, given=given: kind(**given)
        others = [
            (parameter, option)
            for parameter, rules in getattr(kind, "_parameter_constraints", {}).items()
            for rule in (rules if isinstance(rules, list) else [])
            if isinstance(rule, StrOptions)
            for option in sorted(rule.options)
        ]
        for parameter, option in chance.sample(others, min(3, len(others))):
            yield f"{name}-{option}", lambda kind=kind, given={**given, parameter: option}: kind(**given)
    for library, names in (("xgboost", ("XGBClassifier", "XGBRegressor")), ("lightgbm", ("LGBMClassifier",))):
        quiet = {"n_estimators": 3, "n_jobs": 1, "verbosity": -1 if library == "lightgbm" else 0}
        for name in names:
            yield name, lambda library=library, name=name, quiet=quiet: getattr(__import__(library), name)(**quiet)


class File:
    """A skops file in its parts."""

    def __init__(self, path: Path):
        with zipfile.ZipFile(path) as archive:
            self.parts = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.parts["schema.json"])

    def nodes(self) -> list[tuple[Any, Any, dict[str, Any]]]:
        """Every node with what it is in, and its key there."""
        found, stack = [], [(None, None, self.schema)]
        while stack:
            holder, key, one = stack.pop()
            if isinstance(one, dict) and "__loader__" in one and holder is not None:
                found.append((holder, key, one))
            inner = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
            stack.extend((one, name, value) for name, value in inner if name != "key_types")
        return found

    def write(self, path: Path, bait: str) -> None:
        """Write the file with its parts as they are now, and this name where a file is named."""
        with zipfile.ZipFile(path, "w") as archive:
            schema = json.dumps(self.schema).replace(BAIT, bait)
            for name, content in {**self.parts, "schema.json": schema.encode()}.items():
                archive.writestr(name, content)


def tampered(file: File, chance: random.Random) -> str:
    """Change one field, or some of them, and say which and how."""
    return "; ".join([_changed(file, chance) for _ in range(chance.choice((1, 1, 2, 3)))])


def _changed(file: File, chance: random.Random) -> str:
    """Change a field; every other time one of those that compiled code reads."""
    nodes = file.nodes()
    if not nodes:
        return "nothing is left"
    arrays = [found for found in nodes if found[2].get("type") == "numpy"]
    holder, key, node = chance.choice(chance.choice((arrays, nodes)) or nodes)
    changes = [_taken_out, _swapped, _constant, _constructed]
    changes += {"NdArrayNode": [_array] * 12, "JsonNode": [_constant] * 3}.get(node["__loader__"], [_cut] * 2)
    if isinstance(holder.get("content") if isinstance(holder, dict) else None, dict):
        changes = [_cut, *changes]
    change = chance.choice(changes)
    return f"{change.__name__[1:]} {change(file, holder, key, node, nodes, chance)} at {key!r}"


def _taken_out(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    del holder[key]
    return node["__class__"]


def _swapped(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    holder[key] = copy.deepcopy(chance.choice(nodes)[2])
    return f"{node['__class__']} for {holder[key]['__class__']}"


def _constant(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    (holder[key],) = _values(chance.choice(VALUES))["content"]
    return f"{node['__class__']} for {holder[key]['content']}"


def _constructed(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    content = _values(*chance.choices((None, BAIT, 1), k=3))
    holder[key] = {**node, "__loader__": "ConstructorFromReduceNode", "content": content}
    return node["__class__"]


def _values(*values: Any) -> dict[str, Any]:
    nodes = [
        {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(one)}
        for one in values
    ]
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": nodes}


def _cut(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    content = node.get("content")
    if isinstance(content, list) and content:
        chance.choice([content.pop, content.clear, lambda: content.append(content[0]), content.reverse])()
    elif isinstance(content, dict) and content:
        content.pop(chance.choice(list(content)))
    return node["__class__"]


def _array(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    if node.get("type") != "numpy":
        return _cut(file, holder, key, node, nodes, chance)
    array = np.atleast_1d(np.load(io.BytesIO(file.parts[node["file"]])))
    flat, number = array.ravel(), chance.choice((-1, 1, 2, 1000, 2**20, 2**31 - 1, 2**40, np.nan, np.inf))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = array.copy()
        if single.size and single.dtype.names is None and single.dtype.kind in "iufb":
            single.reshape(-1)[chance.randrange(single.size)] = np.float64(number).astype(single.dtype)
        elif single.size and single.dtype.names:
            field = single[chance.choice(single.dtype.names)].reshape(-1)
            field[chance.randrange(field.size)] = np.float64(number).astype(field.dtype)
        of_numbers = array.dtype.kind in "iufb"
        found = chance.choice([
            single, single, single, single, array[:0], array[: len(array) // 2], flat,
            np.concatenate([flat, flat]), flat[::-1].reshape(array.shape), array.T, array[..., :1], array[None],
            np.full_like(array, np.float64(number).astype(array.dtype)) if of_numbers else flat,
            array.astype(np.int32) if of_numbers else flat, array.astype(np.float32) if of_numbers else array[:1],
        ])  # fmt: skip
    kept, file.parts = io.BytesIO(), dict(file.parts)
    np.save(kept, found, allow_pickle=False)
    name = f"tampered-{node['file']}"
    file.parts[name] = kept.getvalue()
    holder[key] = {**node, "file": name}
    return f"{_kind(array)} for {_kind(found)}"


def _kind(array: Any) -> str:
    return f"{'nodes' if array.dtype.names else array.dtype}{list(array.shape)}"


def tried(path: Path, rows: Any, stages: Stages) -> str:
    """What becomes of a file: refused, passed, or the fault."""
    for stage in stages:
        end = _forked(lambda stage=stage: stage(path, rows), path)
        if end == OTHER_FILE:
            return OPENED
        if stage is _trial and end != PASSED:
            return {REFUSED: "refused", None: "refused after its limits"}.get(end, "refused after a crash")
    return {PASSED: "answers", REFUSED: "fails", None: HANGS}.get(end, CRASHED)


def _trial(path: Path, rows: Any) -> int:
    from xcid.io import trial

    return PASSED if trial.outcome(path, (), rows) is None else REFUSED


def _command(path: Path, rows: Any) -> int:
    import xcid
    from xcid.errors import XcidError
    from xcid.io import models

    try:
        model = models.load(path, ())
        xcid.Explainer(model, rows)(rows[:1])
    except (XcidError, MemoryError):
        return REFUSED
    return PASSED


def _forked(body: Callable[[], int], path: Path) -> int | None:
    """The exit status of a fork, minus its signal, or None after its time; it has limits and opens no other file."""
    pid = os.fork()
    if not pid:
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1), os.dup2(quiet, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
            warnings.simplefilter("ignore")
            sys.addaudithook(_only(path))
            os._exit(body())
        except BaseException:
            os._exit(REFUSED)
    end = time.monotonic() + PATIENCE
    pause, is_taken = 0.001, False
    while time.monotonic() < end and not is_taken:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return None if code == -signal.SIGXCPU else code
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)
        is_taken = _is_open(path.with_suffix(".pipe"))
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return OTHER_FILE if is_taken else None


def _is_open(pipe: Path) -> bool:
    """Whether somebody waits to read from a pipe, as all do who open it."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _only(path: Path) -> Callable[[str, tuple[Any, ...]], None]:
    own = tuple({str(path), "/proc/", "/sys/", "/dev/", *map(os.path.realpath, filter(None, sys.path)), sys.prefix,
                 sys.base_prefix})  # fmt: skip

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in COMMANDS:
            os._exit(OTHER_FILE)
        for name in arguments[:1] if event in OPENING else ():
            name = os.fsdecode(name) if isinstance(name, str | bytes) else str(path)
            if not name.startswith(own) and not os.path.realpath(name).startswith(own):
                os._exit(OTHER_FILE)

    return hook


def work(bases: list[Path], folder: Path, guard: Callable[[], Stages], tasks: Any, answers: Any) -> None:
    """Tamper with files and try them, one after the other, until there are no more tasks."""
    from sklearn.tree import DecisionTreeClassifier

    import xcid
    from xcid.io import models, trial  # noqa: F401

    models.import_library(models.LOADERS[".skops"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("xgboost", "lightgbm"):
            __import__(name)
    rows, path = table(), folder / f"{os.getpid()}.skops"
    tree = DecisionTreeClassifier(max_depth=2).fit(rows, rows["a"] > 0)
    xcid.Explainer(tree, rows)(rows[:2])  # imports, and the library that trees are read with
    stages, pipe = guard(), path.with_suffix(".pipe")
    os.mkfifo(pipe)
    for task in iter(tasks.get, None):
        base = task if isinstance(task, Path) else _base(bases, task)
        path = path.with_suffix(base.suffix)
        what = "harmful"
        if base.suffix != ".skops":
            what = (
                shutil.copy(base, path) and what if task is base else boosters.tampered(base, path, random.Random(task))
            )
        else:
            file = File(base)
            what = what if task is base else tampered(file, random.Random(task))
            file.write(path, str(pipe))
        verdict = tried(path, rows, stages)
        if verdict in FAULTS:
            path.rename(path.with_name(f"kept-{task if isinstance(task, int) else task.stem}{base.suffix}"))
        path.unlink(missing_ok=True)
        answers.put((f"{base.stem}: {what} ({task if isinstance(task, int) else 'always tried'})", verdict))
    pipe.unlink()


def _base(bases: list[Path], task: int) -> Path:
    """The file that is tampered with: one in four is a booster's own."""
    own = [base for base in bases if (base.suffix != ".skops") == (task % 4 == 3)]
    return own[task // 4 % len(own)] if task % 4 == 3 else own[task % len(own)]


def guarded() -> Stages:
    """Files are looked at, then tried, then used."""
    return _trial, _command


def unguarded() -> Stages:
    """Files are used at once, without a look at them, however many outputs they have."""
    from xcid.io import models
    from xcid.models import libraries, tables

    models._check_makers = lambda *parts: None  # noqa: SLF001
    libraries.check_number = tables.check_number = lambda n_outputs: None
    return (_command,)


def main(arguments: list[str] | None = None) -> int:
    """Try many files; print each that does not hold, and one line at the end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="files, beside those that are known to do harm")
    parser.add_argument("--seconds", type=float, default=3600, help="begin no file after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the estimators")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="a folder for files that do not hold")
    parser.add_argument("--verdicts", action="store_true", help="count what became of the files")
    parser.add_argument(
        "--unguarded", dest="guard", action="store_const", const=unguarded, default=guarded,
        help="leave out what guards against harm: then this script must fail",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    began, verdicts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        writer = PROCESSES.Process(target=write_models, args=(Path(name), options.share, options.seed))
        writer.start()
        writer.join()
        bases, harmful = (sorted(Path(name).glob(f"{start}-*.*")) for start in ("[0-9]*", "harmful"))
        first = options.seed * 10**6
        seeds = itertools.takewhile(
            lambda seed: time.monotonic() - began < options.seconds, range(first, first + options.count)
        )
        for what, verdict in _answers(options.workers, bases, folder, options.guard, itertools.chain(harmful, seeds)):
            verdicts[verdict] += 1
            if verdict in FAULTS:
                print(f"{verdict}: {what}", flush=True)
    if options.verdicts:
        print(f"{len(bases)} models; {dict(verdicts.most_common())}; {time.monotonic() - began:.0f} s")
    held = sum(count for verdict, count in verdicts.items() if verdict not in FAULTS)
    print(f"files: {verdicts.total()} tried, {held} held")
    return int(held < verdicts.total() or verdicts.total() <= len(harmful))


def _answers(
    n_workers: int, bases: list[Path], folder: Path, guard: Callable[[], Stages], tasks: Iterable[Path | int]
) -> Iterator[tuple[str, str]]:
    """What became of each file, by several processes."""
    given, answers = PROCESSES.Queue(), PROCESSES.Queue()
    workers = [
        PROCESSES.Process(target=work, args=(bases, folder, guard, given, answers), daemon=True)
        for _ in range(n_workers)
    ]
    for worker in workers:
        worker.start()
    waiting = 0
    for task in tasks:
        given.put(task)
        waiting += 1
        if waiting > 2 * n_workers:
            yield answers.get(timeout=3 * PATIENCE)
            waiting -= 1
    for _ in workers:
        given.put(None)
    for _ in range(waiting):
        yield answers.get(timeout=3 * PATIENCE)
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    sys.exit(main())
