"""One action for many rows: what it flips is true, what it does is allowed, and the best are found."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xcid
from xcid.errors import InvalidData, InvalidParameter, XcidWarning
from xcid.outcomes import Lower, Raise, Within
from xcid.whatif.actions import Actions, find_actions
from xcid.whatif.evaluator import goal_of
from xcid.whatif.parts import Bring, Choose, Move, apply_part, propose_parts
from xcid.whatif.search_space import SearchSpace

RANDOM = np.random.default_rng(8)
LEVELS = ["none", "low", "middle", "high"]
N = 400
TABLE = pd.DataFrame(
    {
        "income": RANDOM.gamma(3, 1000, N).round(-1),
        "months": RANDOM.integers(0, 120, N),
        "savings": pd.Categorical(RANDOM.choice(LEVELS, N, p=[0.4, 0.3, 0.2, 0.1]), LEVELS, ordered=True),
        "housing": RANDOM.choice(["own", "rent", "free"], N),
        "guarantor": RANDOM.random(N) < 0.2,
    }
)


def worth(frame):
    level = pd.Categorical(frame["savings"], LEVELS, ordered=True).codes
    return frame["income"] / 1000 + 0.02 * frame["months"] + 1.5 * level + (frame["housing"] == "own") - 6.0


def approved(frame):
    return 1 / (1 + np.exp(-worth(frame)))


REFUSED = TABLE[worth(TABLE) <= 0]
NAMES = {"class_names": ["refused", "approved"]}


def explainer(model=approved, table=TABLE, **more):
    return xcid.Explainer(model, table, **(NAMES if model is approved else {}), **more)


def found(made, rows, target=None, k=5) -> Actions:
    setup = made.setup
    return find_actions(setup.subject, setup.outcome, made.space.encode(rows), target, k)


def changed(made, rows, action):
    """(n, d) rows after an action, and which of them may do it, by its parts alone."""
    subject = made.subject
    search_space, table = SearchSpace.of(subject), made.space.encode(rows)
    own = subject.features.fold(table)
    new, allowed = own.copy(), np.ones(len(own), dtype=bool)
    for part in action:
        values = apply_part(search_space, part, own)
        new[:, part.at], allowed = values, allowed & ~np.isnan(values)
    return subject.features.unfold(np.where(allowed[:, None], new, own), table, np.arange(len(own))), allowed


class TestTruth:
    def test_what_is_said_to_flip_flips(self):
        made = explainer()
        frame, record = made.actions(REFUSED, "approved").to_frame(), found(made, REFUSED, "approved")
        assert list(frame.columns) == ["action", "flips", "n_flipped", "cost", "covered"]
        for line, action in enumerate(record.actions):
            rows, _ = changed(made, REFUSED, action)
            flips = worth(made.space.decode(rows)).to_numpy() > 0
            assert frame["n_flipped"][line] == flips.sum()
            assert frame["flips"][line] == pytest.approx(flips.mean())
        assert len(frame) == 5
        assert frame["covered"].iloc[-1] > 0.8

    def test_costs_are_distances_of_counterfactuals(self):
        made = explainer()
        frame, record = made.actions(REFUSED, "approved").to_frame(), found(made, REFUSED, "approved")
        metric = SearchSpace.of(made.subject).metric
        own = made.space.encode(REFUSED)
        for line, action in enumerate(record.actions):
            rows, _ = changed(made, REFUSED, action)
            flips = worth(made.space.decode(rows)).to_numpy() > 0
            assert frame["cost"][line] == pytest.approx(metric.between(rows, own)[flips].mean())

    def test_a_level_that_decides_alone(self):
        """All rows have the level below the one that is asked for: one level up flips all, and nothing else does."""
        rows = TABLE[TABLE["savings"] == "low"]
        made = explainer(lambda frame: pd.Categorical(frame["savings"], LEVELS).codes >= 2)
        frame = made.actions(rows, k=1).to_frame()
        assert frame["action"].tolist() == ["raise savings by 1 level"]
        assert frame[["flips", "n_flipped", "cost", "covered"]].values.tolist() == [[1.0, len(rows), 1.0, 1.0]]

    def test_two_features_that_only_work_together(self):
        rows = TABLE[(TABLE["housing"] != "own") & ~TABLE["guarantor"]]
        made = explainer(lambda frame: (frame["housing"] == "own") & frame["guarantor"].astype(bool))
        frame = made.actions(rows).to_frame()
        assert frame["action"].tolist() == ["set housing to own and set guarantor to True"]
        assert frame["flips"].tolist() == [1.0]

    def test_the_share_of_a_move_is_that_of_the_rows_near_the_border(self):
        table = pd.DataFrame({"x": np.linspace(0, 100, 1001).round(1), "other": np.arange(1001) % 7})
        rows = table[table["x"] < 60]
        frame = explainer(lambda frame: frame["x"] >= 60, table).actions(rows, k=20).to_frame()
        moves = frame[frame["action"].str.startswith("raise x by ")]
        assert len(moves)
        for action, share in moves[["action", "flips"]].itertuples(index=False):
            by = float(action.rpartition(" ")[2])
            due = (min(60, 100 - by) - (60 - by)) / 60  # none may go beyond 100, the highest of the reference data
            assert share == pytest.approx(due, abs=0.002)

    def test_the_best_of_all_is_found(self):
        """The first action is the best of every single part and every pair of them."""
        made = explainer()
        record = found(made, REFUSED, "approved", k=1)
        subject = made.subject
        parts = list(propose_parts(SearchSpace.of(subject)))
        metric, own = SearchSpace.of(made.subject).metric, made.space.encode(REFUSED)
        goal = goal_of("approved", subject, made.setup.outcome)
        reached = goal.gain(subject.outputs, subject.outputs) > 0
        usual = np.median([metric.between(made.space.background[reached], row).min() for row in own])

        def value(action):
            rows, _ = changed(made, REFUSED, action)
            flips = worth(made.space.decode(rows)).to_numpy() > 0
            return np.sum(0.5 ** (metric.between(rows, own)[flips] / usual))

        pairs = [pair for pair in combinations(parts, 2) if pair[0].at != pair[1].at]
        best = max(map(value, [*((part,) for part in parts), *pairs]))
        assert value(record.actions[0]) == pytest.approx(best)


class TestTargets:
    def test_rows_that_are_there_already_are_left_out(self, approved):
        frame = explainer().actions(TABLE, "approved", k=2).to_frame()
        pd.testing.assert_frame_equal(frame, explainer().actions(REFUSED, "approved", k=2).to_frame())
        assert frame.attrs == {"rows": len(REFUSED), "already": len(TABLE) - len(REFUSED)}
        with approved.raises(InvalidData):
            explainer().actions(REFUSED, "refused").to_frame()

    def test_any_other_class(self):
        made = explainer()
        pd.testing.assert_frame_equal(made.actions(REFUSED).to_frame(), made.actions(REFUSED, "approved").to_frame())

    @pytest.mark.parametrize(
        ("target", "reached"),
        [
            ("raise", lambda new, own: new >= own + 0.1 * abs(own)),
            ("lower", lambda new, own: new <= own - 0.1 * abs(own)),
            (Raise(by=0.5), lambda new, own: new >= own + 0.5 * abs(own)),
            (Lower(by=0.5), lambda new, own: new <= own - 0.5 * abs(own)),
            (Within(1.0, 3.0), lambda new, own: (new >= 1) & (new <= 3)),
        ],
    )
    def test_a_regression(self, target, reached):
        made = explainer(worth)
        rows = TABLE[(worth(TABLE) < 0.9)].iloc[:150]
        frame, record = made.actions(rows, target, k=3).to_frame(), found(made, rows, target, k=3)
        assert len(frame)
        for line, action in enumerate(record.actions):
            new, _ = changed(made, rows, action)
            due = reached(worth(made.space.decode(new)).to_numpy(), worth(rows).to_numpy())
            assert frame["n_flipped"][line] == due.sum()

    def test_nothing_helps(self):
        made = explainer(lambda frame: frame["income"] > 1e6 * (frame["months"] > -1), TABLE.assign(income=10.0))
        with pytest.warns(XcidWarning, match="no action"):
            frame = made.actions(TABLE.assign(income=10.0).iloc[:20]).to_frame()
        assert list(frame.columns) == ["action", "flips", "n_flipped", "cost", "covered"]
        assert len(frame) == 0

    def test_what_is_refused(self):
        with pytest.raises(InvalidParameter, match="'granted' is no class"):
            explainer().actions(REFUSED, "granted").to_frame()
        with pytest.raises(InvalidParameter, match="k must be"):
            explainer().actions(REFUSED, k=0).to_frame()

    @pytest.mark.parametrize("backend", ["polars", "pyarrow"])
    def test_any_library(self, backend):
        pytest.importorskip(backend)
        frame = explainer().actions(REFUSED, k=1).to_frame(backend)
        assert len(frame) == 1


class TestLaws:
    @settings(max_examples=10, deadline=None)
    @given(seed=st.integers(0, 1000))
    def test_the_order_of_rows_makes_no_difference(self, seed):
        made = explainer()
        shuffled = REFUSED.iloc[np.random.default_rng(seed).permutation(len(REFUSED))]
        pd.testing.assert_frame_equal(
            made.actions(shuffled, k=3).to_frame(), made.actions(REFUSED, k=3).to_frame(), check_exact=True
        )

    def test_more_actions_begin_with_the_same(self):
        made = explainer()
        pd.testing.assert_frame_equal(
            made.actions(REFUSED, k=2).to_frame(), made.actions(REFUSED, k=5).to_frame().iloc[:2]
        )

    def test_what_is_covered_grows(self):
        frame = explainer().actions(REFUSED, k=8).to_frame()
        assert frame["covered"].is_monotonic_increasing

    def test_what_is_covered_holds_for_fresh_rows(self):
        """Chosen on 15 rows, actions flip more of these than of others; covered is what they flip of others."""
        random = np.random.default_rng(4)
        table = pd.DataFrame(random.normal(size=(600, 10)).round(1), columns=list("abcdefghij"))
        made = explainer(lambda rows: np.sin(3 * rows.to_numpy()).sum(axis=1) > 2.5, table)
        rows, seen, covered, fresh = made.space.encode(table), [], [], []
        refused = rows[made.subject.predict(rows)[:, 1] < 0.5]
        for start in range(0, 300, 15):
            some = np.arange(start, start + 15)
            one = find_actions(made.subject, made.setup.outcome, refused[some], k=2)
            others = made.space.decode(np.delete(refused, some, axis=0))
            flipped = [made.subject.predict(changed(made, others, action)[0])[:, 1] > 0.5 for action in one.actions]
            seen.append(one.flips.any(axis=0).mean())
            covered.append(one.covered[-1])
            fresh.append(np.any(flipped, axis=0).mean())
        assert np.mean(seen) > np.mean(fresh) + 0.08
        assert np.mean(covered) == pytest.approx(np.mean(fresh), abs=0.06)

    def test_what_people_cannot_change(self, caplog):
        record = found(explainer(), REFUSED, "approved")
        assert not record.notes
        table = TABLE.rename(columns={"months": "age"})
        rules = xcid.Constraints(frozen=["income", "savings", "housing", "guarantor"])
        made = explainer(lambda frame: worth(frame.rename(columns={"age": "months"})) > 0, table, constraints=rules)
        with caplog.at_level("INFO", logger="xcid"):
            record = made.actions(REFUSED.rename(columns={"months": "age"}))
        assert "frozen=['age']" in record.notes[0]
        assert record.notes[0] in caplog.text
        assert record.notes[0] in str(record)

    def test_of_many_rows_the_finalists_are_tried_on_all(self, monkeypatch):
        whole = explainer().actions(REFUSED, k=3).to_frame()
        monkeypatch.setattr("xcid.whatif.actions.MOST_SCREENED", 60)
        made = explainer()
        frame, record = made.actions(REFUSED, k=3).to_frame(), found(made, REFUSED, k=3)
        for line, action in enumerate(record.actions):
            rows, _ = changed(made, REFUSED, action)
            assert frame["n_flipped"][line] == np.sum(worth(made.space.decode(rows)) > 0)
        assert frame["covered"].iloc[-1] > 0.8 * whole["covered"].iloc[-1]
        assert record.n_evaluations < found(explainer(), REFUSED, k=3).n_evaluations + 45 * len(REFUSED)

    def test_small_blocks_change_nothing(self, monkeypatch):
        whole = explainer().actions(REFUSED, k=3).to_frame()
        monkeypatch.setattr("xcid.whatif.actions.MOST_CELLS", 1)
        pd.testing.assert_frame_equal(explainer().actions(REFUSED, k=3).to_frame(), whole)

    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_every_action_obeys_the_constraints(self, data):
        """Of rules that are made at random, none is broken by any row of any action."""
        names = list(TABLE.columns)
        grouped = data.draw(st.booleans())
        frozen = data.draw(st.sets(st.sampled_from(["months", "guarantor"] if grouped else names[1:]), max_size=2))
        low = data.draw(st.sampled_from([0, 1000, 2500]))
        ranges = {"income": (low, data.draw(st.sampled_from([4000, 8000])))} if data.draw(st.booleans()) else {}
        allowed = data.draw(st.lists(st.sampled_from(LEVELS), min_size=1, unique=True))
        levels = {"savings": allowed} if data.draw(st.booleans()) and "savings" not in frozen else {}
        monotone = data.draw(
            st.dictionaries(st.sampled_from(["income", "months"]), st.sampled_from(["rises", "falls"]), max_size=2)
        )
        groups = {"home": ["housing", "savings"]} if grouped else {}
        rules = xcid.Constraints(frozen=sorted(frozen), ranges=ranges, levels=levels, monotone=monotone, groups=groups)
        made = explainer(constraints=rules)
        with pytest.warns(XcidWarning) if len(frozen) == 5 else np.errstate():
            record = found(made, REFUSED.iloc[:80], "approved")
        before = REFUSED.iloc[:80].reset_index(drop=True)
        pairs = {*zip(TABLE["housing"], TABLE["savings"], strict=True)}
        for action in record.actions:
            after = made.space.decode(changed(made, before, action)[0]).reset_index(drop=True)
            moved = after.astype(str) != before.astype(str)
            moved["income"] = after["income"] != before["income"]
            moved["months"] = after["months"] != before["months"]
            assert not moved[sorted(frozen)].any(axis=None)
            for name, direction in monotone.items():
                assert np.all((1 if direction == "rises" else -1) * (after[name] - before[name]) >= 0)
            for name, (least, most) in ranges.items():
                assert after.loc[moved[name], name].between(least, most).all()
            if levels:
                assert after.loc[moved["savings"], "savings"].isin(allowed).all()
            if grouped:
                assert {*zip(after["housing"], after["savings"], strict=True)} <= pairs
            assert after["months"].between(0, 119).all()

    def test_missing_cells_are_not_moved_and_may_be_filled(self):
        table = TABLE.assign(income=TABLE["income"].where(RANDOM.random(N) < 0.8), housing=TABLE["housing"])
        table.loc[RANDOM.random(N) < 0.2, "housing"] = None

        def model(frame):
            return (frame["income"].fillna(0) > 3000) | (frame["housing"] == "own")

        rows = table[~model(table)]
        made = explainer(model, table)
        record = found(made, rows)
        assert record.flips.any()
        for action in record.actions:
            new, allowed = changed(made, rows, action)
            numbers = [part for part in action if isinstance(part, Move | Bring)]
            if numbers:
                assert not allowed[rows["income"].isna().to_numpy() & any(part.at == 0 for part in numbers)].any()
            assert not np.isnan(new[allowed][:, [part.at for part in action]]).any()


class TestWords:
    def test_dates_and_groups(self):
        day = pd.to_datetime("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 900, N), unit="D")
        table = TABLE[["housing", "guarantor"]].assign(day=day)
        rules = xcid.Constraints(groups={"home": ["housing", "guarantor"]})
        made = explainer(lambda frame: frame["day"] > "2021-06-01", table, constraints=rules)
        subject = made.subject
        at = subject.features.names.index("day")
        assert Move(at, 30.0).words(subject) == "raise day by 30 days"
        assert Move(at, -1.0).words(subject) == "lower day by 1 day"
        assert Bring(at, 18628.0, 1).words(subject) == "raise day to 2021-01-01"
        home = Choose(subject.features.names.index("home"), 0.0).words(subject)
        assert home.startswith("set home to housing ")
        assert ", guarantor " in home

    def test_numbers_and_levels(self):
        subject = explainer().subject
        assert Move(0, 500.0).words(subject) == "raise income by 500"
        assert Move(2, -2.0).words(subject) == "lower savings by 2 levels"
        assert Bring(1, 24.0, -1).words(subject) == "lower months to 24"
        assert Choose(3, 1.0).words(subject) == "set housing to own"


class TestRules:
    """Relations, transitions, steps and derived columns hold in every row of every action."""

    def test_rules_of_the_world(self):
        table = TABLE.assign(yearly=12 * TABLE["income"])
        rules = xcid.Constraints(
            relations=["income <= 2000 + 40 * months"],
            transitions={"savings": LEVELS},
            steps={"income": 500.0},
            derived={"yearly": "12 * income"},
        )
        rows = table[(worth(table) <= 0) & (table["income"] <= 2000 + 40 * table["months"])].reset_index(drop=True)
        made = explainer(table=table, constraints=rules)
        frame, record = made.actions(rows, "approved", k=8).to_frame(), found(made, rows, "approved", k=8)
        assert len(frame) == 8
        n_moved = 0
        subject = made.subject
        for line, action in enumerate(record.actions):
            after = made.space.decode(subject.rules.completed(changed(made, rows, action)[0], made.space.encode(rows)))
            after = after.reset_index(drop=True)
            obeys = after["income"] <= 2000 + 40 * after["months"]
            flips = (worth(after) > 0) & obeys
            assert frame["n_flipped"][line] == flips.sum()
            after, before = after[flips], rows[flips]
            level, was = (pd.Categorical(part["savings"], LEVELS).codes for part in (after, before))
            assert np.all(level >= was)
            moved = after["income"] != before["income"]
            n_moved += moved.sum()
            assert np.all(after.loc[moved, "income"] % 500 == 0)
            assert np.all(after.loc[moved, "yearly"] == 12 * after.loc[moved, "income"])
        assert n_moved
