"""MLflow: explanations beside the run that made a model, and an explainer that is served as a model.

>>> with mlflow.start_run():                                    # doctest: +SKIP
...     log_explanation(explainer(test))
...     mlflow.pyfunc.log_model(name="explainer", python_model=pyfunc(explainer))
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from xcid._require import require
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.plots import bar, beeswarm
from xcid.table import frame_of

FOLDER = "model_explanations_xcid"
MOST_LETTERS = 250  # of a parameter, which all stores take
DPI = 120


def log_explanation(explanation: Explanation, *, name: str = "") -> str:
    """Log an explanation to the active run of MLflow, or to a new one.

    The run gets the files ``explanation.npz`` (all of it, for :func:`xcid.load`), ``explanation.json`` (for other
    languages), ``report.html``, ``bar.png`` (the first row) and ``beeswarm.png`` where there are more; what made the
    explanation (the seed, the generator, ...) as parameters; and how many rows are explained as metrics.

    Parameters
    ----------
    explanation : Explanation
    name : str
        Of a second explanation in the same run: a folder of its own, and part of the names of parameters and metrics.

    Returns
    -------
    str
        The folder among the artifacts of the run.
    """
    mlflow = require("mlflow", extra="mlflow")
    folder, prefix = (f"{FOLDER}/{name}", f"xcid.{name}.") if name else (FOLDER, "xcid.")
    with tempfile.TemporaryDirectory() as made:
        _write(explanation, Path(made))
        mlflow.log_artifacts(made, folder)
    settings = (explanation.details.settings or {}).items()
    mlflow.log_params({f"{prefix}{key}": str(value)[:MOST_LETTERS] for key, value in settings})
    mlflow.log_metrics(
        {
            f"{prefix}rows": len(explanation),
            f"{prefix}rows_ok": int((explanation.status == "ok").sum()),
            f"{prefix}evaluations": int(explanation.n_evaluations.sum()),
        }
    )
    return folder


def pyfunc(explainer: Explainer) -> Any:
    """Make a ``mlflow.pyfunc.PythonModel`` whose predictions are scores: a pandas frame, one column a feature.

    ``params={"seed": 1}`` of a prediction is the seed. MLflow pickles the explainer with its model and background, and
    loading it runs what is in the file, as with all such models of MLflow.
    """
    base: Any = require("mlflow.pyfunc", extra="mlflow").PythonModel

    class Scores(base):  # type: ignore[misc]  # MLflow may not be installed, so it has no type here
        """Explains what it is asked to predict."""

        def __init__(self, explain: Explainer) -> None:
            self.explain = explain

        def predict(self, context, model_input, params=None):  # type: ignore[no-untyped-def]
            # MLflow takes a type here for a schema to check, and warns of those that it cannot check
            explanation = self.explain(model_input, seed=int((params or {}).get("seed", 0)))
            return to_scores(explanation)

    return Scores(explainer)


def to_scores(explanation: Explanation) -> Any:
    """(n, d) scores as a pandas frame with the rows' names and a column for each feature."""
    columns = dict(zip(explanation.feature_names, explanation.values.T, strict=True))
    frame = frame_of(columns, "pandas")
    frame.index = explanation.index
    return frame


def _write(explanation: Explanation, folder: Path) -> None:
    explanation.save(folder / "explanation.npz")
    explanation.save(folder / "explanation.json")
    if not len(explanation):
        return
    explanation.report(folder / "report.html")
    for draw in [bar, beeswarm] if len(explanation) > 1 else [bar]:
        figure = draw(explanation).figure
        figure.savefig(folder / f"{draw.__name__}.png", dpi=DPI)
        require("matplotlib.pyplot", extra="plot").close(figure)
