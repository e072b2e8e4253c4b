"""Load the tables that ship with the package."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.records import Integers
from xcid.space import Backend, require_backend


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A table for classification.

    Attributes
    ----------
    data : data frame
        One column for each feature.
    target : (n,) int
        0 or 1.
    descriptions : mapping of str to str
        What each feature means, with its unit.
    target_names : tuple of str
        What 0 and 1 mean.
    source : str
        Where the table comes from and its licence.
    """

    data: Any
    target: Integers
    descriptions: Mapping[str, str]
    target_names: tuple[str, str]
    source: str

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of ``data``."""
        return tuple(self.descriptions)


DIABETES: dict[str, Any] = {
    "target_names": ("no diabetes", "diabetes"),
    "source": "Pima Indians Diabetes, NIDDK (Smith et al., 1988), public domain (CC0)",
    "descriptions": {
        "Pregnancies": "number of pregnancies",
        "Glucose": "plasma glucose two hours into an oral glucose tolerance test, mg/dl; 0: not measured",
        "BloodPressure": "diastolic blood pressure, mm Hg; 0: not measured",
        "SkinThickness": "thickness of the skin fold over the triceps, mm; 0: not measured",
        "Insulin": "two-hour serum insulin, mu U/ml; 0: not measured",
        "BMI": "body mass index, kg/m2; 0: not measured",
        "DiabetesPedigreeFunction": "score of diabetes among relatives",
        "Age": "years",
    },
}

HEART: dict[str, Any] = {
    "target_names": ("below 50 % narrowing", "above 50 % narrowing"),
    "source": "Heart Disease, Cleveland (Janosi, Steinbrunn, Pfisterer, Detrano, 1988), UCI, CC BY 4.0",
    "descriptions": {
        "age": "years",
        "sex": "1: male, 0: female",
        "cp": "chest pain. 1: typical angina, 2: atypical angina, 3: not anginal, 4: none",
        "trestbps": "resting blood pressure on admission, mm Hg",
        "chol": "serum cholesterol, mg/dl",
        "fbs": "1: fasting blood sugar above 120 mg/dl",
        "restecg": "resting electrocardiogram. 0: normal, 1: ST-T wave abnormality, 2: left ventricular hypertrophy",
        "thalach": "highest heart rate reached, beats a minute",
        "exang": "1: angina brought on by exercise",
        "oldpeak": "ST depression by exercise against rest, mm",
        "slope": "slope of the peak exercise ST segment. 1: up, 2: flat, 3: down",
        "ca": "major vessels coloured by fluoroscopy, 0 to 3; four are missing",
        "thal": "thallium scan. 3: normal, 6: fixed defect, 7: reversible defect; two are missing",
    },
}


def load_diabetes(backend: Backend = "pandas") -> Dataset:
    """Load Pima Indians Diabetes: 768 rows, 8 numeric features, no missing cells (zeros stand for some).

    ``backend`` is the library of the data frame: "pandas", "polars" or "pyarrow".

    Examples
    --------
    >>> table = load_diabetes()
    >>> table.data.shape, int(table.target.sum())
    ((768, 8), 268)
    """
    return _load("diabetes.csv", DIABETES, backend)


def load_heart(backend: Backend = "pandas") -> Dataset:
    """Load Heart Disease, Cleveland: 303 rows, 13 numeric or coded features, six missing cells in ca and thal.

    ``backend`` is that of :func:`load_diabetes`.

    Examples
    --------
    >>> int(load_heart().data.isna().sum().sum())
    6
    """
    return _load("heart.csv", HEART, backend)


def _load(name: str, known: dict[str, Any], backend: Backend) -> Dataset:
    require_backend(backend)
    text = (files("xcid.datasets") / name).read_text(encoding="utf-8")
    header, *lines = csv.reader(text.splitlines())
    columns = dict(zip(header, map(_typed, zip(*lines, strict=True)), strict=True))
    data = {feature: columns.pop(feature) for feature in known["descriptions"]}
    (target,) = columns.values()  # what is left
    return Dataset(nw.from_dict(data, backend=backend).to_native(), target.astype(np.int64), **known)


def _typed(cells: tuple[str, ...]) -> np.ndarray[Any, np.dtype[Any]]:
    """Integers where all cells are, else floats with NaN for empty cells."""
    if all(cell.lstrip("-").isdigit() for cell in cells):
        return np.array([int(cell) for cell in cells])
    return np.array([float(cell) if cell else np.nan for cell in cells])
