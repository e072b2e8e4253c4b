"""What the page was made of: the commit, and a digest of the code that its figures of CID come from."""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

import xcid

HOME = Path(xcid.__file__).parent
SOURCES = (  # generator, question and score of the paper's method
    "cid/generators/random.py",
    "cid/generators/search.py",
    "cid/generators/genetic.py",
    "outcomes/classes.py",
    "cid/method.py",
    "cid/per_feature.py",
    "cid/distances.py",
    "cid/densities/kernel.py",
    "cid/densities/bandwidths.py",
)


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
