"""A validation in the terminal."""

from __future__ import annotations

from xcid_lab.validation.records import FAILED, HELD, NOT_TRIED, Validation

MOST = 10  # rows


def headline(found: Validation) -> str:
    """What came out, in one sentence."""
    counts = {verdict: sum(check.verdict == verdict for check in found.checks) for verdict in (HELD, FAILED, NOT_TRIED)}
    untried = f", {counts[NOT_TRIED]} not tried" if counts[NOT_TRIED] else ""
    return f"{counts[HELD]} checks held, {counts[FAILED]} failed{untried}"


def text(found: Validation) -> str:
    """The checks, a line each, what those that failed mean, and the first rows not to rely on.

    Those that were not tried have a line for each reason, behind the others.
    """
    tried = [check for check in found.checks if check.verdict != NOT_TRIED]
    untried = [check for check in found.checks if check.verdict == NOT_TRIED]
    width = max((len(check.name) for check in tried), default=0)
    verdicts = max((len(check.verdict) for check in found.checks), default=0)
    lines = [f"{headline(found)} ({found.n_rows} rows, {found.seconds:.0f} s)"]
    lines += [
        f"  {check.verdict:{verdicts}}  {check.name:{width}}  {f'{check.shown}; {check.asked}' if check.shown else ''}"
        for check in tried
    ]
    lines = [line.rstrip() for line in lines]
    for why in dict.fromkeys(check.tried for check in untried):
        names = "; ".join(check.name for check in untried if check.tried == why)
        lines.append(f"  {NOT_TRIED:{verdicts}}  {names}: {why}")
    lines += [f"failed: {check.name}: {check.meaning}" for check in found.failed]
    if found.cautions:
        many = len(found.cautions)
        lines.append("do not rely on " + (f"these {many} rows as they are:" if many > 1 else "this row as it is:"))
        lines += [f"  row {one.row}: {'; '.join(one.reasons)}" for one in found.cautions[:MOST]]
        if len(found.cautions) > MOST:
            lines.append(f"  and {len(found.cautions) - MOST} more, which the page and the record have")
    return "\n".join(lines)
