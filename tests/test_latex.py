"""Tables for papers: text that LaTeX takes literally, whatever it holds."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from xcid_lab import latex

COMMANDS = {
    r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
    r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"', r"\textasciigrave{}": "`",
    r"\textquotesingle{}": "'", r"{[}": "[", r"{]}": "]", r"$\pm$": "±", "{}": "",
} | {f"\\{mark}": mark for mark in "&%$#_{}"}  # fmt: skip
TOKEN = re.compile("|".join(map(re.escape, sorted(COMMANDS, key=len, reverse=True))) + "|.", re.DOTALL)
ACTIVE = set("\\{}$&#^_~%")


def typeset(text):
    """What a page shows of it, by the meaning of each command; nothing active may be left."""
    shown = []
    for token in TOKEN.findall(text):
        assert token in COMMANDS or token not in ACTIVE, token
        shown.append(COMMANDS.get(token, token))
    return "".join(shown)


@given(st.text(st.characters() | st.sampled_from("\\{}$&#^_~%<>|\"`'[]-±\n\t"), max_size=40))
def test_every_text_is_shown_as_it_is(text):
    assert typeset(latex.escaped(text)) == " ".join(text.split())
    assert "--" not in latex.escaped(text)


def test_nothing_ends_a_comment_or_a_row():
    text = latex.table(["", "a & b"], [["100%\n\\end{table}", "1"]], "c\n\nd", "n", ["made\nby\r\u2028hand"])
    comments, _, rest = text.partition(r"\begin{table}")
    assert [line for line in comments.splitlines() if not line.startswith("% ")] == []
    assert rest.count(r"\end{table}") == 1
    assert re.findall(r"(?<!\\)&", rest) == ["&", "&"]  # one in each line of two cells
    assert r"\caption{c d}" in rest
