"""Folders for results; files are those of :mod:`xcid.runs.files`."""

from __future__ import annotations

from pathlib import Path

from xcid.errors import InvalidFile
from xcid.runs.files import replacing

__all__ = ["folder", "replacing"]


def folder(path: Path) -> Path:
    """Make a folder for results, where there is none."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"the folder {path} cannot be made: {error.strerror}") from error
    return path
