"""Explain the first test row of the Diabetes data: scores in the terminal, evidence in a picture.

make demo
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import xcid


def main(folder: Path = Path("out")) -> Path:
    """Explain one row; return the path of the picture."""
    table = xcid.datasets.load_diabetes()
    train, test, y_train, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    model = LogisticRegression(max_iter=1000).fit(train, y_train)

    explainer = xcid.Explainer(model, train, class_names=table.target_names)
    explanation = explainer(test.iloc[:1])
    print(explanation)

    axes = xcid.plots.densities(explanation)
    folder.mkdir(exist_ok=True)
    picture = folder / "densities.png"
    axes[0].figure.savefig(picture, dpi=120)
    print(f"\nthe evidence, C+ against C-, is drawn in {picture.resolve()}")
    return picture


if __name__ == "__main__":
    main()
