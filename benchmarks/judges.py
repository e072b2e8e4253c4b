"""What judges that others wrote say of xcid, CID, SHAP and LIME.

- SHAP's ``SequentialMasker``: the area under the output as features are removed or kept, best first;
- BEExAI's ``get_all_metrics``, with the mean in place of what is removed;
- Quantus's metrics for faithfulness, complexity and stability of attributions (it is under the GPL: give it an
  environment of its own; xcid never depends on it).

All three see the same networks, trained on standardised tables of ``unseen.py`` with classes, and the same attributions
of the class that is predicted. xcid takes its default budget, CID ten runs of 50; SHAP is exact or converged, LIME has
5,000 samples. xcid's importance and CID say how much a decision hangs on a feature, without a sign. An arrow says which
way is better. A judge that is not installed or fails is left out, and a line says why.

A metric is lost by xcid, its importance or CID where SHAP is ahead on most tables. That was fixed before the run.

    python benchmarks/judges.py            # five tables, 20 rows each
    python benchmarks/judges.py --rows 4 --tables 1 --only Quantus
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from cells import Array
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from unseen import SPLIT, TABLES, TEST_SHARE

import xcid
from xcid._require import quiet_and_seeded
from xcid.directions import supporting
from xcid_lab.baselines import Lime, Shap

CHOSEN = ("moons", "shells", "Friedman 1, classes", "redundant", "mixed")
Explain: TypeAlias = Callable[[Array], Array]


def signed(make: Callable[[Any, Array], Any]) -> Callable[[Any, Array], Explain]:
    """Attributions that support the class that is predicted."""

    def made(model: Any, train: Array) -> Explain:
        explainer = make(model, train)
        return lambda rows: supporting(explainer(rows))

    return made


def importance(model: Any, train: Array) -> Explain:
    """xcid's d1 of the evidence."""
    explainer = xcid.Explainer(model, train)
    return lambda rows: np.asarray(explainer(rows).importance)


METHODS: dict[str, Callable[[Any, Array], Explain]] = {
    "xcid": signed(xcid.Explainer),
    "xcid's importance": importance,
    "CID": signed(partial(xcid.CID, repeats=10)),
    "SHAP": signed(Shap),
    "LIME": signed(Lime),
}
UP, DOWN = "↑", "↓"
BEEXAI = {
    "FaithCorr": UP,
    "Infidelity": DOWN,
    "Sensitivity": DOWN,
    "Comprehensiveness": UP,
    "Sufficiency": DOWN,
    "Monotonicity": UP,
    "AUC_TP": DOWN,
    "Complexity": DOWN,
    "Sparseness": UP,
}


class Case(NamedTuple):
    """A network, the rows that it was trained on and those to explain, and an explainer to ask again."""

    model: MLPClassifier
    train: Array
    rows: Array
    explain: Explain
    values: Array

    @property
    def classes(self) -> Any:
        """What is predicted for the rows."""
        return self.model.predict_proba(self.rows).argmax(axis=1)


Judge: TypeAlias = Callable[[Case], dict[str, float]]


def sequential(case: Case) -> dict[str, float]:
    """Areas of SHAP's own judge: how far the output falls (remove) or rises (keep)."""
    import shap.benchmark

    masker = shap.maskers.Independent(case.train, max_samples=100)
    found: dict[str, float] = {}
    for kind, order, arrow in (("remove", "positive", DOWN), ("keep", "positive", UP), ("remove", "negative", UP)):
        areas: list[float] = []
        for own in np.unique(case.classes):
            mine = case.classes == own
            judge = shap.benchmark.SequentialMasker(
                kind, order, masker, lambda X, own=own: case.model.predict_proba(X)[:, own], case.rows[mine]
            )
            areas += judge(case.values[mine], "", debug_mode=True, silent=True)[2]
        found[f"{kind} {order} {arrow}"] = float(np.mean(areas))
    return found


class Tensors:
    """The network behind the calls that BEExAI makes, and an explainer of it."""

    task = "classification"

    def __init__(self, case: Case) -> None:
        self.case = case

    def tensor(self, values: Any) -> Any:
        import torch

        return torch.tensor(np.asarray(values), dtype=torch.float32)

    def predict_proba(self, X: Any) -> Any:
        return self.tensor(self.case.model.predict_proba(np.asarray(X, dtype=float)))

    def predict(self, X: Any) -> Any:
        return self.predict_proba(X).argmax(axis=1)

    def explain(self, X: Any, **_: Any) -> Any:
        return self.tensor(self.case.explain(np.asarray(X, dtype=float)))

    def feature_order(self, attributions: Any) -> Any:
        return (-attributions).argsort(axis=1)


def beexai(case: Case) -> dict[str, float]:
    """All nine metrics of BEExAI."""
    import torch
    from beexai.evaluate.metrics.get_results import get_all_metrics

    torch.manual_seed(0)
    asked = Tensors(case)
    found = get_all_metrics(
        asked.tensor(case.rows),
        asked.tensor(case.classes).long(),
        asked,
        asked,
        baseline="mean",
        auc_metric="accuracy",
        attributions=asked.tensor(case.values),
    )
    return {f"{name} {BEEXAI[name]}": float(value) for name, value in found.iloc[0].items()}


def quantus(case: Case) -> dict[str, float]:
    """Metrics of Quantus that need nothing but attributions; what is masked takes the mean, which is 0."""
    import quantus as judges
    import torch

    layers: list[Any] = []
    for weights, offsets in zip(case.model.coefs_, case.model.intercepts_, strict=True):
        layer = torch.nn.Linear(*weights.shape)
        layer.weight.data, layer.bias.data = torch.tensor(weights.T).float(), torch.tensor(offsets).float()
        layers += [layer, torch.nn.ReLU()]
    last = torch.nn.Softmax(dim=1) if len(case.model.classes_) > 2 else both_sides()
    network = torch.nn.Sequential(torch.nn.Flatten(), *layers[:-1], last).eval()
    zero: dict[str, Any] = {"perturb_baseline": 0.0, "disable_warnings": True, "display_progressbar": False}
    d = case.rows.shape[1]
    metrics = {
        f"FaithfulnessCorrelation {UP}": judges.FaithfulnessCorrelation(subset_size=max(2, d // 4), **zero),
        f"FaithfulnessEstimate {UP}": judges.FaithfulnessEstimate(**zero),
        f"MonotonicityCorrelation {UP}": judges.MonotonicityCorrelation(nr_samples=10, **zero),
        f"PixelFlipping, area {DOWN}": judges.PixelFlipping(**zero),
        f"Complexity {DOWN}": judges.Complexity(disable_warnings=True, display_progressbar=False),
        f"Sparseness {UP}": judges.Sparseness(disable_warnings=True, display_progressbar=False),
    }
    batches = {"x_batch": case.rows[:, None, :], "y_batch": case.classes, "a_batch": case.values[:, None, :]}
    found = {}
    for name, metric in metrics.items():
        with quiet_and_seeded(0):
            found[name] = float(np.nanmean(metric(model=network, device="cpu", channel_first=True, **batches)))
    return found


def both_sides() -> Any:
    """A layer from one log odds to two probabilities."""
    import torch

    class BothSides(torch.nn.Module):
        def forward(self, logit: Any) -> Any:
            return torch.cat([torch.sigmoid(-logit), torch.sigmoid(logit)], dim=1)

    return BothSides()


JUDGES: dict[str, Judge] = {"SHAP's SequentialMasker": sequential, "BEExAI": beexai, "Quantus": quantus}


def cases(n_tables: int, n_rows: int) -> Iterator[dict[str, Case]]:
    """For every table, a case of each method."""
    for table in CHOSEN[:n_tables]:
        X, y = TABLES[table]()
        train, test, y_train, _ = train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT)
        scaler = StandardScaler().fit(train)
        known, rows = scaler.transform(train), scaler.transform(test[:n_rows])
        model = MLPClassifier(max_iter=1_000, random_state=0).fit(known, y_train)
        here = {}
        for name, make in METHODS.items():
            explain = make(model, known)
            here[name] = Case(model, known, rows, explain, explain(rows))
        yield here


def judged(chosen: Sequence[dict[str, Case]], judge: Judge) -> dict[str, list[dict[str, float]]]:
    """What a judge says of each method, table by table."""
    with quiet_and_seeded(0):
        return {name: [judge(here[name]) for here in chosen] for name in METHODS}


def shown(title: str, found: dict[str, list[dict[str, float]]]) -> str:
    """A line for each metric: means over tables and, in brackets, on how many of them a method is ahead of SHAP."""
    lines = [f"| {title} | {' | '.join(found)} |", "|---" * (1 + len(found)) + "|"]
    for metric in found["xcid"][0]:
        tables = {name: np.array([one[metric] for one in judged]) for name, judged in found.items()}
        sign = 1 if metric.endswith(UP) else -1
        cells = [f"{values.mean():.4f}" + _ahead(sign * (values - tables["SHAP"])) for values in tables.values()]
        lines.append(f"| {metric} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _ahead(better: Array) -> str:
    """On how many tables; nothing of SHAP itself."""
    return f" ({int(np.sum(better > 0))}/{len(better)})" if better.any() else ""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--tables", type=int, default=len(CHOSEN))
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--only", choices=JUDGES, help="one judge")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    chosen = list(cases(options.tables, options.rows))
    for title, judge in JUDGES.items() if options.only is None else [(options.only, JUDGES[options.only])]:
        try:
            print(shown(title, judged(chosen, judge)) + "\n", flush=True)
        except Exception as error:  # every judge fails in its own way
            print(f"{title} is left out: {type(error).__name__}: {error}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
