"""How large a packed file gets, found out before anything is unpacked.

A few hundred bytes can unpack to gigabytes. What a file says of itself at its end may be a lie; so the sizes are taken
from the places that the library which unpacks it must obey: it makes room for as much, and fails where there is more.
"""

from __future__ import annotations

from xcid.errors import InvalidFile
from xcid.files.unpacked.feather import in_feather
from xcid.files.unpacked.parquet import in_parquet
from xcid.files.unpacked.zip import in_zip

__all__ = ["SMALL", "TIMES", "check", "in_feather", "in_parquet", "in_zip"]

SMALL = 2**26  # bytes that are always allowed
TIMES = 100  # the packed size, beyond that; tables and models rarely exceed 20


def check(name: object, packed: int, unpacked: int) -> None:
    """Refuse a file that gets too large."""
    if unpacked > max(SMALL, TIMES * packed):
        raise InvalidFile(f"{name} unpacks from {packed:,} to {unpacked:,} bytes: refused, write it less compressed")
