"""Counterfactuals of the what-if search: what is found flips, is as small as it can be, and is told in words."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.cid.generators.reach import Metric
from xcid.errors import InvalidParameter, ModelError
from xcid.outcomes import Lower, Raise, Within
from xcid.show.report.evidence import list_changes_found
from xcid.show.report.page import find_values
from xcid.whatif.actions import find_actions
from xcid.whatif.search_space import SearchSpace

RNG = np.random.default_rng(8)
N = 300
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "city": np.array(["Bern", "Lyon", "Oslo"])[RNG.integers(0, 3, N)],
        "pay": np.where(RNG.random(N) < 0.3, np.nan, RNG.normal(3, 1, N).round(2)),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "size": RNG.normal(10, 3, N).round(1),
    }
)
COLUMNS = ["row", "kind", "changes", "n_changes", "distance", "output", "was", "about", "plausibility", "likeness"]
COLUMNS += ["proof", "bound", "survival", "contrary", "way_unknown", "among"]
NUMBERS = RNG.normal(size=(300, 5))
DIABETES = xcid.datasets.load_diabetes()


def decide(frame):
    late = frame["since"] > pd.Timestamp("2021-06-01")
    return (frame["age"] > 50).astype(int) + (frame["city"] == "Oslo") + frame["pay"].isna() + late >= 2


def three(X):
    raw = np.exp(np.column_stack([X[:, 0], X[:, 1] + X[:, 2], -X[:, 0] + 0.5 * X[:, 3]]))
    return raw / raw.sum(axis=1, keepdims=True)


def price(X):
    return 100 + 10 * X[:, 0] - 5 * X[:, 1] + 3 * X[:, 2] * X[:, 3]


class Forest:
    """Of whole numbers that is fitted once."""

    rows = DIABETES.data
    model = RandomForestClassifier(60, random_state=0).fit(rows, DIABETES.target)


@pytest.fixture(scope="module")
def people():
    return xcid.Explainer(decide, PEOPLE)


@pytest.fixture(scope="module")
def forest():
    return xcid.Explainer(Forest.model, Forest.rows)


@pytest.fixture(scope="module")
def found(forest):
    return forest.counterfactuals(Forest.rows.iloc[:60])


def taken_back(found):
    """Every row of a record with one of its changes taken back, and the line it comes from."""
    rows, lines = [], []
    for line, at in zip(*np.nonzero(found.moved), strict=True):
        row = found.rows[line].copy()
        row[list(found.features[at])] = found.data[found.row[line]][list(found.features[at])]
        rows.append(row)
        lines.append(line)
    return np.array(rows), np.array(lines)


class TestWhatIsFound:
    def test_every_line_has_another_class_when_the_model_is_asked_again(self, found):
        assert found.reached.all()
        assert np.all(Forest.model.predict(found.table()) != Forest.model.predict(Forest.rows.iloc[found.row]))

    def test_no_change_can_be_taken_back(self, found):
        rows, lines = taken_back(found)
        before = Forest.model.predict(Forest.rows.iloc[found.row[lines]])
        assert len(rows) > len(found)
        assert np.all(Forest.model.predict(found.decode(rows)) == before)

    def test_outputs_are_those_of_the_model(self, found):
        column = [list(Forest.model.classes_.astype(str)).index(name) for name in found.about]
        line = np.arange(len(found))
        assert np.allclose(found.output, Forest.model.predict_proba(found.table())[line, column])
        assert np.allclose(found.was, Forest.model.predict_proba(Forest.rows.iloc[found.row])[line, column])

    def test_distances_are_those_of_the_metric(self, forest, found):
        due = Metric.of(forest.space).between(found.rows, found.data[found.row])
        assert np.allclose(found.distance, due)

    def test_kinds_say_what_they_are(self, found):
        for row in range(len(found.data)):
            lines = np.flatnonzero(found.row == row)
            assert 1 <= len(lines) <= 3
            for line in lines:
                assert ("sparsest" in found.kind[line]) <= (found.n_changes[line] == found.n_changes[lines].min())
                is_least = found.distance[line] == found.distance[lines].min() or found.among[line] == "usual ways"
                assert ("nearest" in found.kind[line]) <= is_least
            own_ways = [line for line in lines if found.kind[line] != "likeliest"]
            assert len({tuple(moved) for moved in found.moved[own_ways]}) == len(own_ways)
            assert len({tuple(cells) for cells in found.rows[lines]}) == len(lines)

    def test_one_of_three_is_nearer_to_real_rows(self, found):
        likeliest, sparsest = (np.char.find(found.kind, kind) >= 0 for kind in ("likeliest", "sparsest"))
        assert np.array_equal(found.row[likeliest], np.arange(60))
        assert found.plausibility[likeliest].mean() < 0.6 * found.plausibility[sparsest].mean()

    def test_a_row_gets_the_same_alone_and_in_a_batch(self, forest, found):
        alone = forest.counterfactuals(Forest.rows.iloc[[17]])
        lines = found.row == 17
        assert np.array_equal(alone.rows, found.rows[lines])
        assert np.allclose(alone.shares, found.shares[lines])
        assert alone.kind.tolist() == found.kind[lines].tolist()

    def test_k_is_how_many(self, forest):
        few, many = (forest.counterfactuals(Forest.rows.iloc[:10], k=k) for k in (1, 5))
        assert np.array_equal(few.row, np.arange(10))
        assert np.bincount(many.row).max() == 5


class TestShares:
    def test_they_sum_to_the_change_of_the_output(self, found):
        assert np.allclose(found.shares.sum(axis=1), found.output - found.was)
        assert np.all((found.shares != 0) <= found.moved)

    def test_of_two_changes_they_are_the_mean_over_both_orders(self, forest, found):
        line = int(np.flatnonzero(found.n_changes == 2)[0])
        own, new = found.data[found.row[line]], found.rows[line]
        first, second = np.flatnonzero(found.moved[line])
        mixed = np.tile(own, (4, 1))
        mixed[1, first], mixed[2, second], mixed[3] = new[first], new[second], new
        column = forest.subject.output_names.index(str(found.about[line]))
        none, one, other, both = forest.subject.predict(mixed)[:, column]
        assert found.shares[line, first] == pytest.approx(((one - none) + (both - other)) / 2)
        assert found.shares[line, second] == pytest.approx(((other - none) + (both - one)) / 2)
        assert found.order[line, first] == (1 if one >= other else 2)

    def test_the_path_ends_at_the_output(self, found):
        last = found.order == found.n_changes[:, None]
        assert np.allclose(found.path[last & found.moved], found.output)
        assert np.array_equal(np.isnan(found.path), ~found.moved)

    def test_many_changes_are_sampled(self):
        """A model that wants all of twelve features changed: by symmetry the shares are equal."""
        explainer = xcid.Explainer(lambda X: 10 + X.sum(axis=1), np.tile([[0.0], [1.0]], (50, 12)))
        found = explainer.counterfactuals(np.zeros((1, 12)), target=Within(low=22))
        assert found.n_changes.tolist() == [12]
        assert np.allclose(found.shares, 1)
        assert sorted(found.order[0]) == list(range(1, 13))


class TestTargets:
    def test_a_class_by_name_and_by_label(self):
        labels = np.where(DIABETES.target == 1, "ill", "well")
        model = LogisticRegression(max_iter=1000).fit(DIABETES.data, labels)
        rows = DIABETES.data.iloc[:20]
        found = xcid.Explainer(model, DIABETES.data).counterfactuals(rows, target="well", k=1)
        there = model.predict(rows) == "well"
        assert np.array_equal(found.kind == "already there", there)
        assert np.all(model.predict(found.table()) == "well")
        assert set(found.about) == {"well"}
        named = xcid.Explainer(model, DIABETES.data, class_names=["sick", "healthy"])
        for target in ("healthy", "well"):
            assert np.array_equal(named.counterfactuals(rows, target=target, k=1).rows, found.rows)

    @pytest.mark.parametrize("target", ["0", "1", "2"])
    def test_of_several_classes(self, target):
        explainer = xcid.Explainer(three, NUMBERS)
        found = explainer.counterfactuals(NUMBERS[:30], target=target)
        assert found.reached.all()
        assert np.all(three(found.rows).argmax(axis=1) == int(target))

    def test_any_other_class_says_which(self):
        found = xcid.Explainer(three, NUMBERS).counterfactuals(NUMBERS[:30])
        after = three(found.rows).argmax(axis=1)
        assert np.all(after != three(NUMBERS[found.row]).argmax(axis=1))
        assert np.array_equal(found.about, after.astype(str))

    @pytest.mark.parametrize(
        ("target", "due"),
        [
            ("raise", lambda new, old: new >= 1.1 * old),
            ("lower", lambda new, old: new <= 0.9 * old),
            (Raise(by=0.2), lambda new, old: new >= 1.2 * old),
            (Lower(by=0.05), lambda new, old: new <= 0.95 * old),
            (Within(120, 125), lambda new, old: (new >= 120) & (new <= 125)),
            (Within(high=90), lambda new, old: new <= 90),
            (None, lambda new, old: abs(new - old) > 0),
        ],
        ids=lambda value: None if callable(value) else str(value),
    )
    def test_numbers(self, target, due):
        found = xcid.Explainer(price, NUMBERS).counterfactuals(NUMBERS[:30], target=target)
        assert found.reached.mean() > 0.9
        new, old = price(found.rows), price(NUMBERS[found.row])
        assert np.all(due(new, old)[found.reached])
        assert np.allclose(found.output, new)
        assert np.array_equal(found.about == "higher", new > old)
        assert np.array_equal(found.about == "lower", new < old)

    def test_a_number_that_is_there_already_moves_nowhere(self):
        row = NUMBERS[price(NUMBERS).argmax()][None]
        found = xcid.Explainer(price, NUMBERS).counterfactuals(row, target=Within(float(np.median(price(NUMBERS)))))
        assert found.to_frame()[["kind", "about"]].to_numpy().tolist() == [["already there", ""]]
        assert f"{price(row)[0]:.4g}" in str(found)
        assert "output" in list_changes_found(found, 0, find_values("shown"))[0]
        assert not {"was", "output"} & set(list_changes_found(found, 0, find_values("hidden"))[0])

    def test_a_probability(self, forest):
        found = forest.counterfactuals(Forest.rows.iloc[:10], target=Within(0.8, target=1))
        assert np.all(Forest.model.predict_proba(found.table())[found.reached, 1] >= 0.8)
        assert found.reached.any()

    def test_the_question_of_the_explainer(self):
        explainer = xcid.Explainer(price, NUMBERS, outcome=xcid.outcomes.Within(high=95))
        found = explainer.counterfactuals(NUMBERS[:20])
        assert np.all((price(found.rows) <= 95) != (price(NUMBERS[found.row]) <= 95))

    @pytest.mark.parametrize("target", ["ill", 3, "raise", Raise(), Within(0.7, target="x"), [1], object()])
    def test_bad_ones_name_the_classes(self, forest, target):
        with pytest.raises(InvalidParameter, match=r"no class of this model: use one of \['0', '1'\]"):
            forest.counterfactuals(Forest.rows.iloc[:1], target=target).to_frame()

    @pytest.mark.parametrize("target", ["sideways", 1, Raise(target="x")])
    def test_bad_ones_of_a_regression(self, target):
        with pytest.raises(InvalidParameter, match=r"does not fit a regression: use 'raise', 'lower'"):
            xcid.Explainer(price, NUMBERS).counterfactuals(NUMBERS[:1], target=target).to_frame()

    @pytest.mark.parametrize("make", [lambda: Raise(by=-1), lambda: Lower(by="a"), lambda: Within(2, 1)])
    def test_bad_goals(self, make):
        with pytest.raises(InvalidParameter):
            make()

    @pytest.mark.parametrize("k", [0, 1.5, "a"])
    def test_bad_k(self, forest, k):
        with pytest.raises(InvalidParameter, match="k must be"):
            forest.counterfactuals(Forest.rows.iloc[:1], k=k).to_frame()


class TestRowsThatCannot:
    def test_be_flipped_say_so_with_the_best_that_was_reached(self):
        frozen = xcid.Constraints(frozen=["a"])
        explainer = xcid.Explainer(price, NUMBERS, constraints=frozen, feature_names=list("abcde"))
        found = explainer.counterfactuals(NUMBERS[:5], target=Within(low=1_000))
        assert found.kind.tolist() == ["not reached"] * 5
        assert np.all(found.output > found.was)
        assert not found.moved[:, 0].any()

    def test_be_flipped_do_not_disturb_the_others(self):
        explainer = xcid.Explainer(price, NUMBERS)
        target = Within(low=float(np.quantile(price(NUMBERS), 0.99)))
        found = explainer.counterfactuals(NUMBERS[:40], target=target, k=1)
        assert np.array_equal(found.row, np.arange(40))

    @pytest.mark.parametrize("bad", [3, [1, 3, 5]])
    def test_be_asked_about_have_a_line_of_their_own(self, bad):
        def fragile(X):
            if np.isin(X[:, 4], NUMBERS[bad, 4]).any() and len(X) < 200:
                raise RuntimeError("no")
            return (X[:, 0] + X[:, 1] > 0).astype(float)

        found = xcid.Explainer(fragile, NUMBERS).counterfactuals(NUMBERS[:6], k=1)
        assert np.array_equal(found.row, np.arange(6))
        assert np.array_equal(np.flatnonzero(found.kind == "failed"), np.atleast_1d(bad))

    def test_a_model_that_always_fails_is_an_error(self):
        def broken(X):
            if len(X) < 200:
                raise RuntimeError("no")
            return X[:, 0]

        explainer = xcid.Explainer(broken, NUMBERS)
        with pytest.raises(ModelError, match="the model failed on"):
            explainer.counterfactuals(NUMBERS[:2]).to_frame()


class TestWords:
    def test_columns(self, people):
        frame = people.counterfactuals(PEOPLE.iloc[:3]).to_frame()
        assert list(frame.columns) == COLUMNS
        assert set(frame["row"]) == {0, 1, 2}

    def test_changes_of_every_kind_of_cell(self, people):
        row = PEOPLE.iloc[:1].assign(age=30, city="Lyon", pay=np.nan, since=pd.Timestamp("2020-03-01"))
        words = " ".join(people.counterfactuals(row, k=6).to_frame()["changes"])
        assert "city Lyon -> Oslo" in words
        assert "age 30 -> 51" in words
        assert "since 2020-03-01 -> 2021-06-02" in words

    @pytest.mark.parametrize("backend", ["polars", "pyarrow"])
    def test_other_libraries(self, people, backend):
        made = people.counterfactuals(PEOPLE.iloc[:2]).to_frame(backend)
        frame = made if backend == "polars" else pl.from_arrow(made)
        assert frame.columns == COLUMNS
        assert frame["changes"].to_list() == people.counterfactuals(PEOPLE.iloc[:2]).to_frame()["changes"].tolist()

    def test_code_makes_the_changes(self, people):
        found = people.counterfactuals(PEOPLE.iloc[:8])
        for line in range(len(found)):
            names: dict[str, object] = {}
            exec(found.code(line), names)
            row = names["row"].astype(PEOPLE.dtypes.to_dict())
            pd.testing.assert_frame_equal(row, found.table().iloc[[line]].reset_index(drop=True))
            assert found.code(line).count("\n") == 2 + found.n_changes[line]

    def test_changes_one_by_one(self, found):
        line = int(np.argmax(found.n_changes))
        parts = found.changes(line)
        assert len(parts) == found.n_changes[line] > 1
        assert parts[-1].output == found.output[line]
        assert ", ".join(f"{part.feature} {part.before} -> {part.after}" for part in parts) == found.in_words(line)

    def test_features_that_people_cannot_change_are_noted(self, forest, caplog):
        with caplog.at_level("INFO", logger="xcid"):
            found = forest.counterfactuals(Forest.rows.iloc[:60])
        assert any("frozen=['Age']" in note for note in found.notes)
        assert [record.levelname for record in caplog.records if "Age changes in" in record.message] == ["INFO"]
        assert str(found).count("Age changes in") == 1
        fixed = xcid.Explainer(Forest.model, Forest.rows, constraints=xcid.Constraints(frozen=["Age"]))
        assert fixed.counterfactuals(Forest.rows.iloc[:60]).notes == ()
        rising = xcid.Explainer(Forest.model, Forest.rows, constraints=xcid.Constraints(monotone={"Age": "rises"}))
        assert rising.counterfactuals(Forest.rows.iloc[:60]).notes == ()


class TestPlausibleValues:
    def test_a_blood_pressure_of_0_is_never_proposed_and_an_insulin_of_0_only_to_rows_like_those(self, found):
        """0 stands for a missing value: rare for the pressure, in half of the rows for insulin."""
        names, before = list(DIABETES.feature_names), found.data[found.row]
        for name in ("BloodPressure", "Glucose", "BMI"):
            at = names.index(name)
            assert not np.any((found.rows[:, at] == 0) & (before[:, at] != 0)), name
        pregnancies = names.index("Pregnancies")
        others = xcid.Constraints(frozen=["Glucose", "BMI", "Age", "Insulin"])
        many = xcid.Explainer(Forest.model, Forest.rows, constraints=others).counterfactuals(Forest.rows[:200], k=3)
        new = (many.rows == 0) & (many.data[many.row] != 0)
        assert new[:, pregnancies].any()  # a count of 0 is no code

    def test_a_common_code_is_proposed_to_rows_like_those_that_have_it_alone(self):
        """999 days stand for customers who were never called, all of them new ones."""
        is_new = RNG.random(400) < 0.5
        table = pd.DataFrame({
            "days": np.where(is_new, 999, RNG.integers(1, 200, 400)),
            "visits": np.where(is_new, RNG.integers(0, 3, 400), RNG.integers(20, 60, 400)),
            "bought": np.where(is_new, 0, RNG.integers(5, 40, 400)),
        })  # fmt: skip
        explainer = xcid.Explainer(lambda frame: frame["days"] > 500, table)
        old = table[~is_new].iloc[:20]
        assert set(explainer.counterfactuals(old).kind) == {"not reached"}
        like_new = old.assign(visits=1, bought=0)
        found = explainer.counterfactuals(like_new, k=1)
        assert found.reached.all()
        assert set(found.rows[:, 0]) == {999}
        allowed = xcid.Explainer(
            explainer.subject.model, table, constraints=xcid.Constraints(ranges={"days": (0, 999)})
        )
        assert allowed.counterfactuals(old).reached.all()

    def test_numbers_stay_on_their_lattice_and_in_their_range(self, found):
        rows = found.rows[:, list(DIABETES.feature_names).index("BMI")]
        assert np.allclose(rows, rows.round(1))
        assert np.all(found.rows <= DIABETES.data.to_numpy().max(axis=0))

    def test_a_number_of_few_values_takes_no_others(self):
        table = pd.DataFrame({"thal": RNG.choice([3, 6, 7], 200), "x": RNG.normal(size=200)})
        explainer = xcid.Explainer(lambda frame: frame["thal"] + 0.1 * frame["x"] > 4.5, table)
        found = explainer.counterfactuals(table.iloc[:40])
        assert set(found.rows[:, 0]) <= {3, 6, 7}

    def test_likeness_is_in_words(self, found):
        assert set(found.likeness) <= {"like real rows", "rare among real rows", "unlike any reference row"}
        for name in ("0", "1"):
            far = found.plausibility[(found.likeness == "unlike any reference row") & (found.about == name)]
            near = found.plausibility[(found.likeness == "like real rows") & (found.about == name)]
            assert near.max(initial=0) < far.max(initial=np.inf)
        assert (found.likeness == "like real rows").mean() > 0.5

    def test_plausibility_is_the_distance_to_the_nearest_row_of_that_class(self, forest, found):
        answers = Forest.model.predict(Forest.rows).astype(str)
        metric = Metric.of(forest.space)
        for line in range(0, len(found), 7):
            real = Forest.rows.to_numpy()[answers == found.about[line]]
            assert found.plausibility[line] == pytest.approx(metric.between(real, found.rows[line]).min())


class TestInWords:
    def test_a_record_is_one_line_and_prints_as_a_table(self, found):
        assert repr(found) == f"<xcid.whatif.Counterfactuals: {len(found)} lines; 60 of 60 rows reach the target>"
        lines = str(found).splitlines()
        assert lines[0] == repr(found)
        assert lines[1].split() == ["row", "kind", "changes", "output", "likeness", "proof", "survival"]
        first = f"class {found.about[0]} {found.was[0]:.2f} -> {found.output[0]:.2f}"
        for said in (found.kind[0], found.in_words(0), first, found.likeness[0]):
            assert lines[2].index(said) == lines[1].index(
                {found.kind[0]: "kind", found.in_words(0): "changes", first: "output"}.get(said, "likeness")
            )
        assert lines[22] == f"(and {len(found) - 20} more lines: found.to_frame())"
        assert lines[23].startswith("survival: ")
        assert lines[24:] == list(found.notes)
        page = found._repr_html_()
        assert page.count("<tr>") == 21
        assert found.in_words(0).replace(">", "&gt;") in page

    def test_a_regression_and_a_row_that_fails(self):
        def fails_above_4(X):
            if np.any(X[:, 0] > 4):
                raise ValueError("too large")
            return price(X)

        rows = np.vstack([NUMBERS[:1], NUMBERS[1:2] + np.eye(5)[0] * 9])
        found = xcid.Explainer(fails_above_4, NUMBERS).counterfactuals(rows, target="raise", k=1)
        assert f"{found.was[0]:.4g} -> {found.output[0]:.4g}" in str(found)
        assert "1 of 2 rows reach the target" in repr(found)
        assert "1    failed" in str(found)

    def test_actions(self, forest):
        subject, outcome = forest.subject, forest.setup.outcome
        made = find_actions(subject, outcome, forest.space.encode(Forest.rows.iloc[:80]), "0", k=3)
        frame, lines = made.to_frame(), str(made).splitlines()
        assert repr(made) == lines[0]
        assert lines[0].endswith(f"3 actions that flip {made.flips.any(axis=0).sum()} of {made.flips.shape[1]} rows>")
        assert lines[2].startswith(frame["action"][0])
        assert lines[1 + len(frame)].endswith(f"{frame['covered'].iloc[-1]:.0%}")
        assert any(line.startswith("covered: ") for line in lines)


class TestMissingCells:
    """Whoever fills a missing cell proposes what is usual there, and no more than the flip needs."""

    n = 400
    table = pd.DataFrame({
        "income": RNG.lognormal(10.6, 0.5, n).round(0),
        "debt": RNG.gamma(2, 5000, n).round(0),
        "age": RNG.integers(18, 80, n),
        "city": RNG.choice(["Bern", "Lyon", "Oslo"], n, p=[0.6, 0.3, 0.1]),
    })  # fmt: skip
    pays = table["income"] - 1.5 * table["debt"] + 9000 * (table["city"] == "Oslo") > 25_000
    for name, share in (("income", 0.2), ("debt", 0.1), ("city", 0.1)):
        table[name] = table[name].mask(RNG.random(n) < share)
    rows = table[table.isna().any(axis=1)].iloc[:60]

    @staticmethod
    def prepared(frame):
        cities = [(frame["city"] == name).astype(float) for name in ("Bern", "Lyon", "Oslo")]
        return np.column_stack([frame["income"].fillna(-1), frame["debt"].fillna(-1), frame["age"], *cities])

    @pytest.fixture(scope="class", params=["forest", "logistic"])
    @classmethod
    def found(cls, request):
        fitted = RandomForestClassifier(40, random_state=0) if request.param == "forest" else LogisticRegression()
        scale = cls.prepared(cls.table).std(axis=0)
        fitted.fit(cls.prepared(cls.table) / scale, cls.pays)

        def model(frame):
            return fitted.predict_proba(cls.prepared(frame) / scale)

        explainer = xcid.Explainer(model, cls.table)
        return model, explainer.counterfactuals(cls.rows, k=3), SearchSpace.of(explainer.subject)

    def test_the_usual_value_is_the_median_or_the_most_frequent_level(self, found):
        usual, scales = found[2].usual, found[2].metric.scale
        assert np.allclose(usual[:3] / scales[:3], self.table.median(numeric_only=True) / scales[:3], atol=0.02)
        assert usual[3] == 0

    def test_no_value_that_fills_a_cell_can_come_closer_to_the_usual_one(self, found):
        model, lines, search_space = found
        filled = np.isnan(lines.data[lines.row]) & ~np.isnan(lines.rows) & lines.reached[:, None]
        assert filled[:, :2].sum() > 20
        trials, owners = [], []
        for line, at in zip(*np.nonzero(filled[:, :2]), strict=True):
            usual, value = search_space.usual[at], lines.rows[line, at]
            points = np.rint(np.linspace(usual, value, 20, endpoint=False))
            closer = points[np.abs(points - usual) < np.abs(value - usual)]
            trial = np.tile(lines.rows[line], (len(closer), 1))
            trial[:, at] = closer
            trials.append(trial)
            owners += [lines.row[line]] * len(closer)
        own = model(lines.decode(lines.data)).argmax(axis=1)
        assert len(owners) > 100
        assert np.all(model(lines.decode(np.concatenate(trials))).argmax(axis=1) == own[owners])

    def test_every_change_is_needed_there_too(self, found):
        model, lines, _ = found
        rows, which = taken_back(lines)
        own = model(lines.decode(lines.data)).argmax(axis=1)[lines.row[which]]
        assert np.all(model(lines.decode(rows)).argmax(axis=1) == own)

    def test_filling_costs_1_and_the_way_from_the_usual_value(self, found):
        _, lines, search_space = found
        before = lines.data[lines.row]
        is_filled = np.isnan(before) & ~np.isnan(lines.rows)
        start = np.where(is_filled, search_space.usual, before)
        due = np.where(np.isnan(start), 0, np.abs(lines.rows - start) / search_space.metric.scale)
        due[:, 3] = np.where(np.isnan(start[:, 3]), 0, lines.rows[:, 3] != start[:, 3])
        due += is_filled
        assert np.allclose(lines.distance, due.sum(axis=1))

    def test_no_cell_goes_missing_not_even_in_a_group(self, found):
        lines = found[1]
        assert not np.any(np.isnan(lines.rows) & ~np.isnan(lines.data[lines.row]))
        rules = xcid.Constraints(groups={"money": ["income", "debt"]})
        explainer = xcid.Explainer(lambda frame: frame["debt"].isna() | (frame["age"] > 70), self.table)
        grouped = xcid.Explainer(explainer.subject.model, self.table, constraints=rules)
        together = grouped.counterfactuals(self.table[self.table["debt"].notna()].iloc[:40])
        assert not np.any(np.isnan(together.rows) & ~np.isnan(together.data[together.row]))


class TestValuesAsPeopleWriteThem:
    n = 600
    random = np.random.default_rng(21)
    region = random.integers(0, 3, n)
    table = pd.DataFrame({
        "loan": random.gamma(4, 30, n).round() * 500,
        "hours": (random.gamma(4, 40, n).round() * 0.25),
        "income": random.gamma(3, 1000, n).round(2),
        "region_north": (region == 0).astype(int),
        "region_south": (region == 1).astype(int),
        "region_west": (region == 2).astype(int),
        "phone": random.integers(0, 2, n),
        "post": 0,
        "since": np.datetime64("2015-01-01", "s") + 86400 * random.integers(0, 3000, n),
        "rating": pd.Categorical(random.choice(["AA", "A", "B", "C"], n), ["C", "B", "A", "AA"], ordered=True),
    })  # fmt: skip
    table["post"] = 1 - table["phone"]

    @staticmethod
    def worth(frame):
        days = (pd.to_datetime(frame["since"]) - pd.Timestamp("2015-01-01")).dt.days
        level = pd.Categorical(frame["rating"], ["C", "B", "A", "AA"], ordered=True).codes
        score = frame["income"] / 1000 + frame["hours"] / 20 - frame["loan"] / 20000 - days / 1000 + 0.8 * level
        return score + 2.0 * frame["region_south"] - frame["region_west"] + frame["phone"] - 3.5

    def explainer(self, **more):
        return xcid.Explainer(lambda rows: 1 / (1 + np.exp(-self.worth(rows))), self.table, **more)

    def test_new_values_lie_on_the_steps_of_the_data(self):
        found = self.explainer().counterfactuals(self.table.iloc[:80])
        table = found.table()
        for name, step in (("loan", 500), ("hours", 0.25), ("income", 0.01)):
            moved = found.moved[:, found.feature_names.index(name)]
            assert moved.any()
            assert np.allclose(np.remainder(table[name][moved] / step + 0.5, 1), 0.5, atol=1e-6)
        assert (pd.to_datetime(table["since"]).dt.normalize() == pd.to_datetime(table["since"])).all()

    def test_a_step_needs_every_value(self):
        odd = self.table.assign(loan=self.table["loan"].where(self.table.index != 5, 12_001))
        search_space = SearchSpace.of(xcid.Explainer(lambda rows: self.worth(rows), odd).subject)
        assert search_space.step[0] == 1

    def test_codes_of_one_thing_change_together(self):
        found = self.explainer().counterfactuals(self.table.iloc[:80])
        table = found.table()
        assert (table[["region_north", "region_south", "region_west"]].sum(axis=1) == 1).all()
        assert (table["phone"] + table["post"] == 1).all()
        assert {"region", "phone or post"} < set(found.feature_names)
        moved = found.moved[:, found.feature_names.index("region")]
        assert moved.any()
        assert found.n_changes[moved].min() == 1
        assert set(found.distance[moved & (found.n_changes == 1)]) == {1.0}

    def test_codes_of_which_one_is_frozen_stay(self):
        rules = xcid.Constraints(frozen=["region_west"])
        found = self.explainer(constraints=rules).counterfactuals(self.table.iloc[:80])
        regions = [at for at, name in enumerate(self.table.columns) if name.startswith("region")]
        assert np.array_equal(found.rows[:, regions], found.data[found.row][:, regions])

    def test_actions_move_codes_together(self):
        refused = self.table[self.worth(self.table) < 0]
        made = self.explainer().actions(refused, k=20)
        words = made.to_frame()["action"]
        assert words.str.contains("set region to region_north 0, region_south 1, region_west 0").any()
        assert not words.str.contains("set region_").any()

    def test_a_level_further_costs_more(self):
        levels = ["C", "B", "A", "AA"]
        explainer = xcid.Explainer(lambda rows: pd.Categorical(rows["rating"], levels).codes >= 1, self.table)
        found = explainer.counterfactuals(self.table[self.table["rating"] == "C"].iloc[:5], k=1)
        assert set(found.to_frame()["changes"]) == {"rating C -> B"}
        two = xcid.Explainer(lambda rows: pd.Categorical(rows["rating"], levels).codes >= 2, self.table)
        assert two.counterfactuals(self.table[self.table["rating"] == "C"].iloc[:5], k=1).distance.tolist() == [2.0] * 5

    def test_large_numbers_are_written_out(self, approved):
        table = pd.DataFrame({"assets": self.random.gamma(3, 5e6, 400).round(2), "other": self.random.normal(size=400)})
        explainer = xcid.Explainer(lambda rows: rows["assets"] > 2e7, table)
        approved(explainer.counterfactuals(table.iloc[:1], k=1).in_words(0))


def small_table(seed):
    """Up to six discrete features, a forest on them, and every row there can be."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, rng.integers(4, 7))
    table = pd.DataFrame({f"f{at}": rng.integers(0, size, 400) for at, size in enumerate(sizes)})
    for at in range(0, len(sizes), 2):
        table[f"f{at}"] = np.array(list("abcd"))[table[f"f{at}"]]
        if at % 4 == 0:
            table[f"f{at}"] = pd.Categorical(table[f"f{at}"], ordered=True)
    codes = np.column_stack([pd.factorize(table[name], sort=True)[0] for name in table])
    weights = rng.normal(size=len(sizes))
    signal = codes @ weights + 1.5 * (codes[:, 0] == codes[:, 1]) * rng.normal()
    target = (signal + rng.normal(scale=0.4, size=400) > np.median(signal)).astype(int)
    model = RandomForestClassifier(25, max_depth=6, random_state=seed).fit(codes, target)

    def predict(frame):
        levels = {name: pd.factorize(table[name], sort=True)[1] for name in table}
        return model.predict_proba(np.column_stack([levels[name].get_indexer(frame[name]) for name in table]))

    return table, predict


def test_the_sparsest_and_the_nearest_are_found_in_small_tables():
    """Beside all rows that there can be: the sparsest in 98%, the nearest in 95% of the rows at least."""
    sparsest, nearest = [], []
    for seed in range(8):
        table, predict = small_table(seed)
        explainer = xcid.Explainer(predict, table)
        found = explainer.counterfactuals(table.iloc[:50])
        values = [np.unique(column) for column in explainer.space.rows.T]
        every = np.array(list(itertools.product(*values)))
        outputs = explainer.subject.predict(every)
        metric = Metric.of(explainer.space)
        ordered = [at for at, column in enumerate(explainer.space.columns) if column.kind == "ordinal"]
        for row in range(50):
            own = found.data[row]
            present = explainer.subject.predict(own[None])[0].argmax()
            flips = every[outputs.argmax(axis=1) != present]
            lines = found.row == row
            if not len(flips):
                assert found.kind[lines].tolist() == ["not reached"]
                continue
            sparsest.append(found.n_changes[lines].min() == (flips != own).sum(axis=1).min())
            further = np.maximum(np.abs(flips - own)[:, ordered] - 1, 0).sum(axis=1)  # each level further costs 1 more
            nearest.append(found.distance[lines].min() <= (metric.between(flips, own) + further).min() + 1e-9)
    assert len(sparsest) > 300
    assert np.mean(sparsest) >= 0.98
    assert np.mean(nearest) >= 0.95


def test_a_regression_forest_is_quick_and_valid():
    model = RandomForestRegressor(30, random_state=0).fit(NUMBERS, price(NUMBERS))
    found = xcid.Explainer(model, NUMBERS).counterfactuals(NUMBERS[:20], target="raise")
    assert np.all(model.predict(found.rows)[found.reached] >= 1.1 * model.predict(NUMBERS[found.row])[found.reached])
