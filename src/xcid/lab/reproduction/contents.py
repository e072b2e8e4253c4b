"""What stands where on the pages: the text is in ``page.md``, and names the blocks that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from xcid.lab.markdown import Table
from xcid.lab.reproduction import sentences, tables
from xcid.lab.reproduction.pages import Block, Heading, Picture
from xcid.lab.reproduction.published import METRICS, Case
from xcid.lab.reproduction.settings import Settings


def page(cases: Sequence[Case], settings: Settings, pictures: Sequence[Picture]) -> list[Block]:
    """All that the pages say."""
    numbered: list[Table] = [
        *(tables.agreement_table(number, case, settings.k) for number, case in enumerate(cases, start=1)),
        *(tables.faithfulness_table(number, metric, cases) for number, metric in enumerate(METRICS, start=3)),
        *(tables.kernel_table(number, case) for number, case in enumerate(cases, start=5)),
        *(tables.settings_table(number, case) for number, case in enumerate(cases, start=7)),
    ]
    computed: dict[str, Block] = {
        "opening": list(sentences.opening(settings, cases)),
        "findings": list(sentences.findings(settings, cases)),
        "closest": list(map(sentences.closest, cases)),
        "readings": tables.readings_table(cases),
        "methods": tables.methods_table(cases),
        "genetic": tables.genetic_table(cases),
        **{f"table-{number}": table for number, table in enumerate(numbered, start=1)},
        **{picture.name: picture for picture in pictures},
    }
    text = (files("xcid.lab.reproduction") / "page.md").read_text(encoding="utf-8")
    return [_block(" ".join(part.split()), computed) for part in text.split("\n\n")]


def _block(text: str, computed: dict[str, Block]) -> Block:
    marks, _, title = text.partition(" ")
    if set(marks) == {"#"}:
        return Heading(len(marks), title)
    return computed[text.strip("{}")] if text.startswith("{") else text
