"""A field of a record is declared once: selecting, joining, padding, averaging, frames and files follow from that."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import xcid
from xcid import calibration, engines, frames
from xcid.contributions.scale import get_contributions
from xcid.engines import _frames
from xcid.records import FEATURE_STATUSES, STATUSES, Array, Explanation, meaning
from xcid.records import fields as declared_fields
from xcid.records.fields import AGAIN, FEATURE, LOWER, NOISE, OUTPUT, ROW, UPPER, P, first, list_fields, per, per_source
from xcid_lab import baselines
from xcid_torch import _rows

TABLE = np.random.default_rng(4).normal(size=(60, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Moody(xcid.Explanation):
    """An explanation with a field that xcid does not know."""

    mood: Array | None = per(ROW, FEATURE, unknown=0.5, line="mood", runs=np.mean, rows=np.max, default=None)
    whim: Array | None = per(ROW, unknown=7.0, default=None)
    pull: Array | None = per(ROW, FEATURE, of="pull", runs=np.mean, wide=True, default=None)
    pull_lower: Array | None = per(ROW, FEATURE, unknown=-9.0, of="pull", part=LOWER, default=None)
    pull_upper: Array | None = per(ROW, FEATURE, unknown=9.0, of="pull", part=UPPER, default=None)
    pull_p: Array | None = per(ROW, FEATURE, of="pull", part=P, default=None)
    leaning: Array | None = per(ROW, FEATURE, of="values", part=NOISE, default=None)


def of_class(explanation, **more):
    return Moody(**{each.name: getattr(explanation, each.name) for each in fields(explanation)}, **more)


@pytest.fixture(scope="module")
def explanation():
    return xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, generator=xcid.generators.Balanced(n=100), repeats=2)(TABLE[:4])


@pytest.fixture(scope="module")
def moody(explanation):
    return of_class(explanation, mood=np.arange(12.0).reshape(4, 3), whim=np.arange(4.0))


@pytest.fixture(scope="module")
def pulled(explanation):
    pull = np.arange(12.0).reshape(4, 3)
    return of_class(explanation, pull=pull, pull_lower=pull - 1, pull_upper=pull + 2, pull_p=pull / 12, leaning=pull)


class TestWhatUsersHold:
    """One class, whatever made the record: it has the methods, and no room below has to know them."""

    def test_from_every_call(self, explanation, tmp_path):
        explainer = xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, generator=xcid.generators.Balanced(n=100))
        explanation.save(tmp_path / "kept.xcid")
        found = [
            explanation[0],
            explanation.row(2),
            explanation.towards("True"),
            explanation.aggregate(),
            *explanation,
            *explainer.per_class(TABLE[:2]).values(),
            *explainer.stream([TABLE[:2]]),
            explainer.answer(explainer(TABLE[:2]), xcid.outcomes.Flip()),
            engines.Threads(2)(explainer, TABLE[:2]),
            baselines.Occlusion(lambda X: X[:, 0] > 0, TABLE)(TABLE[:2]),
            xcid.load(tmp_path / "kept.xcid"),
            xcid.Explanation.concatenate([explanation[0], explanation[1]]),
        ]
        assert {type(one) for one in found} == {xcid.Explanation}
        assert xcid.Explanation.of(explanation) is explanation

    def test_made_of_a_plain_record(self, explanation):
        plain = Explanation(**{each.name: getattr(explanation, each.name) for each in fields(explanation)})
        assert str(xcid.Explanation.of(plain)) == str(explanation)

    def test_pickled(self, explanation):
        again = pickle.loads(pickle.dumps(explanation))
        assert type(again) is xcid.Explanation
        assert np.array_equal(again.values, explanation.values)
        assert str(again) == str(explanation)


class TestANewEstimate:
    """Signs, limits, averages, padding and engines know it by its declaration alone."""

    def test_turned_with_the_signs(self, pulled):
        is_other = np.array([True, False, True, True])
        turned = declared_fields.turn(pulled, "pull", np.where(is_other, -1, 1))
        assert np.array_equal(turned.values, pulled.values)
        for part, same, other in (("pull", "pull", "pull"), ("pull_lower", "pull_lower", "pull_upper")):
            found = getattr(turned, part)
            assert np.array_equal(found[~is_other], getattr(pulled, same)[~is_other])
            assert np.array_equal(found[is_other], -getattr(pulled, other)[is_other])
        assert np.array_equal(turned.pull_p, pulled.pull_p)
        assert np.array_equal(turned.leaning, pulled.leaning)

    def test_pooled_over_runs(self, pulled):
        over = calibration.average([pulled] * 4)
        assert np.allclose(over.pull, pulled.pull)
        assert np.allclose(over.pull_lower, pulled.pull - 0.5)
        assert np.allclose(over.pull_upper, pulled.pull + 1)
        assert np.all((over.pull_p - 0.5) * (pulled.pull_p - 0.5) >= (pulled.pull_p - 0.5) ** 2)  # farther from chance
        assert over.leaning is None

    def test_in_lines_of_engines(self):
        rows, features = _frames.wide_fields(Moody)
        assert [each.column for each in rows] == ["status", "n_evaluations", "n_flips", "base_value", "about"]
        columns = [each.column for each in features]
        assert columns == ["value", "importance", "lower", "upper", "p_value", "flips_alone", "pull"]

    def test_padded_where_a_row_has_fewer_features(self, pulled):
        wide = _rows._padded(replace(pulled, cloud=None), 4)
        assert wide.pull[:, 3].tolist() == [0] * 4
        assert wide.pull_p[:, 3].tolist() == wide.p_values[:, 3].tolist() == [1] * 4
        assert set(wide.feature_status[:, 3]) == {"constant"}
        assert np.isnan(wide.data[:, 3]).all()
        assert wide.details.features[3:] == ((3,),)
        assert wide.details.levels[3:] == ((),)


@dataclass(frozen=True, slots=True, eq=False)
class Doubtful(xcid.Explanation):
    """An explanation that other surroundings, which xcid does not know, told something about."""

    elsewhere: Array | None = per_source(rows=np.mean, of="values", part=AGAIN, every="every_elsewhere")
    every_elsewhere: Array | None = per_source(OUTPUT)
    alarm: Array | None = per_source()


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def doubtful(request):
    labels = np.digitize(TABLE[:, 0] + TABLE[:, 1], [0.0, 0.8][: request.param - 1])
    model = RandomForestClassifier(5, random_state=0).fit(TABLE, labels)
    settings = {"refits": xcid.refits(model, TABLE, labels, n=3), "limits": "training"}
    found = xcid.Explainer(model, TABLE, generator=xcid.generators.Balanced(n=100), **settings)(TABLE[:5])
    known = {each.name: getattr(found, each.name) for each in fields(found)}
    every = np.random.default_rng(1).normal(size=(*found.values.shape, 3)) if request.param == 3 else None
    return Doubtful(**known, elsewhere=found.values + 1, every_elsewhere=every, alarm=np.ones(found.values.shape))


class TestANewSource:
    """What another source of doubt told follows its numbers: it turns, is picked and is left out with them."""

    def test_about_another_class(self, doubtful):
        is_other = doubtful.about != "0"
        turned = doubtful.towards("0")
        every, old = doubtful.every_elsewhere, doubtful.elsewhere
        due = np.where(is_other[:, None], -old, old) if every is None else every[:, :, 0]
        assert is_other.any()
        assert np.array_equal(turned.elsewhere, due)
        assert np.array_equal(turned.alarm, doubtful.alarm)

    def test_left_out_where_it_is_not_known_about_every_output(self, doubtful):
        if doubtful.every_class is not None:
            with pytest.warns(xcid.XcidWarning):
                turned = replace(doubtful, every_elsewhere=None).towards("0")
            lost = [each.name for each in list_fields(turned) if each.source and getattr(turned, each.name) is None]
            assert {"elsewhere", "alarm", "retrained", "p_computation"} <= {*lost}
            assert turned.limits == "computation"

    def test_left_out_on_another_scale(self, doubtful):
        with pytest.warns(xcid.XcidWarning):
            found = doubtful.on("log_odds")
        assert (found.elsewhere, found.alarm, found.sd_training) == (None, None, None)

    def test_kept_by_another_question(self, doubtful):
        assert {"elsewhere", "every_elsewhere", "alarm", "retrained", "p_computation"} <= {*get_contributions(doubtful)}

    def test_averaged(self, doubtful):
        mean = doubtful.aggregate()
        assert np.allclose(mean.elsewhere, doubtful.elsewhere.mean(axis=0))
        assert mean.alarm is None  # it does not say how rows become one


class TestANewField:
    def test_selected(self, moody):
        assert moody[[2, 0]].mood.tolist() == [[6, 7, 8], [0, 1, 2]]
        assert moody[1].whim.tolist() == [1]

    def test_joined(self, moody):
        joined = declared_fields.join([moody[:1], moody[2:]])
        assert joined.mood[:, 0].tolist() == [0, 6, 9]
        assert declared_fields.join([moody, replace(moody, mood=None)]).mood is None

    def test_unknown(self, moody):
        blank = declared_fields.unknown(moody, 2, status=np.array(["model_failed"] * 2))
        assert blank.mood.tolist() == [[0.5] * 3] * 2
        assert blank.whim.tolist() == [7, 7]
        assert blank.status.tolist() == ["model_failed"] * 2

    def test_averaged(self, moody):
        over = declared_fields.over_runs([moody, replace(moody, mood=moody.mood + 1)])
        assert over.mood[0].tolist() == [0.5, 1.5, 2.5]
        assert over.whim is None  # it does not say how runs become one
        assert declared_fields.over_rows(moody).mood.tolist() == [[9, 10, 11]]

    def test_in_frames(self, moody):
        columns = frames.to_columns(moody)
        assert columns["mood"].tolist() == list(range(12))
        assert "whim" not in columns

    def test_frames_have_contributions_and_predictions(self):
        table = np.random.default_rng(2).normal(size=(60, 3))
        explained = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0])), table, class_names=["no", "yes"])(table[:5])
        frame = explained.to_frame()
        for name, column in (("values", "value"), ("lower", "lower"), ("upper", "upper"), ("p_values", "p_value")):
            assert np.array_equal(frame[column], getattr(explained, name).ravel())
        assert np.array_equal(frame["base_value"], np.repeat(explained.base_values, 3))
        assert frame["predicted"].tolist() == np.repeat(np.where(table[:5, 0] > 0, "yes", "no"), 3).tolist()
        assert np.array_equal(frame["output"], np.repeat(explained.outputs.max(axis=1), 3))
        assert not {"predicted", "output"} & set(explained.aggregate().to_frame())

    def test_frames_of_a_regression(self):
        table = np.random.default_rng(2).normal(size=(60, 3))
        frame = xcid.Explainer(lambda X: 9 * X[:, 0], table)(table[:2]).to_frame()
        assert "predicted" not in set(frame)
        assert set(frame["about"]) == {""}
        by_row = frame["value"].to_numpy().reshape(2, 3).sum(axis=1)
        assert np.allclose(frame["base_value"][::3] + by_row, 9 * table[:2, 0], rtol=0, atol=1e-9)
        assert np.allclose(frame["output"], np.repeat(9 * table[:2, 0], 3))

    def test_frames_of_rows_that_failed(self):
        def broken(X):
            if np.any(X[:, 0] == 7):
                raise ValueError
            return 1 / (1 + np.exp(-X[:, 0]))

        table = np.random.default_rng(2).normal(size=(60, 3))
        with pytest.warns(xcid.XcidWarning):
            frame = xcid.Explainer(broken, table)([[7.0, 0, 0], [1.0, 0, 0]]).to_frame()
        assert frame["predicted"].tolist() == [""] * 3 + ["1"] * 3
        assert frame["output"].isna().tolist() == [True] * 3 + [False] * 3

    def test_in_every_file_that_knows_it(self, moody, tmp_path):
        """Files of a version that does not know a field pass over it; the archive refuses what it cannot name."""
        moody.save(tmp_path / "m.json")
        loaded = xcid.load(tmp_path / "m.json")
        assert np.array_equal(loaded.values, moody.values)


class TestDeclarations:
    def test_everything_that_is_per_row_says_so(self, explanation):
        known = {each.name for each in list_fields(Explanation)}
        undeclared = {each.name for each in fields(Explanation)} - known
        assert undeclared == {"details", "estimand", "scale", "limits"}
        for each in list_fields(Explanation):
            part = getattr(explanation, each.name)
            assert each.is_per_row == (part is not None and not isinstance(part, tuple)) or part is None

    def test_needed_fields_say_how_runs_and_rows_become_one(self):
        lacking = [one.name for one in list_fields(Explanation) if one.is_per_row and one.is_needed and not one.runs]
        lacking += [one.name for one in list_fields(Explanation) if one.is_per_row and one.is_needed and not one.rows]
        assert not lacking

    def test_first(self):
        assert first([3, 4]) == 3
        assert first(np.array([3, 4])).tolist() == [3]


class TestStatuses:
    @pytest.mark.parametrize("known", [STATUSES, FEATURE_STATUSES], ids=["rows", "features"])
    def test_each_has_a_sentence(self, known):
        for name, status in known.items():
            assert status.name == name
            assert meaning(name, known) == status.meaning
            assert status.meaning[0].islower()
            assert not status.meaning.endswith(".")

    def test_one_of_a_newer_version_says_its_name(self):
        assert meaning("enlightened") == "status: enlightened"
