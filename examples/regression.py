# %% [markdown]
# # A regression with groups and constraints
#
# 442 patients, ten measurements, and how far their diabetes has gone a year later: the regression table that comes
# with scikit-learn. Six of the measurements are serum values, some of which nearly repeat each other.

# %%
from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

import xcid
from xcid.outcomes import Interval, Within

raw = load_diabetes(as_frame=True, scaled=False)
serum = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s4": "cholesterol/hdl", "s5": "triglycerides", "s6": "glucose"}
table = raw.data.rename(columns=serum).assign(sex=raw.data["sex"].map({1.0: "a", 2.0: "b"}))
train, test, y_train, y_test = train_test_split(table, raw.target, test_size=0.2, random_state=0)

numbers = ["age", "bmi", "bp", *serum.values()]
forest = RandomForestRegressor(n_estimators=60, min_samples_leaf=3, random_state=0, n_jobs=1)
forest.fit(train[numbers].to_numpy(), y_train)


def model(frame):  # type: ignore[no-untyped-def]
    """The model never sees the sex: its contribution should not be significant."""
    return forest.predict(frame[numbers].to_numpy())


# %% [markdown]
# ## The default question
#
# Contributions are in the unit of the output and add up to it. Importance is about a question: by default what moves
# the output, up or down, by degrees.

# %%
row = test.iloc[[0]]
explainer = xcid.Explainer(model, train)
print(explainer(row))

# %% [markdown]
# ## Questions of your own
#
# A wider interval, and a target: what would bring this patient below 120, or, if already there, out of it?

# %%
print()
print(explainer.with_outcome(Interval(half_width=50))(row))
print()
print(explainer.with_outcome(Within(high=120))(row))

# %% [markdown]
# ## Columns that belong together
#
# Cholesterol, its two fractions and their ratio cannot be changed one by one. As a group they change to
# combinations that some patient has, and get one contribution and one importance: neither is the sum of the four.

# %%
grouped = xcid.Constraints(groups={"lipids": ["cholesterol", "ldl", "hdl", "cholesterol/hdl"]})
together = xcid.Explainer(model, train, constraints=grouped)(row)
print()
print(together)

# %% [markdown]
# ## What may change
#
# Nobody gets younger, and some things are given. The decision cannot hang on what is frozen, but a frozen value has
# still contributed.

# %%
limits = xcid.Constraints(frozen=["sex"], monotone={"age": "rises", "bmi": "falls"}, ranges={"bp": (80, 130)})
limited = xcid.Explainer(model, train, constraints=limits)
print()
print(limited(row))
changes = limited.counterfactuals(row, target=xcid.outcomes.Within(high=120)).to_frame()
print("\n" + changes[["kind", "changes", "output"]].to_string(index=False))

# %% [markdown]
# ## Are the limits what they say?
#
# The sex is ignored by the model, so in 95 of 100 rows its limits should hold 0.

# %%
many = explainer(test)
assert many.lower is not None
assert many.upper is not None
at = many.position("sex")
share = np.mean((many.lower[:, at] <= 0) & (many.upper[:, at] >= 0))
print(f"\nlimits of a feature that the model ignores hold 0 in {share:.0%} of {len(many)} rows")
