"""The command line from a table to a file, with a model of its own: what the file holds."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import golden_subjects as subjects
import pandas as pd
import sklearn
from golden_record import Found, of_frame
from golden_subjects import make_mixed

from xcid.cli import main

READ: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".jsonl": lambda path: pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]),
    ".parquet": pd.read_parquet,
}
RUN = "the folder of the run"
VERSION = "scikit-learn"  # which fits the model: another version may fit another one


def trained(suffix: str, *more: str) -> Found:
    """Train a model, and explain six rows of a table of 40."""
    table = make_mixed(40, seed=8).reset_index(drop=True)
    table["y"] = (subjects.lender(table) > 0.5).astype(int)
    plain = table.astype({"grade": str, "since": str})
    found = written(plain, suffix, "--target", "y", "--train", "logistic", "--rows", "0:6", *more)
    return found | {VERSION: [sklearn.__version__]}


def formula(suffix: str, *more: str) -> Found:
    """Explain six rows of a table of 40 by a model that is the same under all versions."""
    table = pd.DataFrame(subjects.make_numbers(40, seed=8).round(6), columns=subjects.NAMES)
    return written(table, suffix, "--unsafe-pickle", "--rows", "34:", *more, model=FrameModel())


class FrameModel:
    """Three classes from a frame; a process of a run finds it by its name."""

    classes_ = subjects.three_classes.classes_

    def predict_proba(self, frame: pd.DataFrame) -> Any:
        """(n, 3) shares."""
        return subjects.three_classes.predict_proba(frame.to_numpy())


def written(table: pd.DataFrame, suffix: str, *more: str, model: Any = None) -> Found:
    """Run the command from a file to another of the same kind; RUN asks for a folder of its own."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _save(table, folder / f"table{suffix}")
        files = ["--background", folder / f"table{suffix}", "--out", folder / f"scores{suffix}"]
        if model is not None:
            (folder / "model.pkl").write_bytes(pickle.dumps(model))
            files += ["--model", folder / "model.pkl"]
        settings = [folder / "run" if one == RUN else one for one in more]
        with contextlib.redirect_stdout(io.StringIO()):
            status = main(["explain", *map(str, (*files, *settings)), "--quiet"])
        return of_frame(READ[suffix](folder / f"scores{suffix}")) | {"exit status": status}


def _save(table: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    else:
        path.write_text(table.to_json(orient="records", lines=True, double_precision=15), encoding="utf-8")


COMMANDS: dict[str, Callable[[], Found]] = {
    **{f"explain --train, {suffix}": partial(trained, suffix) for suffix in READ},
    **{f"explain --run, {suffix}": partial(formula, suffix, "--run", RUN, "--chunk", "4") for suffix in READ},
    "explain --train --run": partial(trained, ".csv", "--run", RUN, "--chunk", "4"),
    "explain --seed": partial(formula, ".csv", "--seed", "3"),
    "explain --paper": partial(formula, ".csv", "--paper"),
}
