"""Does an installed wheel explain trees exactly, and by which form? ``python check_wheel.py shipped``, or ``NumPy``."""

import sys

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import xcid
from xcid.native.library import road


def main() -> None:
    X = np.random.default_rng(0).normal(size=(200, 4))
    forest = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] * X[:, 1] > 0)
    found = xcid.Explainer(forest, X).contributions(X[:5])
    assert found.exact.all()
    assert np.abs(found.base_values + found.values.sum(axis=1) - forest.predict_proba(X[:5])[:, 1]).max() < 1e-12
    assert sys.argv[1] in road(), road()
    sys.stdout.write(f"{road()}\n")


if __name__ == "__main__":
    main()
