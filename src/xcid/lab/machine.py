"""On what and with what was measured."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import xcid

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "shap", "lime", "dice-ml")


def about(extent: str) -> dict[str, str]:
    """Date, extent, machine, versions and, in a checkout, the commit."""
    packages = [f"{package} {number}" for package, number in versions(PACKAGES, "not installed").items()]
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "extent": extent,
        "machine": f"{os.cpu_count()} cores, {processor()}, {platform.system()} {platform.machine()}",
        "versions": ", ".join([f"xcid {xcid.__version__}", f"Python {platform.python_version()}", *packages]),
        "commit": commit(),
    }


def versions(packages: Sequence[str], missing: str) -> dict[str, str]:
    """Versions of packages, and what to say of those that are not installed."""
    found = dict.fromkeys(packages, missing)
    for package in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def processor() -> str:
    """Name of the processor, as the system gives it."""
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def commit() -> str:
    """The commit that the package's files are at; empty where they are not in a checkout."""
    command = ["git", "-C", os.fspath(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
