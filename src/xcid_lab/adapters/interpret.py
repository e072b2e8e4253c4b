"""InterpretML: an explainer with ``explain_local(X)``, whose result ``interpret.show`` can show."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid._require import require
from xcid.errors import InvalidData
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.show.wording import colours, find_prediction, rank_largest
from xcid.table import frame_of

MOST = 15  # features in a picture


class Interpret:
    """Explains rows as InterpretML's own explainers do: ``Interpret(xcid.Explainer(model, train))``."""

    available_explanations = ("local",)
    explainer_type = "blackbox"

    def __init__(self, explainer: Explainer) -> None:
        self.explainer = explainer

    def explain_local(self, X: Any, y: Any = None, name: str | None = None) -> LocalExplanation:
        """Explain rows; ``y`` (n,) are the true answers, where they are known."""
        explanation = self.explainer(X)
        actual = None if y is None else [str(answer) for answer in np.asarray(y).ravel()]
        if actual is not None and len(actual) != len(explanation):
            raise InvalidData(f"there are {len(actual)} true answers for {len(explanation)} rows")
        return LocalExplanation("xcid" if name is None else name, explanation, actual)


@dataclass(frozen=True, slots=True, eq=False)
class LocalExplanation:
    """Explained rows, with the true answers if they are known, behind the five names that InterpretML looks for."""

    name: str
    explanation: Explanation
    actual: list[str] | None = None
    explanation_type: str = "local"

    @property
    def feature_names(self) -> list[str]:
        """What has a score."""
        return list(self.explanation.feature_names)

    @property
    def selector(self) -> Any:
        """A pandas frame with a line for each row, to choose from; it ends in a script, so its texts are escaped."""
        answers = [self._answer(row) for row in range(len(self.explanation))]
        columns: dict[str, Any] = {"Predicted": [_escaped(answer) for answer, _ in answers]}
        columns["PrScore"] = [score for _, score in answers]
        if self.actual is not None:
            columns["Actual"] = [_escaped(answer) for answer in self.actual]
        return frame_of(columns, "pandas")

    def data(self, key: int | None = None) -> dict[str, Any] | None:
        """Names, scores and values of a row; nothing over all rows, and for -1 all rows in turn."""
        if key is None:
            return None
        if key == -1:
            return {"overall": None, "specific": [self._row(row) for row in range(len(self.explanation))]}
        return self._row(key)

    def visualize(self, key: int | None = None) -> Any:
        """Bars of a row: a Plotly figure where Plotly is installed, else the plain dict that makes one."""
        if key is None:
            return None
        figure = _bars(self.explanation[key], f"{self.name}, row {self.explanation.index[key]}")
        if importlib.util.find_spec("plotly") is None:
            return figure
        return require("plotly.graph_objects", extra="interpret").Figure(figure)

    def _row(self, row: int) -> dict[str, Any]:
        one = self.explanation[row]
        answer, score = self._answer(row)
        return {
            "type": "univariate",
            "names": self.feature_names,
            "scores": one.values[0].tolist(),
            "values": [one.shown(0, feature) for feature in range(len(self.feature_names))],
            "perf": {
                "is_classification": len(one.output_names) > 1,
                "predicted": answer,
                "predicted_score": score,
                "actual": None if self.actual is None else self.actual[row],
            },
        }

    def _answer(self, row: int) -> tuple[str, float]:
        return find_prediction(self.explanation.outputs[row], self.explanation.output_names)


def _bars(one: Explanation, title: str) -> dict[str, Any]:
    """What Plotly draws: largest on top."""
    order = rank_largest(one.values[0], MOST)[::-1].tolist()
    scores = one.values[0, order]
    labels = [_escaped(f"{one.feature_names[at]} = {one.shown(0, at)}") for at in order]
    marker = {"color": colours.of_scores(one, scores)}
    return {
        "data": [{"type": "bar", "orientation": "h", "x": scores.tolist(), "y": labels, "marker": marker}],
        "layout": {"title": {"text": _escaped(title)}, "xaxis": {"title": {"text": "score"}}},
    }


def _escaped(text: str) -> str:
    """``<`` in a name would be taken for HTML."""
    return text.replace("<", "&lt;")
