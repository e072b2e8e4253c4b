"""The examples run as they stand."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if "# %%" in path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run scripts once, each in a folder of its own: what they leave behind, what they print, where."""
    done = {}

    def run(name, monkeypatch, capsys):
        if name not in done:
            folder = tmp_path_factory.mktemp(name)
            monkeypatch.chdir(folder)
            try:
                left = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
            finally:
                plt.close("all")
            done[name] = left, capsys.readouterr().out, folder
        return done[name]

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_notebooks(name):
    """Cells in the percent format, the first one text with a title; the site's index names the script."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    assert text.count("\n# %%\n") >= 4
    assert f"`{name}.py`" in (EXAMPLES.parent / "docs" / "index.md").read_text(encoding="utf-8")


def test_there_are_scripts():
    assert SCRIPTS == ["beside_shap_and_lime", "credit", "regression"]


def test_credit(ran, monkeypatch, capsys):
    left, printed, folder = ran("credit", monkeypatch, capsys)
    explanation, test = left["explanation"], left["test"]
    assert explanation.feature_names == tuple(test.columns)
    assert (explanation.status == "ok").all()
    first, last = left["summary"].index[[0, -1]]
    assert first == "loan"
    assert last in ("customer_since", "newsletter")
    for line in left["changes"]["changes"]:  # only what is within reach
        assert not any(name in line for name in ("purpose", "customer_since", "newsletter"))
    assert left["changes"]["changes"].iloc[0] in printed
    assert (folder / "out" / "credit.png").stat().st_size > 10_000


def test_regression(ran, monkeypatch, capsys):
    left, printed, _ = ran("regression", monkeypatch, capsys)
    assert "lipids" in left["together"].feature_names
    assert "hdl" not in left["together"].feature_names
    assert left["share"] > 0.85  # 0.95 is nominal, of 89 rows
    assert "(frozen)" in printed


def test_beside_shap_and_lime(ran, monkeypatch, capsys):
    for package in ("shap", "lime"):
        pytest.importorskip(package, reason=f"needs the extra {package}")
    left, printed, _ = ran("beside_shap_and_lime", monkeypatch, capsys)
    faithful = {key: figures.mean() for key, figures in left["faithful"].items()}
    for masking in ("mean", "joint rows"):
        for name in ("xcid", "SHAP", "LIME"):
            assert faithful[name, masking] > faithful["the paper's", masking] > faithful["chance", masking]
    for name in left["methods"]:
        assert printed.count(f"{name} ") >= 3
