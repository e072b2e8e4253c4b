"""Explanations on a Dask cluster of two worker processes of this machine."""

from __future__ import annotations

import os

import pytest

from xcid.engines.dask import explain
from xcid.errors import InvalidData

dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra dask")
distributed = pytest.importorskip("distributed", reason="needs the extra dask")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_workers_find_what_one_process_finds(client, rows, explainer, same):
    frame = dataframe.from_pandas(rows.set_index("id"), npartitions=4)
    same(explain(explainer, frame, seed=3).compute(), seed=3)


def test_a_worker_that_is_killed_changes_nothing(client, rows, deadly, same):
    explainer, grave = deadly
    before = set(client.run(os.getpid).values())
    frame = dataframe.from_pandas(rows, npartitions=6)
    same(explain(explainer, frame, row="id").compute())
    assert int(grave.read_text()) in before  # one of the workers died
    assert int(grave.read_text()) not in client.run(os.getpid).values()


class TestWithoutCluster:
    def test_index_and_partitions_stay(self, rows, explainer):
        frame = dataframe.from_pandas(rows.set_index("id"), npartitions=3)
        scores = explain(explainer, frame)
        assert scores.divisions == frame.divisions
        joined = frame.join(scores).compute(scheduler="synchronous")
        assert joined.index.tolist() == joined["row"].tolist() == rows["id"].tolist()

    def test_types_are_known_before(self, rows, explainer):
        scores = explain(explainer, dataframe.from_pandas(rows.set_index("id"), npartitions=2))
        assert scores.compute(scheduler="synchronous").dtypes.to_dict() == scores.dtypes.to_dict()

    def test_partitions_may_be_empty(self, rows, explainer, same):
        frame = dataframe.from_pandas(rows.set_index("id"), npartitions=3)
        none = frame[frame["a"] > 100]
        assert len(explain(explainer, none).compute(scheduler="synchronous")) == 0
        first = explain(explainer, frame[frame["a"] == 9.5]).compute(scheduler="synchronous")
        assert first["row"].tolist() == [rows["id"].iloc[-1]]

    def test_names_of_rows_may_be_text(self, rows, explainer):
        frame = dataframe.from_pandas(rows.assign(id="r" + rows["id"].astype(str)), npartitions=2)
        scores = explain(explainer, frame, row="id").compute(scheduler="synchronous")
        assert scores["row"].tolist()[:2] == ["r1000", "r1007"]

    def test_tables_are_checked_at_once(self, rows, explainer):
        with pytest.raises(InvalidData, match=r"lacks the columns \['city'\]"):
            explain(explainer, dataframe.from_pandas(rows.drop(columns="city"), npartitions=2))
        with pytest.raises(InvalidData, match="no column 'key' to tell rows apart"):
            explain(explainer, dataframe.from_pandas(rows, npartitions=2), row="key")
        with pytest.raises(InvalidData, match="no Dask data frame but a DataFrame"):
            explain(explainer, rows)
