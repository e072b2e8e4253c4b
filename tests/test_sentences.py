"""The approved sentences: each belongs to a test, and another one is seen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
APPROVED = json.loads((HERE / "sentences.json").read_text("utf-8"))


def test_each_belongs_to_a_test():
    texts = {name: (HERE / name).read_text("utf-8") for name in {one.partition("::")[0] for one in APPROVED}}
    names = {tuple(re.match(r"([^:]+)::(?:\w+::)*(\w+)", one).groups()) for one in APPROVED}
    assert len(APPROVED) > 100
    assert [one for one in sorted(names) if f"def {one[1]}(" not in texts[one[0]]] == []


def test_what_is_not_approved_is_seen(approved):
    if approved.sentences.renews:
        pytest.skip("everything is approved now")
    with pytest.raises(AssertionError, match="make sentences"):
        approved("no such sentence")


def test_the_words_of_another_library_are_left_out(approved):
    with approved.raises(ValueError):
        raise ValueError("not a number: it broke") from OSError("it broke")
