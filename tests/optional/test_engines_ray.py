"""Explanations in the worker processes of a Ray instance of this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import warnings

import pytest

from xcid.engines.ray import explain
from xcid.errors import InvalidData

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    pytest.importorskip("ray.data", reason="needs the extra ray")

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)  # of Ray itself


@pytest.fixture(scope="module")
def instance():
    """Two workers, reached by a token of this run on the loopback interface only."""
    folder = tempfile.mkdtemp(prefix="ray")  # sockets in there need a short path
    token = os.environ.setdefault("XCID_RAY_TOKEN", secrets.token_hex(32))  # Ray keeps the first of a process
    settings = {"RAY_AUTH_TOKEN": token, "RAY_USAGE_STATS_ENABLED": "0"}
    before = {name: os.environ.get(name) for name in (*settings, "RAY_AUTH_MODE")}  # Ray sets the mode itself
    os.environ.update(settings)
    try:
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            _node_ip_address="127.0.0.1",
            _temp_dir=folder,
            object_store_memory=10**8,
            log_to_driver=False,
            logging_level="ERROR",
        )
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        yield ray
    finally:
        started = ray._private.worker._global_node
        servers = [one.process for each in started.all_processes.values() for one in each] if started else []
        ray.shutdown()
        for server in servers:
            server.wait(timeout=30)  # else Python complains of them when it collects them
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)


def test_workers_find_what_one_process_finds(instance, rows, explainer, same):
    dataset = instance.data.from_pandas(rows).repartition(4)
    same(explain(explainer, dataset, row="id", seed=3).to_pandas(), seed=3)


def test_a_worker_that_is_killed_changes_nothing(instance, rows, deadly, same):
    explainer, grave = deadly
    dataset = instance.data.from_pandas([rows[:30], rows[30:60], rows[60:]])
    same(explain(explainer, dataset, row="id").to_pandas())
    assert int(grave.read_text()) != os.getpid()  # a worker died


def test_blocks_may_be_empty_and_names_text(instance, rows, explainer):
    named = rows.assign(id="r" + rows["id"].astype(str))
    dataset = instance.data.from_pandas([named[:0], named[:3], named[3:3]])
    scores = explain(explainer, dataset, row="id").to_pandas()
    assert scores["row"].tolist() == ["r1000", "r1007", "r1014"]


def test_tables_are_checked_at_once(instance, rows, explainer):
    with pytest.raises(InvalidData, match=r"lacks the columns \['city'\]"):
        explain(explainer, instance.data.from_pandas(rows.drop(columns="city")), row="id")
    with pytest.raises(InvalidData, match="no column 'key' to tell rows apart"):
        explain(explainer, instance.data.from_pandas(rows), row="key")
    with pytest.raises(InvalidData, match="no Ray dataset but a DataFrame"):
        explain(explainer, rows, row="id")
