"""Files of boosters in their own formats, tampered with: text of LightGBM, JSON and UBJSON of XGBoost.

One to three fields of a file are changed: numbers, among them sizes that nothing fits to, lists that are cut or
lengthened, lines and keys that are taken out or repeated. Sizes are chosen every other time.
"""

from __future__ import annotations

import copy
import json
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZES = (
    "num_class", "num_tree_per_iteration", "num_leaves", "num_cat", "max_feature_idx", "tree_sizes", "num_trees",
    "num_nodes", "num_target", "num_feature", "num_parallel_tree", "size_leaf_vector", "iteration_indptr", "tree_info",
    "cat_boundaries", "categories_sizes", "categories_segments",
)  # fmt: skip
NUMBERS = (-1, 0, 1, 2, 5_000, 300_000, 2**20, 2**31 - 1, 2**31, 2**40, 10**18, 1e300, float("nan"), float("inf"))
HOSTILE = (("num_class", 300_000), ("num_tree_per_iteration", 10**6))  # sizes that are always tried


def write(folder: Path, frame: Any, target: Any) -> None:
    """Fit boosters and write them, and some that are known to do harm."""
    import lightgbm
    import xgboost

    classes = target + (frame["c"] > 0)
    few = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 5}
    for number, (objective, labels, more) in enumerate(
        (("binary", target, {}), ("multiclass", classes, {"num_class": 3}), ("regression", frame["a"], {}))
    ):
        data = lightgbm.Dataset(frame.assign(b=(frame["b"] > 0).astype(int)), labels, categorical_feature=["b"])
        booster = lightgbm.train(
            {**few, **more, "objective": objective, "cat_smooth": 1, "min_data_per_group": 1}, data, 3
        )
        booster.save_model(folder / f"{9000 + number}-lightgbm-{objective}.txt")
    for key, value in HOSTILE:
        text = (folder / "9000-lightgbm-binary.txt").read_text()
        (folder / f"harmful-{key}.txt").write_text(text.replace(f"{key}=1\n", f"{key}={value}\n"))
    for number, (objective, labels, more) in enumerate(
        (
            ("binary:logistic", target, {}),
            ("multi:softprob", classes, {"num_class": 3}),
            ("reg:squarederror", frame["a"], {}),
        )
    ):
        settings = {"objective": objective, "max_depth": 2, "nthread": 1, **more}
        booster = xgboost.train(settings, xgboost.DMatrix(frame, labels), 3)
        for suffix in ("json", "ubj"):
            booster.save_model(folder / f"{9100 + number}-xgboost-{objective.replace(':', '-')}.{suffix}")
    content = json.loads((folder / "9101-xgboost-multi-softprob.json").read_text())
    content["learner"]["learner_model_param"]["num_class"] = "300000"
    (folder / "harmful-classes.json").write_text(json.dumps(content))


def tampered(base: Path, path: Path, chance: random.Random) -> str:
    """Write a base with some fields changed, and say which and how."""
    n_changes = chance.choice((1, 1, 2, 3))
    if base.suffix == ".txt":
        lines = base.read_text().split("\n")
        said = [_in_text(lines, chance) for _ in range(n_changes)]
        kept = [line for line in lines if not line.startswith("tree_sizes=") or chance.random() < 0.3]
        path.write_text("\n".join(kept))  # without sizes in bytes, trees are read one after the other
        return "; ".join(said)
    twin = base.with_suffix(".json")
    content = json.loads(twin.read_text())
    said = [_in_document(content, chance) for _ in range(n_changes)]
    path.write_bytes(json.dumps(content).encode() if base.suffix == ".json" else b"".join(_packed(content)))
    if base.suffix == ".ubj" and chance.random() < 0.3:
        said.append(_in_bytes(path, chance))
    return "; ".join(said)


def _in_text(lines: list[str], chance: random.Random) -> str:
    """Change a line of LightGBM's text."""
    fields = [at for at, line in enumerate(lines) if "=" in line]
    sizes = [at for at in fields if lines[at].partition("=")[0] in SIZES]
    at = chance.choice(chance.choice((sizes, fields)) or fields)
    key, _, value = lines[at].partition("=")
    cells = value.split(" ")
    how = chance.choice(("number", "number", "number", "cut", "longer", "out", "twice"))
    if how == "number":
        cells[chance.randrange(len(cells))] = str(chance.choice(NUMBERS))
    elif how == "cut":
        cells = cells[: len(cells) // 2]
    elif how == "longer":
        cells += cells
    lines[at] = f"{key}={' '.join(cells)}"
    if how in ("out", "twice"):
        lines[at : at + 1] = [lines[at]] * (0 if how == "out" else 2)
    return f"{how} in {key}: {' '.join(cells)[:40]}"


def _in_document(content: Any, chance: random.Random) -> str:
    """Change a place of XGBoost's document."""
    places = list(_places(content))
    sizes = [place for place in places if place[1] in SIZES]
    holder, key = chance.choice(chance.choice((sizes, places)) or places)
    value, number = holder[key], chance.choice(NUMBERS)
    how = chance.choice(("number", "number", "number", "out", "other", "longer"))
    if how == "number" and isinstance(value, list) and value:
        value[chance.randrange(len(value))] = number
    elif how == "number":
        holder[key] = str(number) if isinstance(value, str) else number
    elif how == "longer" and isinstance(value, list):
        value += value
    elif how == "other":
        other, name = chance.choice(places)
        holder[key] = copy.deepcopy(other[name]) if name in range(len(other)) or name in other else None
    else:
        del holder[key]
    return f"{how} in {key!r}: {str(number)[:40]}"


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Every place of a document: what it is in, and its key there; of lists of numbers only the lists."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        yield part, key
        if isinstance(value, dict) or (isinstance(value, list) and value and not isinstance(value[0], int | float)):
            yield from _places(value)


def _packed(part: Any) -> Iterator[bytes]:
    """A document as UBJSON."""
    if isinstance(part, dict):
        yield b"{"
        for key, value in part.items():
            yield _text(key)
            yield from _packed(value)
        yield b"}"
    elif isinstance(part, list):
        yield b"["
        for value in part:
            yield from _packed(value)
        yield b"]"
    elif part is None or isinstance(part, bool):
        yield {None: b"Z", True: b"T", False: b"F"}[part]
    elif isinstance(part, int):
        yield b"L" + struct.pack(">q", part)
    elif isinstance(part, float):
        yield b"d" + struct.pack(">f", part if abs(part) < 3e38 else float("inf"))
    else:
        yield b"S" + _text(part)


def _text(text: str) -> bytes:
    return b"L" + struct.pack(">q", len(text.encode())) + text.encode()


def _in_bytes(path: Path, chance: random.Random) -> str:
    """Change some bytes, or cut the file."""
    content = bytearray(path.read_bytes())
    at = chance.randrange(len(content))
    content[at : at + 1] = bytes([chance.randrange(256)]) if chance.random() < 0.8 else b""
    path.write_bytes(content if chance.random() < 0.8 else content[:at])
    return f"byte {at}"
