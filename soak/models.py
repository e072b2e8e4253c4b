"""Model files that were tampered with: ``python soak/models.py --count 5000``.

Every estimator of scikit-learn that skops writes, some of them with other choices than the usual ones, and those of
XGBoost and LightGBM are fitted and written. Then one field of a file after the other is changed: taken out, emptied,
cut, swapped, set to limits, or made by another node. For each file one process does what the trial of a model file
does, with its limits; only where that lets the file through does another do what the command does. A file does not hold
where that second process crashes or hangs, or where either of the two opens a file that is none of its own.

The processes are forks of one that has imported everything and asked no such model, so that a file takes little time.
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
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SECONDS = 10  # for a file in one of its two processes
MEMORY = 2**33
OPENED, CRASHED, HANGS = "OPENS A FILE", "CRASHES", "HANGS"
REFUSED, PASSED = 10, 11  # exit statuses
OTHER_FILE = 12
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
    "/etc/hosts",
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

    from xcid.files import models

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

    def write(self, path: Path) -> None:
        """Write the file with its parts as they are now."""
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in {**self.parts, "schema.json": json.dumps(self.schema).encode()}.items():
                archive.writestr(name, content)


def tampered(file: File, chance: random.Random) -> str:
    """Change one field, and say which and how."""
    nodes = file.nodes()
    holder, key, node = chance.choice(nodes)
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
    value = json.dumps(chance.choice(VALUES))
    holder[key] = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": value}
    return f"{node['__class__']} for {value}"


def _constructed(file: File, holder: Any, key: Any, node: Any, nodes: Any, chance: random.Random) -> str:
    nothing = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null"}
    values = [dict(nothing, content=json.dumps(one)) for one in chance.choices((None, "/etc/hosts", 1), k=3)]
    content = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": values}
    holder[key] = {**node, "__loader__": "ConstructorFromReduceNode", "content": content}
    return node["__class__"]


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
    return f"{array.dtype}{list(array.shape)} for {found.dtype}{list(found.shape)}"


def tried(path: Path, rows: Any) -> str:
    """What becomes of a file: refused, passed, or the fault."""
    end = _forked(lambda: _trial(path, rows), path)
    if end == OTHER_FILE:
        return OPENED
    if end != PASSED:
        return "refused" if end == REFUSED else "refused after a crash" if end < 0 else "refused after its limits"
    end = _forked(lambda: _command(path, rows), path)
    return {PASSED: "answers", REFUSED: "fails", OTHER_FILE: OPENED, None: HANGS}.get(end, CRASHED)


def _trial(path: Path, rows: Any) -> int:
    from xcid.files import trial

    return PASSED if trial.outcome(path, (), rows) is None else REFUSED


def _command(path: Path, rows: Any) -> int:
    import xcid
    from xcid.errors import XcidError
    from xcid.files import models

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
            warnings.simplefilter("ignore")
            sys.addaudithook(_only(path))
            os._exit(body())
        except BaseException:
            os._exit(REFUSED)
    end = time.monotonic() + SECONDS
    pause = 0.001
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.02, pause * 1.5)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


def _only(path: Path) -> Callable[[str, tuple[Any, ...]], None]:
    own = tuple({str(path), "/proc/", "/sys/", "/dev/", *map(os.path.realpath, filter(None, sys.path)), sys.prefix,
                 sys.base_prefix})  # fmt: skip

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "socket.connect"}:
            os._exit(OTHER_FILE)
        if event == "open" and isinstance(arguments[0], str | bytes):
            name = os.fsdecode(arguments[0])
            if not name.startswith(own) and not os.path.realpath(name).startswith(own):
                os._exit(OTHER_FILE)

    return hook


def work(bases: list[Path], folder: Path, seeds: Any, answers: Any) -> None:
    """Tamper with files and try them, one after the other, until there are no more seeds."""
    import pandas  # noqa: F401
    import skops.io  # noqa: F401

    import xcid
    import xcid.files.trial

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("xgboost", "lightgbm"):
            __import__(name)
    rows, path = table(), folder / f"{os.getpid()}.skops"
    xcid.Explainer(lambda one: 1 / (1 + np.exp(-np.asarray(one)[:, 0])), rows)(rows[:2])  # imports
    for seed in iter(seeds.get, None):
        chance = random.Random(seed)
        base = bases[seed % len(bases)]
        file = File(base)
        what = tampered(file, chance)
        file.write(path)
        verdict = tried(path, rows)
        if verdict in (OPENED, CRASHED, HANGS):
            path.rename(path.with_name(f"kept-{seed}.skops"))
        answers.put((seed, f"{base.stem}: {what}", verdict))
    path.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    """Try many files; print each that does not hold, and one line at the end."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="files")
    parser.add_argument("--seconds", type=float, default=3600, help="begin no file after so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1.0, help="of the estimators")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, help="a folder for files that do not hold")
    parser.add_argument("--verdicts", action="store_true", help="count what became of the files")
    options = parser.parse_args(arguments)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    began = time.monotonic()
    context, verdicts = multiprocessing.get_context("spawn"), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        writer = context.Process(target=write_models, args=(Path(name), options.share, options.seed))
        writer.start()
        writer.join()
        bases = sorted(Path(name).glob("[0-9]*-*.skops"))
        seeds, answers = context.Queue(), context.Queue()
        workers = [
            context.Process(target=work, args=(bases, folder, seeds, answers), daemon=True)
            for _ in range(options.workers)
        ]
        for worker in workers:
            worker.start()
        waiting = 0
        for seed in itertools.count(options.seed * 10**6):
            is_over = seed - options.seed * 10**6 >= options.count or time.monotonic() - began > options.seconds
            if not is_over:
                seeds.put(seed)
                waiting += 1
            while waiting and (is_over or waiting > 2 * options.workers):
                number, what, verdict = answers.get(timeout=10 * SECONDS)
                waiting -= 1
                verdicts[verdict] += 1
                if verdict in (OPENED, CRASHED, HANGS):
                    print(f"{verdict}: {number} {what}", flush=True)
            if is_over:
                break
        for _ in workers:
            seeds.put(None)
        for worker in workers:
            worker.join()
    if options.verdicts:
        print(f"{len(bases)} models; {dict(verdicts.most_common())}; {time.monotonic() - began:.0f} s")
    held = sum(count for verdict, count in verdicts.items() if verdict not in (OPENED, CRASHED, HANGS))
    print(f"models: {verdicts.total()} tried, {held} held")
    return int(held < verdicts.total() or not verdicts)


if __name__ == "__main__":
    sys.exit(main())
