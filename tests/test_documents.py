"""Every Python example of the documents runs, and prints what the document says."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_readme_examples_run(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 10
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
        if "print(explanation[0])" in block or "explainer.counterfactuals" in block:
            printed = capsys.readouterr().out.strip()
            assert printed in text
    assert names["explanation"].values.shape == (154, 8)


def test_links_of_the_readme_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
