"""Puts the library in C into wheels for one platform. Without XCID_BUILD_LIBRARY=1 a wheel is pure.

Where a wheel has no library, it is built on first use, and without a compiler NumPy does the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "XCID_BUILD_LIBRARY"
IS_WINDOWS = os.name == "nt"
SUFFIX = ".dll" if IS_WINDOWS else ".so"
DIGITS = 32  # of the digest in the name, which is compared before the library is loaded


class Library(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the sources beside ``src/xcid/native/library.py``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the library to a wheel, and name the platform that it is for."""
        if os.environ.get(SWITCH) != "1" or version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        made = Path(self._folder.name) / f"compiled{SUFFIX}"
        subprocess.run(command(Path(self.root) / "src/xcid/native", made), check=True)
        platform = re.sub(r"[-.]", "_", sysconfig.get_platform())
        build_data.update({"pure_python": False, "tag": f"py3-none-{platform}"})
        digest = hashlib.sha256(made.read_bytes()).hexdigest()[:DIGITS]
        build_data["force_include"][str(made)] = f"xcid/native/compiled-{digest}{SUFFIX}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Take away what was compiled."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def command(sources: Path, made: Path) -> list[str]:
    """What compiles all C files of a folder into one library."""
    names = [os.environ.get("CC", ""), *(("clang", "gcc") if IS_WINDOWS else ("cc", "gcc", "clang"))]
    compiler = next(filter(None, map(shutil.which, filter(None, names))), None)
    if compiler is None:
        raise SystemExit(f"{SWITCH}=1 needs a C compiler: clang or gcc")
    files = sorted(sources.glob("*.c"))
    options = ["-std=c11", "-O3", "-shared", *shlex.split(os.environ.get("ARCHFLAGS", ""))]
    if not IS_WINDOWS:
        options.append("-fPIC")
    elif "clang" in Path(compiler).name:  # which exports nothing by itself
        text = "\n".join(file.read_text(encoding="utf-8") for file in files)
        names = sorted({*re.findall(r"^[\w *]*\b(xcid_\w+)\(", text, re.MULTILINE)})
        options += [f"-Wl,/EXPORT:{name}" for name in names]
    return [compiler, *options, "-o", str(made), *map(str, files)]
