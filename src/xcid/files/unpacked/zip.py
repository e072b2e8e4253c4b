"""ZIP archives: models by skops, explanations by NumPy."""

from __future__ import annotations

import io
import zipfile
from typing import IO

MOST_DEPTH = 3  # archives within archives: skops has sparse matrices in them


def in_zip(file: IO[bytes], depth: int = 0) -> int:
    """Bytes of all entries; ``zipfile`` gives no more of an entry than the archive says it has.

    An entry that is an archive itself counts with what is in it.
    """
    total = 0
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            total += entry.file_size
            with archive.open(entry) as content:
                is_archive = depth < MOST_DEPTH and content.read(4) == b"PK\x03\x04"
            if is_archive and entry.file_size <= 2 * entry.compress_size + 2**20:  # else it is too large as it is
                with archive.open(entry) as content:
                    total += in_zip(io.BytesIO(content.read()), depth + 1)
    return total
