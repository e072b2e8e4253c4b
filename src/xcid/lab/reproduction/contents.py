"""What stands where on the pages."""

from __future__ import annotations

from collections.abc import Sequence

from xcid.lab.reproduction import sentences, tables
from xcid.lab.reproduction.closeness import Case
from xcid.lab.reproduction.pages import Block, Heading, Picture, Points, Text
from xcid.lab.reproduction.settings import Settings

TITLE = "The paper's experiments, reproduced"


def page(cases: Sequence[Case], settings: Settings, pictures: Sequence[Picture]) -> list[Block]:
    """All that the pages say."""
    first, second, third, *others = pictures
    one, two = cases
    return [
        Heading(1, TITLE),
        Text(sentences.INTRODUCTION),
        Heading(2, "What was run"),
        Points(tuple(sentences.opening(settings, cases))),
        Heading(2, "What reproduces, and what does not"),
        Points(tuple(sentences.findings(settings, cases))),
        Heading(2, "Closest readings"),
        Text(sentences.READINGS),
        Points(tuple(map(sentences.closest, cases))),
        tables.readings_table(cases),
        tables.methods_table(cases),
        Heading(2, "Illustration"),
        first,
        second,
        Heading(2, "Agreement with other methods"),
        tables.agreement_table(1, one, settings.k),
        tables.agreement_table(2, two, settings.k),
        Heading(2, "Faithfulness"),
        Text(sentences.FAITHFULNESS),
        tables.faithfulness_table(3, "comprehensiveness", cases),
        tables.faithfulness_table(4, "sufficiency", cases),
        third,
        Heading(2, "Kernels and generators"),
        tables.kernel_table(5, one),
        tables.kernel_table(6, two),
        tables.genetic_table(cases),
        tables.settings_table(7, one),
        tables.settings_table(8, two),
        *others,
    ]
