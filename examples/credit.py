# %% [markdown]
# # A mixed table, end to end
#
# Loans with numbers, text, an ordered category, a date and missing cells; a scikit-learn pipeline; one decision
# explained, what it hangs on, what would have changed it, and the same over many rows. The table is made up, so
# that it is known what decides.

# %%
from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

import xcid

OUT = Path("out")
OUT.mkdir(exist_ok=True)

# %%
N = 900
rng = np.random.default_rng(7)
STEPS = ["none", "temporary", "permanent"]
table = pd.DataFrame(
    {
        "income": rng.lognormal(10.3, 0.4, N).round(-2),
        "loan": rng.lognormal(9.5, 0.6, N).round(-2),
        "savings": rng.lognormal(8, 1, N).round(-2),
        "purpose": rng.choice(["car", "house", "studies", "other"], N, p=[0.4, 0.3, 0.1, 0.2]),
        "work": pd.Categorical(rng.choice(STEPS, N, p=[0.15, 0.35, 0.5]), categories=STEPS, ordered=True),
        "customer_since": pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 5000, N), unit="D"),
        "newsletter": rng.random(N) < 0.5,
    }
)
table.loc[rng.random(N) < 0.15, "savings"] = np.nan
strain = (
    2.2 * np.log(table["loan"] / table["income"])
    - 0.8 * table["work"].cat.codes
    - 0.4 * np.log(table["savings"].fillna(3000))
    + 0.8 * (table["purpose"] == "other")
    + rng.logistic(size=N)
)
refused = np.where(strain > np.median(strain), "refused", "granted")  # the newsletter and the date play no part

# %% [markdown]
# The pipeline gets the table as it is. Explaining the pipeline, and not the model at its end, keeps the columns
# that people know: one contribution of `purpose`, not one for each of its codes.


# %%
def days(dates: pd.DataFrame) -> pd.DataFrame:
    """Days since 2010."""
    return dates.apply(lambda column: (column - pd.Timestamp("2010-01-01")).dt.days)


prepare = make_column_transformer(
    (
        make_pipeline(SimpleImputer(strategy="median"), FunctionTransformer(np.log), StandardScaler()),
        ["income", "loan", "savings"],
    ),
    (OneHotEncoder(), ["purpose", "newsletter"]),
    (OrdinalEncoder(categories=[STEPS]), ["work"]),
    (make_pipeline(FunctionTransformer(days), StandardScaler()), ["customer_since"]),
)
train, test, y_train, y_test = train_test_split(table, refused, test_size=0.25, random_state=0)
model = make_pipeline(prepare, LogisticRegression(max_iter=1000)).fit(train, y_train)
print(f"accuracy on {len(test)} rows that it has not seen: {model.score(test, y_test):.2f}\n")

# %% [markdown]
# ## One decision
#
# Contributions lead from the mean log odds of "refused" to those of this row: `+` raises them, `-` lowers them. The
# pipeline has a function of our own (`days`), so it is called and not read from inside: contributions are sampled and
# have limits. Importance says what the decision hangs on.

# %%
explainer = xcid.Explainer(model, train)
explanation = explainer(test)
row = int(np.flatnonzero(model.predict(test) == "refused")[0])
print(explanation[row])

axes = xcid.plots.densities(explanation, row=row)
axes[0].figure.savefig(OUT / "credit.png", dpi=120)

# %% [markdown]
# ## What would have changed it
#
# Only what the applicant can do: the purpose is what it is, nobody becomes a customer in the past, the loan may be
# smaller, and work, income and savings may grow.

# %%
within_reach = xcid.Constraints(
    frozen=["purpose", "customer_since", "newsletter"],
    monotone={"work": "rises", "income": "rises", "savings": "rises", "loan": "falls"},
)
changes = xcid.Explainer(model, train, constraints=within_reach).counterfactuals(test.iloc[[row]]).to_frame()
print("\n" + changes[["kind", "changes", "output"]].to_string(index=False))

# %% [markdown]
# ## All decisions
#
# Share of rows in which a feature is significant, corrected for the seven features of a row. The newsletter
# and the date play no part in how the table was made. Where they are significant nevertheless, the model has learnt
# them from its finite sample: contributions are about the model, not about the world. `size` is the mean absolute
# contribution, by which features are ranked; `value` is the signed mean.

# %%
overall = explanation.aggregate().to_frame().set_index("feature")
summary = overall[["size", "value", "share_significant"]].sort_values("size", ascending=False)
print("\n" + summary.round(2).to_string())

# %%
explanation.save(OUT / "credit.xcid")
assert np.array_equal(xcid.load(OUT / "credit.xcid").values, explanation.values)
