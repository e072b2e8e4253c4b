"""Small files that unpack to gigabytes, made without ever holding what they unpack to."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PIECE = 2**20  # numbers
PIECES = 64  # of 8 MiB each: half a gigabyte
SIZE = 2**28  # bytes in an archive


def zeros(kind: type = float) -> pa.Table:
    return pa.table({"a": np.zeros(PIECE, dtype=kind)})


def parquet(path: Path) -> None:
    """Zeros without any coding, well packed."""
    table = zeros()
    with pq.ParquetWriter(path, table.schema, compression="zstd", use_dictionary=False) as file:
        for _ in range(PIECES):
            file.write_table(table)


def parquet_of_one_cell(path: Path) -> None:
    """One long text that 4,096 rows share by its number in a dictionary: 4 GiB when written out."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(4096, dtype=np.int32)), pa.array(["x" * 2**20]))
    pq.write_table(pa.table({"a": text.cast(pa.dictionary(pa.int32(), pa.string()))}), path, store_schema=False)


def parquet_that_lies(path: Path) -> None:
    """The footer says that next to nothing is in it."""
    parquet(path)
    lie(path)


def lie(path: Path) -> None:
    """Let the footer of a Parquet file say that next to nothing is in its first column and row group."""
    metadata = pq.read_metadata(path)
    said = {metadata.row_group(0).column(0).total_uncompressed_size, metadata.row_group(0).total_byte_size}
    content = bytearray(path.read_bytes())
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for number in said:
        true, small = varint(number), varint(100, len(varint(number)))
        assert true in content[footer:]
        content[footer:] = content[footer:].replace(true, small)
    path.write_bytes(content)


def varint(number: int, length: int = 0) -> bytes:
    """Thrift's zigzag number, filled up to a length."""
    number, groups = number << 1, []
    while number or len(groups) < length:
        groups.append(number & 0x7F)
        number >>= 7
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def feather(path: Path) -> None:
    table = zeros()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as file:
        for _ in range(PIECES):
            file.write_table(table)


def archive(path: Path, name: str = "schema.json", size: int = SIZE) -> None:
    """Zeros in a ZIP archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open(name, "w") as entry:
        block = bytes(2**22)
        for _ in range(size // len(block)):
            entry.write(block)


def archive_in_archive(path: Path) -> None:
    """A sparse matrix as skops writes it, whose numbers are the bomb."""
    inner = path.with_suffix(".inner")
    archive(inner, "data.npy")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("schema.json", "{}")
        file.writestr("1.npz", inner.read_bytes())
    inner.unlink()


def archive_that_lies(path: Path) -> None:
    """Its directory says that the entry is small."""
    archive(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(SIZE.to_bytes(4, "little"), (100).to_bytes(4, "little")))


def saved_explanation(path: Path) -> None:
    """What ``xcid.load`` takes for a saved explanation."""
    archive(path, "values.npy")


def huge_array(path: Path) -> None:
    """A header that says that a terabyte follows."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**37,)})
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("values.npy", header.getvalue())


TABLES = {
    "bomb.parquet": parquet,
    "cell.parquet": parquet_of_one_cell,
    "liar.parquet": parquet_that_lies,
    "bomb.feather": feather,
    "bomb.arrow": feather,
}
MODELS = {"bomb.skops": archive, "inner.skops": archive_in_archive, "liar.skops": archive_that_lies}
EXPLANATIONS = {"bomb.npz": saved_explanation, "huge.npz": huge_array, "document.parquet": parquet_that_lies}
