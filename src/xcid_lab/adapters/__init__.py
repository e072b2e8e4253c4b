"""Explanations in the form that other toolkits take, none of which has to be installed.

``ExplanationDisplay`` draws as displays of scikit-learn do. ``adapters.quantus.explain_func`` goes to Quantus and
``adapters.interpret.Interpret`` to InterpretML's ``show``; ``adapters.mlflow.log_explanation`` puts explanations beside
a run of MLflow.
"""

from xcid_lab.adapters.display import ExplanationDisplay
from xcid_lab.adapters.interpret import Interpret, LocalExplanation
from xcid_lab.adapters.quantus import explain_func

__all__ = ["ExplanationDisplay", "Interpret", "LocalExplanation", "explain_func"]
