"""A model that fails for some rows, now and then, or takes too long."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

import xcid
from xcid.errors import InvalidParameter, ModelError, TooSlow, XcidWarning
from xcid.generators import Random
from xcid.records import Failure, meaning

TABLE = np.random.default_rng(12).normal(size=(200, 4))


def good(X):
    return 1 / (1 + np.exp(-(X[:, 0] - 2 * X[:, 1])))


def bad_for(rows, how):
    """A model that fails whenever a perturbation of one of the given rows is among those it is asked about."""
    marked = [TABLE[row, 3] for row in rows]  # of which complements always have one that keeps it

    def model(X):
        answers = good(X)
        hit = np.isin(X[:, 3], marked)
        if hit.any() and how == "raises":
            raise ValueError("not this one")
        return np.where(hit, np.nan, answers) if how == "nan" else answers

    return model


def explainer_of(model, rows, **settings):
    background = np.delete(TABLE, rows, axis=0)
    return xcid.Explainer(model, background, **settings)


def test_failures_are_data_until_somebody_words_them():
    told: list[Failure] = []
    explanation = explainer_of(bad_for([3, 17], "raises"), [3, 17]).replace(failed=told.append)(TABLE[:20])
    (failure,) = told
    assert (failure.code, failure.place, failure.count, failure.n_rows) == ("model_failed", 3, 2, 20)
    assert failure.reason.endswith("not this one")
    assert explanation.failures == (replace(failure, reason=meaning("model_failed")),)
    assert explanation[:3].failures == ()
    assert [one.place for one in explanation[10:].failures] == [7]


@pytest.mark.parametrize("how", ["raises", "nan"])
@pytest.mark.parametrize("paper", [False, True], ids=["recommended", "paper"])
def test_the_other_rows_are_unharmed(how, paper):
    bad = [3, 17]
    make = xcid.Explainer.paper if paper else xcid.Explainer
    background = np.delete(TABLE, bad, axis=0)
    with pytest.warns(XcidWarning, match="2 of 20 rows could not be explained"):
        explanation = make(bad_for(bad, how), background)(TABLE[:20])
    whole = make(good, background)(TABLE[:20])
    fine = np.delete(np.arange(20), bad)
    assert explanation.status[bad].tolist() == ["model_failed"] * 2
    assert np.all(explanation.status[fine] == "ok")
    assert np.allclose(explanation.values[fine], whole.values[fine], atol=1e-9)
    assert np.all(explanation.values[bad] == 0)
    assert np.isnan(explanation.outputs[bad]).all()
    assert np.array_equal(explanation.data, whole.data)
    assert np.array_equal(explanation.index, whole.index)
    assert explanation.evidence(5, 0).p.sum() > 0
    assert str(explanation[3]).startswith("row 3: not explained: the model failed")


def test_limits_of_a_failed_row_say_nothing():
    with pytest.warns(XcidWarning, match="1 of 5 rows"):
        explanation = explainer_of(bad_for([2], "raises"), [2])(TABLE[:5])
    assert np.all(np.isnan(explanation.lower[2]) & np.isnan(explanation.upper[2]))
    assert np.all(explanation.p_values[2] == 1)


def test_means_are_of_the_rows_that_were_explained():
    with pytest.warns(XcidWarning, match="2 of 20 rows could not be explained"):
        explanation = explainer_of(bad_for([3, 17], "raises"), [3, 17])(TABLE[:20])
    known = explanation[np.delete(np.arange(20), [3, 17])]
    found, due = explanation.aggregate(), known.aggregate()
    assert found.n_rows.tolist() == [18]
    assert np.array_equal(found.values, due.values)
    assert np.array_equal(found.size, due.size)
    assert (found.status[0], due.status[0]) == ("some_rows_lack_samples", "ok")
    assert explanation[[3, 17]].aggregate().values.tolist() == [[0.0] * 4]  # where none was


def test_failures_by_chance_are_asked_again():
    calls = []

    def model(X):
        calls.append(len(X))
        if len(calls) % 7 == 0:
            raise TimeoutError("the server is busy")
        return good(X)

    explanation = xcid.Explainer(model, TABLE, memory=2**22)(TABLE)
    assert np.all(explanation.status == "ok")
    assert np.allclose(explanation.values, xcid.Explainer(good, TABLE)(TABLE).values, atol=1e-9)


def test_a_model_that_fails_for_all_rows_is_an_error():
    def model(X):
        if len(X) > len(TABLE):
            raise ValueError("out of order")
        return good(X)

    with pytest.raises(ModelError, match="out of order"):
        xcid.Explainer(model, TABLE)(TABLE[:3])


def test_a_row_that_fails_alone_is_a_status_like_one_that_fails_among_others():
    explainer = explainer_of(bad_for([2], "raises"), [2])
    with pytest.warns(XcidWarning, match="1 of 1 rows could not be explained"):
        alone = explainer(TABLE[2:3])
    with pytest.warns(XcidWarning, match="1 of 5 rows could not be explained"):
        among = explainer(TABLE[:5])[2:3]
    assert alone.status.tolist() == among.status.tolist() == ["model_failed"]
    for name in ("values", "lower", "upper", "p_values", "outputs", "data", "n_flips", "n_evaluations"):
        assert np.array_equal(getattr(alone, name), getattr(among, name), equal_nan=True), name
    assert alone.cloud is None


def test_files_and_pictures_of_failed_rows(tmp_path):
    with pytest.warns(XcidWarning, match="1 of 5 rows"):
        explanation = explainer_of(bad_for([2], "raises"), [2])(TABLE[:5])
    explanation.save(tmp_path / "some")
    assert np.array_equal(xcid.load(tmp_path / "some").status, explanation.status)
    explanation.report(tmp_path / "report.html")
    assert "model_failed" in (tmp_path / "report.html").read_text()
    assert explanation.to_frame()["status"].nunique() == 2
    assert "row 2: not explained: the model failed" in explanation[2]._repr_html_()
    assert xcid.plots.bar(explanation, row=2).get_title()


class TestTimeLimit:
    def test_slow_rows_get_a_status(self):
        slow = TABLE[4, 3]

        def model(X):
            if np.any(X[:, 3] == slow):
                time.sleep(0.2)
            return good(X)

        explainer = explainer_of(model, [4], time_limit=0.02)
        with pytest.warns(XcidWarning, match="1 of 8 rows"):
            explanation = explainer(TABLE[:8])
        assert explanation.status.tolist() == ["ok"] * 4 + ["too_slow"] + ["ok"] * 3

    def test_a_model_that_is_always_too_slow(self):
        def model(X):
            time.sleep(0.02)
            return good(X)

        with pytest.raises(TooSlow, match="raise time_limit"):
            xcid.Explainer(model, TABLE, generator=Random(), time_limit=0.001, outcome=xcid.outcomes.Flip())(TABLE[:2])

    def test_bad_limits(self):
        for limit in (0, -1, "soon", float("nan")):
            with pytest.raises(InvalidParameter, match="time_limit"):
                xcid.Explainer(good, TABLE, time_limit=limit)
