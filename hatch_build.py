"""Puts the library in C into wheels for one platform. Without XCID_BUILD_LIBRARY=1 a wheel is pure.

Where a wheel has no library, it is built on first use, and without a compiler NumPy does the same.

Links and pictures of README.md, which are relative, are made absolute in the description of a release: see BASE.
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
from hatchling.metadata.plugin.interface import MetadataHookInterface

SWITCH = "XCID_BUILD_LIBRARY"
IS_WINDOWS = os.name == "nt"
SUFFIX = ".dll" if IS_WINDOWS else ".so"
DIGITS = 32  # of the digest in the name, which is compared before the library is loaded

BASE = "XCID_README_BASE"  # what the path of a file follows, such as https://example.org/xcid/blob/v0.1.0
FILES = "Files"  # the same in [project.urls], where the environment does not name it
LINK = re.compile(r"(?P<before>\]\(|\b(?:src|srcset|href)=\")(?!#|[a-z]+:|/)(?P<path>[^)\"\s]+)")
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
PICTURES = (".png", ".jpg", ".gif", ".svg", ".webp")


class Readme(MetadataHookInterface):
    """Describes the package by README.md."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the text, whose links lead to the files of a release where it is known where these are."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        base = os.environ.get(BASE) or metadata.get("urls", {}).get(FILES, "")
        metadata["readme"] = {"content-type": "text/markdown", "text": make_absolute(text, base)}


def make_absolute(text: str, base: str) -> str:
    """Let relative links and pictures of a page begin with a base; as they are where there is none."""
    if not base:
        return text

    def lead(link: re.Match[str]) -> str:
        path = link["path"].removeprefix("./")
        raw = "?raw=true" if path.lower().endswith(PICTURES) else ""  # the picture, and not a page about it
        return f"{link['before']}{base.rstrip('/')}/{path}{raw}"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(lead, part) for part in parts)


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
