"""What the engines of clusters run: one pure function, tested without any cluster."""

from __future__ import annotations

import contextlib
import datetime
import pickle
import subprocess
import sys
import threading
import warnings

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import xcid
from xcid.engines import _frames
from xcid.engines._frames import Work, check_picklable
from xcid.errors import InvalidData, InvalidParameter, MissingDependency, ModelError
from xcid.generators import Balanced

TABLE = pd.DataFrame(np.random.default_rng(2).normal(size=(80, 3)), columns=["a", "b", "c"]).round(3)


def probability(frame):
    return 1 / (1 + np.exp(-3 * frame["a"].to_numpy() - frame["b"].to_numpy()))


def explainer_of(model=probability, background=TABLE, **settings):
    return xcid.Explainer(model, background, generator=Balanced(64), **settings)


def work_of(explainer, *, seed=0, row=None, columns=("a", "b", "c", "id"), row_kind="integer"):
    return Work.of(explainer, cloudpickle, seed, row, row_kind, columns)


class TestLines:
    def test_one_a_row_with_the_figures_of_the_explanation(self):
        expected = explainer_of()(TABLE, seed=4)
        lines = work_of(explainer_of(), seed=4)(TABLE)
        assert lines.index.tolist() == lines["row"].tolist() == TABLE.index.tolist()
        assert lines["status"].tolist() == expected.status.tolist()
        for at, name in enumerate(TABLE.columns):
            assert np.array_equal(lines[f"value_{name}"], expected.values[:, at])
            assert np.array_equal(lines[f"importance_{name}"], expected.importance[:, at])
            assert np.array_equal(lines[f"lower_{name}"], expected.lower[:, at])
            assert np.array_equal(lines[f"upper_{name}"], expected.upper[:, at])
            assert np.array_equal(lines[f"p_value_{name}"], expected.p_values[:, at])

    def test_long_partitions_are_explained_in_pieces(self, monkeypatch):
        whole = work_of(explainer_of())(TABLE)
        monkeypatch.setattr(_frames, "ROWS", 7)
        pieces = work_of(explainer_of())(TABLE)
        pd.testing.assert_frame_equal(whole, pieces, check_exact=False, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("row_kind", ["integer", "text"])
    def test_types_are_those_that_were_promised(self, row_kind):
        work = work_of(explainer_of(), row_kind=row_kind)
        promised, none, some = work.empty(), work(TABLE[:0]), work(TABLE[:2])
        assert list(work.schema) == list(promised.columns)
        assert promised.dtypes.to_dict() == none.dtypes.to_dict() == some.dtypes.to_dict()
        assert len(promised) == len(none) == 0

    def test_a_setting_that_does_not_calibrate_has_the_same_columns(self):
        lines = work_of(xcid.Explainer.paper(probability, TABLE))(TABLE[:3])
        assert lines[["lower_a", "upper_b", "p_value_c"]].isna().all().all()
        assert lines["value_a"].gt(0).all()

    def test_other_columns_and_their_order_do_not_matter(self):
        mixed = TABLE.assign(other="text", id=TABLE.index + 5)[["other", "c", "id", "a", "b"]]
        work = work_of(explainer_of(), row="id")
        assert work.needed == ["a", "b", "c", "id"]
        lines = work(mixed)
        assert np.array_equal(lines["value_a"], work_of(explainer_of())(TABLE)["value_a"])
        assert lines["row"].tolist() == (TABLE.index + 5).tolist()

    def test_groups_have_one_value(self):
        grouped = explainer_of(constraints=xcid.Constraints(groups={"pair": ["a", "c"]}))
        lines = work_of(grouped)(TABLE[:4])
        assert {name for name in lines if name.startswith("value_")} == {"value_pair", "value_b"}
        assert np.array_equal(
            lines[[f"value_{name}" for name in grouped.subject.features.names]], grouped(TABLE[:4]).values
        )

    def test_days_of_arrow_are_days(self):
        """Spark and Arrow give days as objects."""
        days = pd.date_range("2024-01-01", periods=len(TABLE))
        dated = TABLE.assign(day=days)
        explainer = explainer_of(background=dated)
        objects = dated.assign(day=[datetime.date(day.year, day.month, day.day) for day in days])
        lines = work_of(explainer, columns=objects.columns)(objects[:5])
        assert np.array_equal(lines["value_day"], explainer(dated[:5]).values[:, 3])

    def test_rows_need_names(self):
        work = work_of(explainer_of(), row="id")
        with pytest.raises(InvalidData, match="1 of 2 rows have no name"):
            work(TABLE[:2].assign(id=[1, np.nan]))


class TestTrouble:
    """A partition is a part: what its rows lack is said by their status, and other partitions go on."""

    def test_rows_keep_their_status_without_a_warning(self):
        def rare(frame):
            return (frame["a"] > 2.2).to_numpy().astype(float)

        few = explainer_of(rare)
        expected = few(TABLE)
        lines = work_of(few)(TABLE)  # a warning would be an error
        assert lines["status"].tolist() == expected.status.tolist()
        assert {"no_flips", "few_flips"} <= set(expected.status)

    def test_no_flips_at_all_in_a_partition(self):
        """The background is all on one side; of the rows only one has flips."""

        def beyond(frame):
            return (frame["a"] > 10).to_numpy().astype(float)

        table = pd.concat([TABLE[:4], TABLE[4:5].assign(a=11.0)], ignore_index=True)
        explainer = explainer_of(beyond)
        expected = explainer(table)
        work = work_of(explainer)
        parts = pd.concat([work(table[:4]), work(table[4:])])
        assert parts["status"].tolist() == expected.status.tolist()
        assert np.array_equal(parts["value_a"], expected.values[:, 0])
        assert parts["n_flips"].tolist()[:4] == [0] * 4

    @pytest.mark.parametrize("setting", [xcid.Explainer, xcid.Explainer.paper])
    def test_a_model_that_fails_for_all_rows_of_a_partition(self, setting):
        def fails(frame):
            if (frame["c"] == 77).any():
                raise ValueError("no answer")
            return probability(frame)

        table = pd.concat([TABLE[:3], TABLE[3:4].assign(c=77.0)], ignore_index=True)
        explainer = setting(fails, TABLE)
        with pytest.warns(xcid.XcidWarning, match="1 of 4 rows could not be explained"):
            expected = explainer(table)
        lines = work_of(explainer)(table[3:])
        assert lines["status"].tolist() == expected.status.tolist()[3:] == ["model_failed"]
        assert lines["value_a"].tolist() == [0]
        limits = [np.nan] if expected.lower is None else expected.lower[3:, 0]
        assert np.array_equal(lines["lower_a"], limits, equal_nan=True)

    def test_a_model_that_is_broken(self):
        broken = []

        def breaks(frame):
            if broken:
                raise ValueError("the service is gone")
            return probability(frame)

        work = work_of(explainer_of(breaks))
        _frames.loaded(work.payload).subject.predict.call.__closure__[0].cell_contents.append(1)
        with pytest.raises(ModelError, match="the service is gone"):
            work(TABLE[:3])


class TestPickling:
    def test_work_travels_by_plain_pickle(self):
        work = work_of(explainer_of(lambda frame: probability(frame)))
        again = pickle.loads(pickle.dumps(work))
        pd.testing.assert_frame_equal(again(TABLE[:3]), work(TABLE[:3]))

    def test_plans_and_what_follows_from_them_stay_at_home(self):
        explainer = explainer_of()
        before = len(check_picklable(explainer, cloudpickle))
        explainer(TABLE)
        assert len(check_picklable(explainer, cloudpickle)) < before + 1000

    def test_an_explainer_is_loaded_once_in_a_process(self):
        payload = work_of(explainer_of()).payload
        assert _frames.loaded(payload) is _frames.loaded(bytes(bytearray(payload)))

    def test_the_part_that_cannot_travel_is_named(self):
        class Session:
            def __init__(self):
                self.options = {"lock": threading.Lock()}

            def predict(self, frame):
                return probability(frame)

        session = Session()
        with pytest.raises(InvalidParameter, match=r"explainer\.[^ ]*\.options\['lock'\] is a \S*lock, which"):
            work_of(explainer_of(session))
        with pytest.raises(InvalidParameter, match=r"explainer\.[^ ]* -> session\.options\['lock'\] is a \S*lock"):
            work_of(explainer_of(lambda frame: session.predict(frame)))

    def test_plain_pickle_takes_no_lambda_and_says_so(self):
        matrix = TABLE.to_numpy()
        explainer = xcid.Explainer(lambda X: X[:, 0] > 0, matrix, feature_names=list(TABLE))
        with pytest.raises(InvalidParameter, match=r"explainer\.\S+ is a function, which cannot be pickled"):
            check_picklable(explainer)
        assert check_picklable(explainer, cloudpickle)

    def test_a_model_that_cannot_be_loaded_again(self):
        class Model:
            def __setstate__(self, state):
                raise RuntimeError("no such file")

            def __getstate__(self):
                return {"some": "state"}

            def predict(self, frame):
                return probability(frame)

        with pytest.raises(InvalidParameter, match=r"not be loaded again \(RuntimeError: no such file\)"):
            work_of(explainer_of(Model()))


class TestProcess:
    def test_matrix_products_have_one_core(self):
        def spying(frame):
            cores = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
            assert not spying_now or cores == {1}, cores
            return probability(frame)

        spying_now = []
        work = work_of(explainer_of(spying))
        cells = dict(
            zip(spying.__code__.co_freevars, _frames.loaded(work.payload).subject.predict.call.__closure__, strict=True)
        )
        cells["spying_now"].cell_contents.append(1)
        with threadpool_limits(2, "blas"):
            assert work(TABLE[:2])["status"].tolist() == ["ok", "ok"]
            assert 2 in {pool["num_threads"] for pool in threadpool_info()}  # as it was

    def test_threads_share_the_settings_of_the_process(self):
        """They hold until the last one leaves, and then all is as it was."""
        before, shared = list(warnings.filters), _frames._AloneAndQuiet()
        with contextlib.ExitStack() as first:
            with contextlib.ExitStack() as second:
                second.enter_context(shared)
                first.enter_context(shared)
            warnings.warn("of a row", xcid.XcidWarning, stacklevel=1)  # would be an error
        assert list(warnings.filters) == before
        with pytest.raises(xcid.XcidWarning):
            warnings.warn("of a row", xcid.XcidWarning, stacklevel=1)

    def test_engines_load_no_library_before_they_are_called(self):
        code = "import sys, xcid.engines as e; e.dask.explain, e.ray.explain, e.spark.explain; "
        code += "sys.exit(repr([m for m in ('dask', 'ray', 'pyspark', 'pandas') if m in sys.modules] or ''))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.stderr.strip() == "''"

    @pytest.mark.parametrize(("engine", "package"), [("dask", "dask"), ("ray", "ray"), ("spark", "pyspark")])
    def test_without_the_library_there_is_a_line_to_install_it(self, engine, package, monkeypatch):
        for name in list(sys.modules):
            if name == package or name.startswith(f"{package}."):
                monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, package, None)
        explain = getattr(xcid.engines, engine).explain
        with pytest.raises(MissingDependency, match=rf'needs {package}, .*: pip install -e "\.\[{engine}\]"'):
            explain(explainer_of(), TABLE, row="a")
