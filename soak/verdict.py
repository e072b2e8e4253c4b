"""The last line of every script of this folder, which ``run.py`` reads."""

from __future__ import annotations

from collections.abc import Sequence


def verdict(family: str, tried: int, faults: Sequence[str]) -> int:
    """Say what did not hold, and how much was tried; the exit status is 1 where anything did not, or nothing was."""
    print(*[f"  {fault}" for fault in faults], f"{family}: {tried} tried, {tried - len(faults)} held", sep="\n")
    return int(bool(faults) or not tried)
