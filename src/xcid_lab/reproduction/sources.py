"""What the page was made of: the commit, and a digest of the code that its figures come from."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import xcid
from xcid.errors import InvalidData
from xcid_lab.output import write

HOME = Path(xcid.__file__).parents[1]
SOURCES = (
    # generator, question and score of the paper's method
    "xcid/cid/generators/random.py",
    "xcid/cid/generators/search.py",
    "xcid/cid/generators/reach.py",
    "xcid/cid/generators/genetic.py",
    "xcid/cid/generators/dice.py",
    "xcid/_kernels/random.py",
    "xcid/_kernels/arrays.py",
    "xcid/outcomes/protocol.py",
    "xcid/outcomes/classes.py",
    "xcid/table/columns.py",
    "xcid/calibration.py",
    "xcid/method.py",
    "xcid/cid/method.py",
    "xcid/cid/per_feature.py",
    "xcid/cid/distances.py",
    "xcid/cid/densities/kernel.py",
    "xcid/cid/densities/bandwidths.py",
    # how it is judged
    "xcid/metrics/agreement.py",
    "xcid/metrics/faithfulness.py",
    "xcid/metrics/maskings.py",
    # what is run, and what stands beside it
    "xcid_lab/subjects.py",
    "xcid_lab/reproduction/methods.py",
    "xcid_lab/reproduction/measure.py",
    "xcid_lab/baselines/_common.py",
    "xcid_lab/baselines/plain.py",
    "xcid_lab/baselines/shap.py",
    "xcid_lab/baselines/lime.py",
)
RECORD = "made.json"  # beside pieces


class Made(NamedTuple):
    """What made some pieces."""

    commit: str
    digest: str


def record_sources(folder: Path) -> Made:
    """Remember beside pieces what makes them; pieces of other sources are not to be mixed with new ones."""
    now, there = Made(find_commit(), digest_sources()), read_sources(folder)
    if there is not None and there.digest != now.digest:
        raise InvalidData(
            f"the pieces in {folder} were made at commit {there.commit} by other sources ({there.digest}, now "
            f"{now.digest}): remove the folder, or write their page by --from {folder.parent}"
        )
    if there is None:
        write(folder / RECORD, json.dumps(now._asdict()))
    return there or now


def read_sources(folder: Path) -> Made | None:
    """What made the pieces of a folder, if that was remembered."""
    path = folder / RECORD
    return Made(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def digest_sources(texts: Iterable[str] | None = None) -> str:
    """Twelve letters for what these modules do: comments, docstrings and layout make no difference.

    Examples
    --------
    >>> digest_sources(['"Says so."; x = 1']) == digest_sources(["x  =  1  # and more"]) != digest_sources(["x = 2"])
    True
    """
    found = (HOME / name for name in SOURCES)
    texts = (path.read_text(encoding="utf-8") for path in found) if texts is None else texts
    return hashlib.sha256("\n".join(map(_code, texts)).encode()).hexdigest()[:12]


def _code(text: str) -> str:
    """A module without what is only said."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)


def find_commit() -> str:
    """The commit of the checkout, or "unknown" where there is none."""
    try:
        typed = ["git", "-C", str(HOME), "rev-parse", "--short=12", "HEAD"]
        return subprocess.run(typed, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
