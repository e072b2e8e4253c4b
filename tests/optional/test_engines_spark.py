"""Explanations in the Python workers of a Spark of this machine."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import warnings

import pytest

from xcid.engines.spark import explain
from xcid.errors import InvalidData

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    pyspark = pytest.importorskip("pyspark", reason="needs the extra spark")
    pytest.importorskip("pyspark.sql", reason="needs the extra spark")

JAVA = shutil.which("java") or os.environ.get("JAVA_HOME")
pytestmark = [
    pytest.mark.skipif(JAVA is None and not os.environ.get("CI"), reason="Spark needs Java 17 or newer"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),  # it says that it does not fully support pandas 3
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # it leaves its sockets to the collector
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """Two cores and four attempts at a task, on the loopback interface only."""
    settings = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    configuration = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # small work: start quickly
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    try:
        builder = pyspark.sql.SparkSession.builder.master("local[2,4]")
        session = builder.config(map=configuration).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        gateway = session.sparkContext._gateway
        session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()  # Java ends with it
        gateway.proc.wait(timeout=30)
        pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None
        gc.collect()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def test_workers_find_what_one_process_finds(session, rows, explainer, same):
    frame = session.createDataFrame(rows).repartition(3)
    scores = explain(explainer, frame, row="id", seed=3)
    assert scores.dtypes[:3] == [("row", "bigint"), ("status", "string"), ("n_evaluations", "bigint")]
    same(scores.toPandas(), seed=3)


def test_a_worker_that_is_killed_changes_nothing(session, rows, deadly, same):
    explainer, grave = deadly
    frame = session.createDataFrame(rows).coalesce(1).repartition(3)
    same(explain(explainer, frame, row="id").toPandas())
    assert int(grave.read_text()) != os.getpid()  # a worker died


def test_partitions_may_be_empty_and_names_text(session, rows, explainer):
    named = rows.assign(id="r" + rows["id"].astype(str))[:2]
    scores = explain(explainer, session.createDataFrame(named).repartition(4), row="id").toPandas()
    assert sorted(scores["row"]) == ["r1000", "r1007"]


def test_tables_are_checked_at_once(session, rows, explainer):
    with pytest.raises(InvalidData, match=r"lacks the columns \['city'\]"):
        explain(explainer, session.createDataFrame(rows.drop(columns="city")), row="id")
    with pytest.raises(InvalidData, match="no column 'key' to tell rows apart"):
        explain(explainer, session.createDataFrame(rows), row="key")
    with pytest.raises(InvalidData, match="no Spark data frame but a DataFrame"):
        explain(explainer, rows, row="id")
