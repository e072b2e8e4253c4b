"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

from matplotlib import pyplot as plt

import xcid

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_demo(tmp_path, capsys):
    main = runpy.run_path(str(EXAMPLES / "demo.py"))["main"]
    try:
        picture = main(tmp_path / "out")
    finally:
        plt.close("all")
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert lines[0].startswith("row 668: output ")
    assert {line.split()[0] for line in lines[1:9]} == set(xcid.datasets.load_diabetes().feature_names)
    assert "█" in lines[1]
    assert str(picture) in printed
    assert picture.parent == tmp_path / "out"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
