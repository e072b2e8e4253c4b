"""Make the pictures of the documents from the built-in tables: ``python docs/make_images.py``.

Every plot of ``xcid.plots`` has one picture in ``docs/images/plots``, named for it; ``docs/images/densities.png`` is
that of the method.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
import xcid_lab.baselines
import xcid_torch.plots

IMAGES = Path(__file__).parent / "images"
CHEST_PAIN = {1: "typical angina", 2: "atypical angina", 3: "non-anginal pain", 4: "no pain"}
THAL = {3.0: "normal", 6.0: "fixed defect", 7.0: "reversible defect"}


class Diabetes:
    """The table of the README, a forest and its explanations."""

    def __init__(self) -> None:
        table = xcid.datasets.load_diabetes()
        self.train, self.test, self.target, _ = train_test_split(
            table.data, table.target, test_size=0.2, random_state=42
        )
        self.model = RandomForestClassifier(100, random_state=0, n_jobs=1).fit(self.train, self.target)
        self.explainer = xcid.Explainer(self.model, self.train, class_names=table.target_names)
        self.explanation = self.explainer(self.test)


class Heart:
    """A table with levels and missing cells, which boosted trees take as they are."""

    def __init__(self) -> None:
        table = xcid.datasets.load_heart()
        self.data = table.data.assign(
            cp=table.data["cp"].map(CHEST_PAIN), thal=table.data["thal"].map(THAL), ca=table.data["ca"]
        )
        encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        levels = make_column_transformer((encode, ["cp", "thal"]), remainder="passthrough")
        self.model = make_pipeline(levels, HistGradientBoostingClassifier(max_iter=40, random_state=0))
        self.model.fit(self.data, table.target)
        with_holes = np.flatnonzero(self.data.isna().any(axis=1))
        self.rows = pd.concat([self.data.iloc[with_holes], self.data.iloc[:100]])
        self.explanation = xcid.Explainer(self.model, self.data, class_names=table.target_names)(self.rows)


def readme() -> Any:
    """The evidence for one patient."""
    table = xcid.datasets.load_diabetes()
    train, test, target, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    model = LogisticRegression(max_iter=1000).fit(train, target)
    explainer = xcid.Explainer(model, train, class_names=table.target_names)
    return xcid.plots.densities(explainer(test.iloc[:1]))


def soft_and_hard() -> Any:
    """How much a perturbation counts as a flip, by the probability of the other class."""
    chance = np.linspace(0, 1, 401)
    outputs, reference = np.column_stack([1 - chance, chance]), np.tile([0.9, 0.1], (401, 1))
    _, axes = plt.subplots(1, 2, figsize=(8, 2.8), sharey=True)
    names = ["stays", "flips"]
    for ax, level in zip(axes, (0.5, 0.2), strict=True):
        for asked, style, label in (
            (xcid.outcomes.Threshold(level), "-", "soft: by its probability"),
            (xcid.outcomes.Threshold(level, soft=False), "--", "hard: yes or no"),
        ):
            ax.plot(chance, asked.bind(names, outputs)(outputs, reference), style, label=label)
        ax.axvline(level, color="0.8", linewidth=0.8)
        said = "does the predicted class change?" if level == 0.5 else f"does the probability cross {level:g}?"
        ax.set_title(said, fontsize=10)
        ax.set_xlabel("probability of the other class")
    axes[0].set_ylabel("share that counts as a flip")
    axes[1].legend(frameon=False, fontsize=9, loc="lower right")
    axes[0].figure.tight_layout()
    return axes


def curves(diabetes: Diabetes) -> Any:
    """Ours and chance."""
    some = diabetes.explanation[:60]
    sign = np.where(some.outputs.argmax(axis=1) == 1, 1, -1)[:, None]  # about the predicted class
    rows, scores = diabetes.test.iloc[:60], sign * some.values
    shuffled = np.random.default_rng(0).permuted(scores, axis=1)
    named = {"xcid": scores, "chance": shuffled}
    return xcid.plots.masking_curve(
        {name: xcid.metrics.masking_curves(diabetes.model, rows, one, diabetes.train) for name, one in named.items()}
    )


def agreement(diabetes: Diabetes) -> Any:
    """Ours, the paper's, occlusion and chance."""
    rows = diabetes.test.iloc[:60]
    methods = {
        "xcid": diabetes.explanation[:60],
        "paper": xcid.Explainer.paper(diabetes.model, diabetes.train)(rows),
        "occlusion": xcid_lab.baselines.Occlusion(diabetes.model, diabetes.train)(rows),
        "chance": xcid_lab.baselines.Chance(diabetes.model, diabetes.train)(rows),
    }
    return xcid.plots.agreement(methods, k=3)


def ages(diabetes: Diabetes) -> Any:
    """Two groups of rows of one model."""
    young = (diabetes.test["Age"] < 40).to_numpy()
    parts = diabetes.explanation[young], diabetes.explanation[~young]
    return xcid.plots.comparison(parts[0].compare(parts[1], ("younger patients", "older patients")))


def digit() -> Any:
    """The page about networks: the patches of a digit."""
    names = page("neural.md")
    return xcid_torch.plots.image(names["explanation"], names["image"], names["scores"])


def words() -> Any:
    """The page about networks: the words of a text."""
    names = page("neural.md", "## Texts")
    return xcid_torch.plots.tokens(names["explanation"], 1)


def page(name: str, heading: str = "## Images") -> dict[str, Any]:
    """What the examples at the top of a page and under one of its headings leave behind."""
    top, _, rest = (Path(__file__).parent / name).read_text(encoding="utf-8").partition("\n## ")
    under = f"## {rest}".partition(heading)[2].partition("\n## ")[0]
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", f"{top}{under}", flags=re.DOTALL):
        exec(compile(block, name, "exec"), names)
    plt.close("all")
    return names


def pictures(diabetes: Diabetes, heart: Heart) -> dict[str, Callable[[], Any]]:
    """Every picture by its name."""
    plots = xcid.plots
    called = xcid.Explainer(lambda frame: diabetes.model.predict_proba(frame), diabetes.train)  # sampled
    runs = [called(diabetes.test.iloc[:1], seed=seed) for seed in range(10)]
    return {
        "bar": lambda: plots.bar(diabetes.explanation, 1),
        "bar-mean": lambda: plots.bar(diabetes.explanation),
        "waterfall": lambda: plots.waterfall(diabetes.explanation, 1),
        "heatmap": lambda: plots.heatmap(diabetes.explanation),
        "decision": lambda: plots.decision(diabetes.explanation),
        "densities": lambda: plots.densities(heart.explanation, 0, most=8),
        "beeswarm": lambda: plots.beeswarm(diabetes.explanation),
        "scatter": lambda: plots.scatter(diabetes.explanation[:60], "Glucose"),
        "scatter-colour": lambda: plots.scatter(diabetes.explanation, "Glucose", colour="BMI"),
        "scatter-levels": lambda: plots.scatter(heart.explanation, "thal"),
        "stability": lambda: plots.stability(runs),
        "masking_curve": lambda: curves(diabetes),
        "agreement": lambda: agreement(diabetes),
        "comparison": lambda: ages(diabetes),
        "interactions": lambda: plots.interactions(diabetes.explainer.interactions(diabetes.test.iloc[:40])),
        "image": digit,
        "tokens": words,
    }


def main() -> None:
    """Write all of them."""
    save(readme(), IMAGES / "densities.png", 120)
    save(soft_and_hard(), IMAGES / "soft-and-hard.png", 110)
    for name, draw in pictures(Diabetes(), Heart()).items():
        save(draw(), IMAGES / "plots" / f"{name}.png", 100)


def save(axes: Any, path: Path, dpi: int) -> None:
    """Without the date and the version that matplotlib adds: the same picture is the same file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.ravel(axes)[0].figure.savefig(path, dpi=dpi, metadata={"Software": None})
    plt.close("all")


if __name__ == "__main__":
    main()
