"""Large runs on a machine that is against them: clocks that jump, read-only folders, full disks, bombs, wide tables.

``python soak/surroundings.py --seconds 60``: an attack holds if the command ends with the result that is due, byte for
byte, or with status 2, one line on stderr and no result; and if, once the machine is as before, the same command gives
the result that is due. As root, what is read-only is tried as an ordinary user. A table of 10,000 columns comes last,
before three models, with the seconds and megabytes of each.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import gzip
import lzma
import os
import random
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import numpy as np
from verdict import verdict

from runs import INPUTS, Place
from xcid.runs import folder as folders

NOBODY = 65534
YEARS = (0, 1, 2**31 - 1, 2**31, 4_102_444_800)  # seconds: the first day, the last that 31 bits have, a day to come
MODES = (0o000, 0o200, 0o400, 0o500)
BOMB = 2**27  # bytes of zeros
ROOM = 2**29  # bytes of memory beyond what the process has
TRAINED, MOST_MEGABYTES = ("logistic", "forest", "boosting"), 4_000  # models of a wide table, and what one may take
SUFFIXES = (".csv.gz", ".gz", ".csv", ".tsv", ".xlsx", ".xls", ".parquet", ".jsonl", ".json", ".feather", ".zip")
SHEETS = {  # workbooks that are whole: what their sheet has in a row, and how often
    "padding": (" " * 2**20, BOMB // 2**20),
    "text": (f'<row><c t="inlineStr"><is><t>{"x" * 2**20}</t></is></c></row>', BOMB // 2**20),
    "far cell": ('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>', 1),
}
Attack = Callable[[Place, random.Random], str]


class Jumping(datetime):
    """A clock that shows any time."""

    draw = random.Random(0)

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        """Some time between 1970 and 2100."""
        return datetime.fromtimestamp(cls.draw.choice(YEARS), UTC)


def cells(row: str) -> str:
    """Cells of a sheet, one letter or digit each."""
    return "".join(
        f'<c t="inlineStr"><is><t>{one}</t></is></c>' if one > "9" else f"<c><v>{one}</v></c>" for one in row
    )


def clock(place: Place, draw: random.Random) -> str:
    """A clock that jumps while a run goes on, and files of the past and of the future."""
    _leave_some(place, draw)
    for path in (*(place.path / name for name in INPUTS), *place.run.rglob("*")):
        if draw.random() < 0.5:
            os.utime(path, (draw.choice(YEARS), draw.choice(YEARS)))
    Jumping.draw = draw
    jumps = mock.patch("time.time", side_effect=lambda: float(draw.choice(YEARS)))
    with mock.patch.object(folders, "datetime", Jumping), jumps:
        status, said = place.ended(place.run)
    return place.fault(status, said) or ("" if status == 0 else f"refused: {said}")


def read_only(place: Place, draw: random.Random) -> str:
    """Files and folders that an ordinary user cannot read or write."""
    _leave_some(place, draw)
    found = [*sorted(place.path.glob("run/**/*")), *(place.path / name for name in INPUTS), place.path]
    found += [place.run] if place.run.exists() else []
    if draw.random() < 0.2:
        shutil.copy(place.path / "rows.csv", place.out)  # an older result
    old = place.out.read_bytes() if place.out.exists() else None
    for path in found:
        os.chown(path, NOBODY, NOBODY) if os.getuid() == 0 else None
    spoilt = {path: stat.S_IMODE(path.stat().st_mode) for path in draw.sample(found, draw.randint(1, 2))}
    for path in spoilt:
        path.chmod(draw.choice(MODES))
    try:
        with _as_nobody():
            status, said = place.ended(place.run)
    finally:
        for path, mode in reversed(spoilt.items()):
            path.chmod(mode)
    what = ", ".join(path.name for path in spoilt)
    if status and old is not None and place.out.read_bytes() == old:
        place.out.unlink()  # it is left as it was
    fault = place.fault(status, said) or ("" if status == 0 or place.path.name in said else f"no name: {said!r}")
    return f"{what}: {fault}" if fault else _again(place, what)


@contextlib.contextmanager
def _as_nobody() -> Iterator[None]:
    if os.getuid() != 0:
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def full_disk(place: Place, draw: random.Random) -> str:
    """A disk on which no file gets longer than so many bytes."""
    _leave_some(place, draw)
    most, before = int(draw.random() * 1.2 * len(place.due)), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        status, said = place.ended(place.run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    half = [path.name for path in place.path.glob(".out.csv.*")]
    fault = place.fault(status, said) or (f"left behind: {half}" if half else "")
    return f"{most} bytes: {fault}" if fault else _again(place, f"{most} bytes")


def bomb(place: Place, draw: random.Random) -> str:
    """A small file that unpacks to much, by any name, in the place of a table."""
    how = draw.choice(("gzip", "bz2", "xz", "zip", *SHEETS))
    packed = place.path / f"bomb-{how.replace(' ', '-')}{'.xlsx' if how in SHEETS else draw.choice(SUFFIXES)}"
    if not packed.exists():
        _pack(packed, how)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before, began = resource.getrlimit(resource.RLIMIT_AS), time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, before[1]))
    name = draw.choice(("--data", "--background"))
    try:
        with mock.patch.object(place, "command", _with(place.command, name, str(packed))):
            status, said = place.ended(place.run)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    seconds = time.process_time() - began
    what = f"{name} {packed.name}"
    if status != 2 or packed.name not in said or seconds > 5:
        return f"{what}: status {status} after {seconds:.1f} s, {said[-200:]!r}"
    fault = place.fault(status, said)
    return f"{what}: {fault}" if fault else ""


def _pack(path: Path, how: str) -> None:
    block = bytes(2**22)
    if how in SHEETS:
        _pack_workbook(path, *SHEETS[how])
        return
    if how == "zip":
        archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        with archive, archive.open("xl/worksheets/sheet1.xml", "w") as entry:
            for _ in range(BOMB // len(block)):
                entry.write(block)
        return
    with {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}[how](path, "wb") as file:
        for _ in range(BOMB // len(block) // (4 if how == "xz" else 1)):
            file.write(block)


def _pack_workbook(path: Path, row: str, times: int) -> None:
    """A workbook that is whole, whose one sheet has a row many times."""
    office = "http://schemas.openxmlformats.org"
    types, relations = f"{office}/package/2006/content-types", f"{office}/package/2006/relationships"
    main, links = f"{office}/spreadsheetml/2006/main", f"{office}/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{types}"><Default Extension="rels" ContentType="application/vnd.'
        f'openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet'
        f'.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kind}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" Type="{links}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets><sheet name="a" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{relations}"><Relationship Id="r1" '
        f'Type="{links}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        with archive.open("xl/worksheets/sheet1.xml", "w") as entry:
            entry.write(f'<worksheet xmlns="{main}"><sheetData>'.encode())
            entry.write(
                "".join(f'<row r="{at}">{cells("abcy") if at == 1 else cells("1110")}</row>' for at in (1, 2)).encode()
            )
            for _ in range(times):
                entry.write(row.encode())
            entry.write(b"</sheetData></worksheet>")


def _with(command: Callable[..., list[str]], option: str, value: str) -> Callable[..., list[str]]:
    """The command with another value of an option."""

    def changed(*given: object) -> list[str]:
        typed = command(*given)
        typed[typed.index(option) + 1] = value
        return typed

    return changed


def _leave_some(place: Place, draw: random.Random) -> None:
    """A run that is finished, half finished or not begun."""
    if draw.random() < 0.3:
        return
    shutil.copytree(place.path / "calm", place.run)
    for path in sorted(place.run.glob("chunks/*.chunk"))[draw.randint(0, place.n_chunks) :]:
        path.unlink()


def _again(place: Place, what: str) -> str:
    """What is wrong with the same command, once the machine is as before."""
    place.out.unlink(missing_ok=True)
    status, said = place.ended(place.run)
    is_due = status == 0 and place.out.read_bytes() == place.due
    return "" if is_due else f"{what}, then: status {status}, {said[-200:]!r}"


def wide(n_columns: int, folder: Path) -> Iterator[str]:
    """A table of so many columns, explained by the command with each of its models; says what a row took."""
    cells = np.random.default_rng(0).normal(size=(40, n_columns - 1)).round(2)
    lines = [",".join(f"c{at}" for at in range(n_columns - 1)) + ",y"]
    lines += [",".join(map(str, row)) + f",{int(row[0] > 0)}" for row in cells.tolist()]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")
    for model in TRAINED:
        out = folder / f"{model}.parquet"
        typed = [
            "explain",
            folder / "wide.csv",
            "--target",
            "y",
            "--train",
            model,
            "--rows",
            "0",
            "--quiet",
            "--out",
            out,
        ]
        status, seconds, megabytes, said = _measured([sys.executable, "-m", "xcid", *map(str, typed)], folder)
        print(f"  {n_columns:,} columns, {model}: {seconds:.0f} s of processor time, {megabytes:,.0f} MB", flush=True)
        if status or not out.exists() or megabytes > MOST_MEGABYTES:
            yield f"{n_columns:,} columns, {model}: status {status}, {megabytes:,.0f} MB, {said[-300:]}"


def _measured(command: list[str], folder: Path) -> tuple[int, float, float, str]:
    """The status of a process, its seconds of processor time, the most memory that it had, and what it said."""
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    spent = used.ru_utime + used.ru_stime
    return process.returncode, spent, used.ru_maxrss / 1000, (folder / "said").read_text(errors="replace")


ATTACKS: tuple[Attack, ...] = (clock, read_only, full_disk, bomb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Attack for some time or so many times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--count", type=int, help="attacks, in place of seconds")
    parser.add_argument("--columns", type=int, default=10_000, help="of a table that is explained once")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    tried, faults, end = 0, list[str](), time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.path.chmod(0o755)
        while tried < options.count if options.count is not None else time.monotonic() < end:
            draw = random.Random(f"{options.seed} {tried}")
            attack = ATTACKS[tried % len(ATTACKS)]
            place.restore()
            try:
                fault = attack(place, draw)
            except BaseException as error:  # whatever comes out of the command is a fault
                fault = f"{type(error).__name__}: {error}"[:300]
            faults += [f"{attack.__name__}: {fault}"] if fault else []
            tried += 1
        faults += wide(options.columns, Path(folder))
    return verdict("surroundings", tried + len(TRAINED), faults)


if __name__ == "__main__":
    sys.exit(main())
