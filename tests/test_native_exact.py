"""Exact values are those of all coalitions with all reference rows, counted out on the model's own predictions."""

from __future__ import annotations

import ctypes
import itertools
import math
import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR, LinearSVR
from sklearn.tree import DecisionTreeClassifier
from tests.test_model_changes import WEIGHTED
from tests.test_native_tables import LEVELS, NUMBERS, fitted, frame, lightgbm, targets, xgboost

import xcid
from xcid.native import library, read, shapley, terms
from xcid.native.ensemble import Ensemble, Tree, double
from xcid.native.models import Alone, first
from xcid.native.seen import Columns, Seen
from xcid.native.shapley import Exact
from xcid.native.trees import Trees

N_COLUMNS = 5
ALONE = tuple((column,) for column in range(N_COLUMNS))
GROUPED = ((0, 3), (4,), (1, 2))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if not any(map(shutil.which, library.COMPILERS)):
        pytest.skip("there is no C compiler")
    return library.declared(ctypes.CDLL(str(library.build(tmp_path_factory.mktemp("built") / "both.so"))))


@pytest.fixture(params=["numpy", "compiled", "compiled, nothing kept"])
def form(request, monkeypatch):
    found = None if request.param == "numpy" else request.getfixturevalue("compiled")
    monkeypatch.setattr(shapley, "whole", lambda: found)
    if "nothing" in request.param:
        monkeypatch.setattr(shapley, "Compiled", partial(terms.Compiled, most_bytes=0))


def worths(ask, rows, background, shares, players):
    """The (n, q) mean outputs of rows that keep some players, by these."""
    sizes = range(len(players) + 1)
    coalitions = [frozenset(some) for size in sizes for some in itertools.combinations(range(len(players)), size)]
    mixed = np.tile(background, (len(rows), len(coalitions), 1, 1))
    for at, some in enumerate(coalitions):
        own = [column for player in some for column in players[player]]
        mixed[:, at, :, own] = rows.T[own][:, :, None]
    answers = ask(mixed.reshape(-1, background.shape[1])).reshape(*mixed.shape[:3], -1)
    return dict(zip(coalitions, np.moveaxis(np.einsum("ncrq,r->ncq", answers, shares), 1, 0), strict=True))


def counted_out(ask, rows, background, shares, players):
    """(n, f, q) Shapley values, from the definition."""
    worth = worths(ask, rows, background, shares, players)
    values = np.zeros((len(rows), len(players), worth[frozenset()].shape[-1]))
    for some, player in itertools.product(worth, range(len(players))):
        if player not in some:
            share = 1 / (len(players) * math.comb(len(players) - 1, len(some)))
            values[:, player] += share * (worth[some | {player}] - worth[some])
    return values


def pairs_counted_out(ask, rows, background, shares, players):
    """(n, f, f, q) Shapley interaction indices, from the definition."""
    worth, size = worths(ask, rows, background, shares, players), len(players)
    values = np.zeros((len(rows), size, size, worth[frozenset()].shape[-1]))
    for some, (one, other) in itertools.product(worth, itertools.permutations(range(size), 2)):
        if one not in some and other not in some:
            share = 1 / ((size - 1) * math.comb(size - 2, len(some)))
            both, alone = worth[some | {one, other}], worth[some | {one}] + worth[some | {other}]
            values[:, one, other] += share * (both - alone + worth[some])
    return values


def gap(exact, ask, rows, background, weights, players, tolerance):
    """How far values are from the definition, and sums from the outputs; pairs are within the tolerance."""
    shares = (np.ones(len(background)) if weights is None else weights) / np.sum(
        len(background) if weights is None else weights
    )
    values, base = exact(rows)
    wanted = counted_out(ask, rows, background, shares, players)
    change = np.eye(values.shape[2])
    if exact.scale == "margins":  # known up to what is common to all classes
        change = change - 1 / values.shape[2]
    values, wanted, base, outputs = values @ change, wanted @ change, base @ change, ask(rows) @ change
    assert np.ptp(wanted) > 0
    assert values.shape == wanted.shape
    pairs = exact.pairs(rows) @ change - pairs_counted_out(ask, rows, background, shares, players) @ change
    assert np.abs(pairs).max(initial=0.0) <= tolerance
    return max(np.abs(values - wanted).max(), np.abs(base + values.sum(axis=1) - outputs).max())


def on_scale(model, scale):
    """The model's own outputs, on the scale."""
    if scale == "number":
        return lambda rows: model.predict(rows).reshape(len(rows), -1)
    if scale == "probability":
        return model.predict_proba
    if scale == "margins" and "xgboost" in type(model).__module__:
        return lambda rows: model.predict(rows, output_margin=True).astype(float)
    if scale == "margins":
        return lambda rows: np.log(model.predict_proba(rows))

    def log_odds(rows):
        if "xgboost" in type(model).__module__:
            return model.predict(rows, output_margin=True).astype(float)[:, None]
        shares = model.predict_proba(rows)
        return np.log(shares[:, 1:]) - np.log(shares[:, :1])

    return log_odds


def catboost(name, **settings):
    made = getattr(pytest.importorskip("catboost"), name)
    return made(iterations=12, verbose=0, thread_count=1, allow_writing_files=False, **settings)


def additive(name):
    glassbox = pytest.importorskip("interpret.glassbox")
    return getattr(glassbox, name)(interactions=0, outer_bags=2, max_rounds=30, n_jobs=1)


MODELS = {
    "tree": (2, "probability", lambda: DecisionTreeClassifier(random_state=0)),
    "stump": (3, "probability", lambda: DecisionTreeClassifier(max_depth=1, random_state=0)),
    "forest": (2, "probability", lambda: RandomForestClassifier(9, random_state=0)),
    "forest, classes": (3, "probability", lambda: RandomForestClassifier(9, min_samples_leaf=3, random_state=0)),
    "forest, numbers": (0, "number", lambda: RandomForestRegressor(5, random_state=0)),
    "extra trees": (2, "probability", lambda: ExtraTreesClassifier(7, max_depth=25, random_state=0)),
    "bagging": (0, "number", lambda: BaggingRegressor(n_estimators=6, max_features=0.6, random_state=0)),
    "votes": (2, "probability", lambda: VotingClassifier(
        [("a", RandomForestClassifier(4, random_state=0)), ("b", DecisionTreeClassifier(max_depth=3, random_state=1))],
        voting="soft", weights=[1, 3])),
    "boosting": (2, "log_odds", lambda: GradientBoostingClassifier(n_estimators=9, random_state=0)),
    "exponential loss": (2, "log_odds", lambda: GradientBoostingClassifier(
        n_estimators=9, loss="exponential", random_state=0)),
    "boosting, classes": (3, "margins", lambda: GradientBoostingClassifier(n_estimators=5, random_state=0)),
    "boosting, numbers": (0, "number", lambda: GradientBoostingRegressor(n_estimators=9, random_state=0)),
    "adaptive": (2, "log_odds", lambda: AdaBoostClassifier(n_estimators=6, random_state=0, **WEIGHTED)),
    "histograms": (2, "log_odds", lambda: HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5)),
    "histograms, classes": (3, "margins", lambda: HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=5)),
    "histograms, numbers": (0, "number", lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=5)),
    "xgboost": (2, "log_odds", lambda: xgboost("XGBClassifier", max_depth=6)),
    "dart": (2, "log_odds", lambda: xgboost("XGBClassifier", booster="dart", rate_drop=0.3, max_depth=3)),
    "xgboost, numbers": (0, "number", lambda: xgboost("XGBRegressor", max_depth=4)),
    "xgboost, classes": (3, "margins", lambda: xgboost("XGBClassifier", max_depth=4)),
    "xgboost, forest": (2, "log_odds", lambda: xgboost("XGBRFClassifier", max_depth=5)),
    "xgboost, forest of numbers": (0, "number", lambda: xgboost("XGBRFRegressor", max_depth=5)),
    "lightgbm": (2, "log_odds", lambda: lightgbm("LGBMClassifier")),
    "lightgbm, classes": (3, "margins", lambda: lightgbm("LGBMClassifier")),
    "lightgbm, numbers": (0, "number", lambda: lightgbm("LGBMRegressor")),
    "catboost": (2, "log_odds", lambda: catboost("CatBoostClassifier", depth=4)),
    "catboost, numbers": (0, "number", lambda: catboost("CatBoostRegressor", grow_policy="Lossguide")),
    "catboost, classes": (3, "margins", lambda: catboost("CatBoostClassifier", depth=3)),
    "additive": (2, "log_odds", lambda: additive("ExplainableBoostingClassifier")),
    "additive, classes": (3, "margins", lambda: additive("ExplainableBoostingClassifier")),
    "additive, numbers": (0, "number", lambda: additive("ExplainableBoostingRegressor")),
    "discriminant": (2, "log_odds", lambda: LinearDiscriminantAnalysis()),
    "discriminant, classes": (3, "margins", lambda: LinearDiscriminantAnalysis()),
    "support": (0, "number", lambda: LinearSVR(random_state=0)),
    "support, kernel": (0, "number", lambda: SVR(kernel="linear")),
    "descent": (2, "log_odds", lambda: SGDClassifier(loss="log_loss", random_state=0)),
    "logistic": (2, "log_odds", lambda: make_pipeline(StandardScaler(), LogisticRegression())),
    "softmax": (3, "margins", lambda: LogisticRegression()),
    "least squares": (0, "number", lambda: make_pipeline(StandardScaler(), LinearRegression())),
    "naive bayes": (2, "log_odds", lambda: GaussianNB()),
}  # fmt: skip
COMPLETE = ("boosting", "exponential", "adaptive", "logistic", "softmax", "least", "naive", "bagging")
COMPLETE += ("discriminant", "support", "descent")
if sklearn.__version__.startswith("1.5."):
    COMPLETE += ("extra trees",)  # they take missing cells from 1.6 on


@pytest.mark.filterwarnings("ignore:Missing values detected:UserWarning")  # by interpret, about its pictures
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("players", [ALONE, GROUPED], ids=["alone", "grouped"])
def test_values_are_those_of_all_coalitions(name, players, form):
    n_classes, scale, make = MODELS[name]
    random = np.random.default_rng(len(name))
    cells = random.normal(size=(150, N_COLUMNS)).round(2)
    number = cells[:, 0] * cells[:, 1] + cells[:, 2] + np.sin(3 * cells[:, 3]) + random.normal(size=150)
    y = np.digitize(number, np.quantile(number, np.arange(1, n_classes) / n_classes)) if n_classes else number
    if not name.startswith(COMPLETE):
        cells = np.where(random.random(cells.shape) < 0.1, np.nan, cells)
    model = fitted(make(), cells, y)
    background, rows = cells[:23], cells[100:104]
    weights = random.integers(1, 4, len(background)) / 2.0 if players is GROUPED else None
    native = read(model, [f"x{at}" for at in range(N_COLUMNS)])
    exact = Exact.of(native, background, weights, players)
    assert exact.scale == scale
    tolerance = 1e-6 if name.startswith(("xgboost", "dart")) else 1e-9
    assert gap(exact, on_scale(model, scale), rows, background, weights, players, 4 * tolerance) <= tolerance


def encoded(model):
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), LEVELS), (StandardScaler(), ["n0", "n2"]), remainder="passthrough"
        ),
        model,
    )


TABLES = {
    "histograms": lambda: HistGradientBoostingClassifier(
        max_iter=12, min_samples_leaf=5, categorical_features="from_dtype"
    ),
    "lightgbm": lambda: lightgbm("LGBMClassifier"),
    "lightgbm, one by one": lambda: lightgbm("LGBMClassifier", max_cat_to_onehot=9),
    "xgboost": lambda: xgboost("XGBClassifier", enable_categorical=True, max_depth=4, max_cat_to_onehot=1),
    "encoded forest": lambda: encoded(RandomForestClassifier(8, random_state=0)),
    "encoded logistic": lambda: encoded(LogisticRegression()),
}


@pytest.mark.parametrize("name", TABLES)
def test_levels_and_steps(name, form):
    table = frame(len(name), missing=0.0 if "logistic" in name else 0.1)
    model = fitted(TABLES[name](), table, targets(table))
    explainer = xcid.Explainer(model, table)
    predict, rows = explainer.subject.predict, explainer.space.rows
    players = tuple((column,) for column in range(len(NUMBERS) + len(LEVELS)))
    exact = Exact.of(predict.native, rows[:17], None, players)

    def ask(matrix):
        outputs = predict(matrix)
        return outputs if exact.scale == "probability" else np.log(outputs[:, 1:]) - np.log(outputs[:, :1])

    tolerance = 2e-6 if name == "xgboost" else 1e-9  # answers are in single precision, and log odds spread them
    assert gap(exact, ask, rows[60:63], rows[:17], None, players, 4 * tolerance) <= tolerance


def grown(random, n_columns, n_leaves, n_values, depth):
    """Any tree: columns repeat on a path, also with thresholds that nothing can pass, and some values are alike."""
    nodes, leaves, levels = [[-1, 0.0, -1, -1, False]], [0], {0: 0}
    while len(leaves) < n_leaves:
        above = [one for one in leaves if levels[one] < depth]
        if not above:
            break
        at = above[-1] if random.random() < 0.5 else int(random.choice(above))
        leaves.remove(at)
        size = len(nodes)
        nodes[at] = [random.integers(n_columns), round(random.normal(), 1), size, size + 1, random.random() < 0.5]
        for new in (size, size + 1):
            nodes.append([-1, 0.0, -1, -1, False])
            leaves.append(new)
            levels[new] = levels[at] + 1
    feature, threshold, left, right, missing = map(np.array, zip(*nodes, strict=True))
    value = (
        random.integers(3, size=(len(nodes), n_values)) if n_leaves % 2 else random.normal(size=(len(nodes), n_values))
    )
    return Tree(feature, threshold, left, right, missing, value.astype(float))


def native_of(trees, n_columns, n_sums):
    base = np.arange(n_sums) - 0.5
    core = Trees.of(Ensemble(tuple(trees), base, double, first), n_columns)
    order = np.arange(n_columns)
    return Alone(Seen(order, Columns(order), Columns(order)), core)


@pytest.mark.parametrize("depth", [1, 2, 5, 9, 25])
@pytest.mark.parametrize("seed", range(6))
def test_any_trees(seed, depth, form):
    random = np.random.default_rng([seed, depth])
    n_columns = int(random.integers(2, 9))
    n_values = int(random.integers(1, 4))
    owner = random.integers(0, n_columns, n_columns) if seed % 2 else np.arange(n_columns)
    players = tuple(tuple(np.flatnonzero(owner == player).tolist()) for player in np.unique(owner))
    cells = random.normal(size=(70, n_columns)).round(1)
    cells = np.where(random.random(cells.shape) < 0.15 * (seed % 3), np.nan, cells)
    sizes = (1, int(random.integers(2, 40)), int(random.integers(2, 90)))  # the first is constant
    native = native_of([grown(random, n_columns, size, n_values, depth) for size in sizes], n_columns, n_values)
    background = cells[: int(random.choice([1, 2, 17, 66]))]
    weights = random.random(len(background)) if seed % 3 else None
    exact = Exact.of(native, background, weights, players)
    assert gap(exact, native.outputs, cells[66:], background, weights, players, 1e-11) <= 1e-12


@pytest.mark.parametrize("n_columns", [40, 70])
def test_paths_of_many_players(n_columns, compiled, monkeypatch):
    """A chain that asks about one column after the other; above 63 levels NumPy's form does it."""
    random = np.random.default_rng(0)
    inner, leaves = np.arange(n_columns), np.full(n_columns + 1, -1)
    size = n_columns + len(leaves)
    feature = np.concatenate([inner, leaves])
    left = np.concatenate([inner + n_columns, leaves])
    right = np.concatenate([inner[1:], [size - 1], leaves])
    tree = Tree(feature, np.zeros(size), left, right, np.zeros(size, dtype=bool), random.normal(size=(size, 1)))
    native = native_of([tree], n_columns, 1)
    background, rows = random.normal(size=(2, 30, n_columns)) + 1.5
    found = []
    for library_ in (compiled, None):
        monkeypatch.setattr(shapley, "whole", lambda given=library_: given)
        values, base = Exact.of(native, background, None, [(at,) for at in range(n_columns)])(rows)
        assert np.abs(values.sum(axis=1) + base - native.outputs(rows)).max() <= 1e-12
        found.append(values)
    assert np.abs(found[0] - found[1]).max() <= 1e-13
    alike = background[:1]  # only these columns differ: the others are no players at all
    rows = np.where(np.arange(n_columns) % 16 == 0, rows, alike)
    values = Exact.of(native, alike, None, [(at,) for at in range(n_columns)])(rows)[0]
    some = np.arange(0, n_columns, 16)

    def ask(cells):
        full = np.repeat(alike, len(cells), axis=0)
        full[:, some] = cells
        return native.outputs(full)

    wanted = counted_out(ask, rows[:, some], alike[:, some], np.ones(1), [(at,) for at in range(len(some))])
    assert np.abs(values[:, some] - wanted).max() <= 1e-12
    assert not np.delete(values, some, axis=1).any()


X = np.random.default_rng(0).normal(size=(300, N_COLUMNS))
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
NAMES = [f"x{at}" for at in range(N_COLUMNS)]


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(loss="poisson", max_iter=3),
        PoissonRegressor(),
        SGDClassifier(loss="log_loss", random_state=0),
        VotingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())], voting="soft"),
        VotingClassifier([("a", LogisticRegression(C=0.1)), ("b", LogisticRegression())], voting="soft"),
    ],
    ids=["counts", "generalised", "one against all others", "mixed votes", "votes of log odds"],
)
def test_models_that_do_not_add_up(model):
    y = np.digitize(X[:, 0], [-0.5, 0.5]) if isinstance(model, SGDClassifier) else Y
    native = read(fitted(model, X, y), NAMES)
    assert native is not None
    assert Exact.of(native, X, None, ALONE) is None


def test_too_much_work(monkeypatch, form):
    native = read(RandomForestClassifier(3, random_state=0).fit(X, Y), NAMES)
    assert Exact.of(native, X, None, ALONE) is not None
    with monkeypatch.context() as few:
        few.setattr(shapley, "MOST_DEEP", 0)
        assert (Exact.of(native, X, None, ALONE) is None) == (shapley.whole() is not None)
        shallow = read(RandomForestClassifier(3, max_depth=shapley.SHALLOW, random_state=0).fit(X, Y), NAMES)
        assert Exact.of(shallow, X, None, ALONE) is not None
    monkeypatch.setattr(shapley, "MOST_WORK", 1_000)
    monkeypatch.setattr(shapley, "MOST_PLAIN_WORK", 1_000)
    assert Exact.of(native, X, None, ALONE) is None
    assert Exact.of(read(LogisticRegression().fit(X, Y), NAMES), X, None, ALONE) is not None


def test_copies_and_threads_give_the_same(form):
    native = read(RandomForestClassifier(5, random_state=0).fit(X, Y), NAMES)
    exact = Exact.of(native, X, None, ALONE)
    with ThreadPoolExecutor(4) as pool:  # before anything is prepared
        found = list(pool.map(lambda at: exact(X[at : at + 20])[0], range(0, 300, 20)))
    again, base = pickle.loads(pickle.dumps(exact))(X)
    assert np.abs(np.concatenate(found) - again).max() <= 1e-14
    assert np.array_equal(base, exact(X[:0])[1])
    assert exact(X[:0])[0].shape == (0, N_COLUMNS, 2)


def test_damaged_trees_are_refused(compiled):
    """Readers let none through; the library would not go astray in one all the same."""
    core = read(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y), NAMES).core
    reference = terms.Reference(X, np.full(len(X), 1 / len(X)), np.arange(N_COLUMNS), N_COLUMNS, 1)
    terms.Compiled(compiled, core.walk, reference)
    size = len(core.walk.left)
    is_inner = core.walk.left != np.arange(size)
    cycle = np.where(is_inner & (np.arange(size) > 0), 0, core.walk.left)
    for damaged in (
        {"left": cycle},
        {"right": core.walk.right + 10**6},
        {"left": core.walk.left - 10**6},
        {"feature": core.walk.feature + N_COLUMNS},
        {"feature": core.walk.feature - N_COLUMNS},
        {"slot": core.walk.slot + 1},
        {"slot": core.walk.slot - 1},
        {"roots": core.walk.roots + size},
    ):
        with pytest.raises(ValueError, match="damaged"):
            terms.Compiled(compiled, replace(core.walk, **damaged), reference)
    for player in (np.arange(N_COLUMNS) + N_COLUMNS, np.arange(N_COLUMNS) - N_COLUMNS):
        with pytest.raises(ValueError, match="damaged"):
            terms.Compiled(compiled, core.walk, replace(reference, player=player))
