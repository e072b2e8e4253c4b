"""A validation as one HTML file: it runs nothing, loads nothing, and looks like a report of xcid."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files

from xcid.show.report.page import STYLES, fingerprint, read_asset
from xcid.show.wording.names import clean
from xcid_lab.validation.records import FAILED, NOT_TRIED, Caution, Check, Validation
from xcid_lab.validation.words import headline

TITLE = "xcid, tested on this model and this table"
MOST = 600  # letters of a text
POLICY = "default-src 'none'; style-src '{style}'; base-uri 'none'; form-action 'none'"
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header class="top"><h1>{title}</h1><p class="quiet">{subtitle}</p></header>
<main>
<section class="summary"><h2>What came out</h2><p>{headline}</p>{failed}</section>
<section><h2>What was tried</h2>
<p class="quiet">Each threshold was fixed beforehand. A share has a 95% interval, and fails where all of it lies beyond
its threshold. So a check that held is no proof: it says that these rows do not show the contrary.</p>
{checks}</section>
<section><h2>Rows not to rely on as they are</h2>{cautions}</section>
<section><h2>To repeat it</h2>{facts}</section>
</main>
</body>
</html>
"""


def page(found: Validation) -> str:
    """The page as text; whatever comes from a table or a model is escaped."""
    style = "\n".join(
        [*map(read_asset, STYLES), (files("xcid_lab.validation") / "page.css").read_text(encoding="utf-8")]
    )
    model, reference = (found.settings.get(name, "").rpartition(", ")[0] for name in ("model", "reference"))
    failed = "".join(f"<li><b>{_text(check.name)}</b>: {_text(check.meaning)}</li>" for check in found.failed)
    return PAGE.format(
        policy=POLICY.format(style=fingerprint(style)),
        title=_text(TITLE),
        style=style,
        subtitle=_text(f"{model}, {reference} of reference data; {found.n_rows:,} rows tried; {found.date}"),
        headline=_text(f"{headline(found)}."),
        failed=f"<ul>{failed}</ul>" if failed else "",
        checks="\n".join(map(_check, found.checks)),
        cautions=_cautions(found.cautions),
        facts=_facts(_list_facts(found)),
    )


def _text(part: object) -> str:
    return html.escape(clean(part, MOST))


def _check(check: Check) -> str:
    kind = {FAILED: "failed", NOT_TRIED: "quiet"}.get(check.verdict, "held")
    figure = f'<p class="figure">{_text(check.shown)}; wanted: {_text(check.asked)}</p>' if check.shown else ""
    meaning = f"<p>{_text(check.meaning)}</p>" if check.meaning else ""
    return (
        f'<div class="check"><span class="verdict {kind}">{_text(check.verdict)}</span>'
        f'<div><h3>{_text(check.name)}</h3>{meaning}{figure}<p class="quiet">{_text(check.tried)}</p></div></div>'
    )


def _cautions(cautions: tuple[Caution, ...]) -> str:
    if not cautions:
        return "<p>None of the rows that were looked at.</p>"
    lines = "".join(f"<tr><td>{_text(one.row)}</td><td>{_text('; '.join(one.reasons))}</td></tr>" for one in cautions)
    return f"<table><thead><tr><th>row</th><th>why</th></tr></thead><tbody>{lines}</tbody></table>"


def _list_facts(found: Validation) -> dict[str, str]:
    """All that is needed to run it again."""
    effort = ", ".join(f"{name} {size:,}" for name, size in asdict(found.effort).items())
    command = {"command": found.command} if found.command else {}
    files_read = {
        f"file of the {what}": f"{one.get('name')}, sha256 {one.get('sha256')}"
        for what, one in ((found.inputs or {}).get("files") or {}).items()
    }
    when = {"date": found.date, "took": f"{found.seconds:g} s", "seed": str(found.seed), "effort": effort}
    return command | files_read | dict(found.settings) | when


def _facts(known: Mapping[str, str]) -> str:
    lines = "".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>" for name, text in known.items())
    return f'<dl class="facts">{lines}</dl>'
