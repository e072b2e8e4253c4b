"""Files that the lab leaves behind."""

from __future__ import annotations

from pathlib import Path

from xcid.files.atomic import folder, replacing


def write(path: Path, content: str | bytes) -> None:
    """Write a file that is either complete or not there; its folder is made where there is none."""
    folder(path.parent)
    with replacing(path) as part:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
