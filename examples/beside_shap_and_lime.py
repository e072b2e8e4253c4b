# %% [markdown]
# # Beside SHAP and LIME
#
# Three methods on the same model and rows of the Diabetes table. There is no true importance to compare with, so
# they are asked three things that can be measured: do they agree, do they repeat, and does the model's answer fall
# when the features that they rank first are taken away? Few rows, so that it runs in seconds: read the margins
# before the means. `docs/evaluation.md` has eight tables by four models.

# %%
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import xcid
import xcid_lab.baselines
from xcid.metrics import JointRows, comprehensiveness, feature_agreement, sufficiency
from xcid_lab.metrics import interval, paired

ROWS = 20
table = xcid.datasets.load_diabetes()
train, test, y_train, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
rows = test.iloc[:ROWS]
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(train, y_train)

methods: dict[str, Callable[..., xcid.Explanation]] = {
    "xcid": xcid.Explainer(model, train),
    "the paper's": xcid.Explainer.paper(model, train),
    "SHAP": xcid_lab.baselines.Shap(model, train, rows=50),
    "LIME": xcid_lab.baselines.Lime(model, train, samples=2_000),
    "chance": xcid_lab.baselines.Chance(model, train),
}
runs = {name: [explain(rows, seed=seed) for seed in (0, 1)] for name, explain in methods.items()}
# values of xcid are about the second class, and masking is about the predicted one
towards = np.where(model.predict(rows) == 1, 1, -1)[:, None]
scores = {name: two[0].values * (towards if name == "xcid" else 1) for name, two in runs.items()}

# %% [markdown]
# ## Do they agree?
#
# Share of the four features with the largest absolute scores that two methods have in common. Two random sets of
# four of eight features share half.

# %%
agreement = pd.DataFrame(
    {a: {b: feature_agreement(scores[a], scores[b], k=4).mean() for b in methods} for a in methods}
)
print("top four in common\n" + agreement.round(2).to_string())

# %% [markdown]
# ## Do they repeat, and what do they cost?
#
# Evaluations are the rows that the model is asked to predict. SHAP takes trees apart where it can and then asks for
# none.

# %%
costs = pd.DataFrame(
    {
        "two seeds, top four": {
            name: feature_agreement(first.values, second.values, k=4).mean() for name, (first, second) in runs.items()
        },
        "evaluations a row": {name: two[0].n_evaluations.mean() for name, two in runs.items()},
        "says how sure it is": {name: two[0].p_values is not None for name, two in runs.items()},
    }
)
print("\n" + costs.round(2).to_string())

# %% [markdown]
# ## Are they faithful?
#
# Comprehensiveness less sufficiency: how much faster the probability of the predicted class falls when the best
# features go first than when they go last. "Gone" has no one meaning: here it is the background's mean, and then
# the values of 30 background rows. Rankings are by signed score, which suits methods with a sign; the paper's has
# none and pays for it.

# %%
maskings: dict[str, Any] = {"mean": xcid.metrics.mean, "joint rows": JointRows(30)}
faithful = {
    (name, masking): comprehensiveness(model, rows, ranked, train, masking=how)
    - sufficiency(model, rows, ranked, train, masking=how)
    for name, ranked in scores.items()
    for masking, how in maskings.items()
}
print("\ncomprehensiveness less sufficiency, with two standard errors")
for name in methods:
    parts = [interval(faithful[name, masking]) for masking in maskings]
    print(f"  {name:<12}" + "".join(f"  {part.mean:+.3f} ± {part.margin:.3f}" for part in parts))

print("\nxcid less the other method, row by row")
for name in methods:
    if name != "xcid":
        parts = [paired(faithful["xcid", masking], faithful[name, masking]) for masking in maskings]
        print(f"  {name:<12}" + "".join(f"  {part.mean:+.3f} ± {part.margin:.3f}" for part in parts))

# %% [markdown]
# A difference within its margin is no difference, and a lead under one masking is none under another. Converged
# SHAP and xcid are close: both give Shapley values, which add up to the output. xcid adds limits and p-values where it
# samples, and a second number, the importance, for what the decision hangs on.

# %%
assert all(np.isfinite(part).all() for part in faithful.values())
