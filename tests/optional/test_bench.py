"""A small case of ``xcid bench``: it measures what it says, keeps it, and fails where something became slow."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from xcid import cli
from xcid.errors import InvalidFile
from xcid.explainer import Explainer
from xcid_lab.bench import profile, sizes, timing
from xcid_lab.bench.pictures import draw_growth
from xcid_lab.bench.record import Figure, Record, load, page, save, slower
from xcid_lab.markdown import Table
from xcid_lab.subjects import Timed

for package in ("sklearn", "pandas", "shap", "lime", "dice_ml"):
    pytest.importorskip(package, reason="needs the extra bench")


TINY = """
from pathlib import Path
from xcid_lab import bench
from xcid_lab.bench import profile
from xcid_lab.bench.record import save
extent = bench.Extent(
    name="tiny", rounds=3, rows=100, peer_rows=1, stack_rows=1, stack_tables=("diabetes",), tables=("diabetes",),
    models=("logistic",), density_items=10, turn=0.05, growing_rows=(200, 1_000), growing_columns=(10, 60),
    growing_samples=(500, 2_000), growing_m=(50, 150), streamed_rows=(200, 600), worker_rows=20,
    tree_tables=("diabetes",), tree_models=("forest",), tree_rows=32, tree_peer_rows=4,
    sized_rows=(1, 9), sized_columns=(8, 20), sized_reference=(100, 200), sized_trees=(9,), sized_classes=(3,),
    whole_rows=900, whole_reported=20, whole_rounds=1, whole_before="",
)
{before}
save(bench.measure(extent, print, {steps}), Path({path!r}))
"""
A_LOOP_OVER_ROWS = """
from xcid.scores import Adjusted
from xcid.records import Scores
import numpy as np
whole = Adjusted.__call__
def row_by_row(self, cloud):
    parts = [whole(self, cloud[[row]]) for row in range(len(cloud))]
    return Scores(*(part[0] if part[0] is None else np.concatenate(part) for part in zip(*parts)))
Adjusted.__call__ = row_by_row
"""


def measured(path, before="", steps="bench.STEPS"):
    """A run in a process of its own, with one thread."""
    code = TINY.format(before=before, steps=steps, path=os.fspath(path))
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **timing.ONE_THREAD}, check=True, timeout=600)
    return load(path)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("bench") / "tiny.json")


def figure(value, better="higher", key="a", **more):
    return Figure(key, "group", f"what of {key}", value, better=better, **more)


def made(*figures):
    return Record({"date": "2026-01-01", "extent": "tiny"}, figures, (Table("numbers", ("a", "b"), (("x", 1.5),)),))


def values_of(record):
    return {one.key: one.value for one in record.figures}


class TestTolerances:
    """Far from what is measured on a quiet machine (behind the bound), so that a busy one passes."""

    @pytest.mark.parametrize(
        ("key", "least"),
        [
            ("stack/diabetes/logistic/50", 150),  # 800
            ("peers/diabetes/logistic/KernelSHAP", 8),  # 30
            ("peers/diabetes/logistic/LIME", 12),  # 60
            ("density/paper", 5),  # 18
            ("density/recommended", 200),  # 1,100
            ("trees/diabetes/forest/xcid, called", 1.5),  # 4 by NumPy, 20 compiled
            ("exact/diabetes/forest/TreeSHAP, interventional", 5),  # 30, compiled
        ],
    )
    def test_faster_than_others(self, record, key, least):
        assert values_of(record)[key] > least

    @pytest.mark.parametrize(
        ("key", "most"),
        [
            ("overhead/diabetes/logistic", 15),  # 6 to 9, and 30 with a loop over rows
            ("growth/rows", 1.8),  # 1.1
            ("growth/columns", 1.3),  # 0.85
            ("growth/samples", 1.3),  # 0.9
            ("growth/m", 1.3),  # 0.4
            ("density/paper/error", 1e-3),
            ("density/recommended/error", 1e-3),
            ("start/import xcid", 2.0),  # 0.03
        ],
    )
    def test_small(self, record, key, most):
        assert values_of(record)[key] < most

    def test_a_loop_over_rows_is_seen(self, tmp_path):
        """What these tests are for: the tolerances are narrow enough."""
        slow = measured(tmp_path / "slow.json", A_LOOP_OVER_ROWS, '{"profile": profile.profile}')
        assert values_of(slow)["overhead/diabetes/logistic"] > 15


class TestRecord:
    def test_every_step_gives_its_figures(self, record):
        assert {one.key.partition("/")[0] for one in record.figures} == {
            "stack",
            "peers",
            "trees",
            "exact",
            "overhead",
            "density",
            "workers",
            "growth",
            "memory",
            "whole",
            "start",
        }
        for one in record.figures:
            assert (one.value is not None and one.value > 0) or one.detail
        assert len({one.key for one in record.figures}) == len(record.figures)

    def test_about(self, record):
        assert re.match(r"\d{4}-\d\d-\d\d", record.about["date"])
        assert "cores" in record.about["machine"]
        assert "numpy" in record.about["versions"]

    def test_shares_of_the_profile_make_a_whole(self, record):
        (table,) = (table for table in record.tables if table.title == "where the time goes")
        for line in table.lines:
            shares = [int(cell.rstrip("%")) for cell in line[2:]]
            assert sum(shares) == pytest.approx(100, abs=5)
            assert min(shares[:-1]) > 0  # a stage that nothing calls any more has no share

    def test_the_way_to_a_file_and_back(self, tmp_path):
        record = made(figure(2.0, target=1.0), figure(None, key="b", detail="no engine"))
        save(record, tmp_path / "new" / "run.json")
        assert load(tmp_path / "new" / "run.json") == record

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"about": {}, "figures": [{"x": 1}], "tables": []}'])
    def test_other_files_are_refused(self, tmp_path, text):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(InvalidFile, match=r"run\.json"):
            load(tmp_path / "run.json")

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(InvalidFile, match="cannot be read"):
            load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("value", "better", "met"),
    [
        (10.0, "higher", True),
        (9.9, "higher", False),
        (10.0, "lower", True),
        (10.1, "lower", False),
        (None, "lower", None),
    ],
)
def test_met(value, better, met):
    assert figure(value, better, target=10.0).met is met


def test_slower_since():
    """Less of a ratio and more of an exponent are both worse; what only one run has is left alone."""
    before = made(figure(10.0), figure(1.0, "lower", "b"), figure(10.0, key="c"), figure(5.0, key="gone"))
    now = made(figure(5.0), figure(3.0, "lower", "b"), figure(9.0, key="c"), figure(1.0, key="new"))
    found = slower(before, now)
    assert [line[0] for line in found.lines] == ["what of b", "what of a"]
    assert found.note.startswith("3 figures compared")
    assert slower(before, before).lines == ()


class TestPage:
    def test_misses_are_shown(self):
        text = page(made(figure(5.0, target=10.0), figure(20.0, key="b", target=10.0)))
        assert "1 of 2 targets met" in text
        assert re.search(r"what of a .* 5x .* NOT MET", text)
        assert "- what of a: 5x where ≥ 10x is wanted" in text
        assert "- what of b" not in text

    def test_what_was_not_measured_says_why(self):
        text = page(made(figure(None, target=10.0, detail="this machine has one core")))
        assert re.search(r"not measured .* this machine has one core", text)
        assert "0 of 1 targets met" in text

    def test_tables_are_rectangular(self, record):
        tables = re.findall(r"(?:^\|.*\n)+", page(record), flags=re.MULTILINE)
        assert len(tables) == 1 + len(record.tables)
        for table in tables:
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


class TestTiming:
    def test_contestants_take_turns(self):
        calls = []
        contestants = [timing.Contestant(name, lambda name=name: calls.append(name), warm=list) for name in "ab"]
        found = timing.race(contestants, 3)
        assert "".join(calls) == "ababab"
        assert len(found["a"].cpu) == len(found["b"].wall) == 3

    def test_short_calls_are_repeated(self, monkeypatch):
        calls, clock = [], itertools.count()
        monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock) / 8)  # a turn takes an eighth of a second
        timing.race([timing.Contestant("a", lambda: calls.append(0))], 1, least=5)
        assert len(calls) == 1 + 1 + 40  # to warm up, to see how long it takes, and then five seconds of them

    def test_seconds_a_unit(self):
        slow, fast = timing.Timing((3.0, 6.0, 30.0), (1.0, 2.0, 10.0)), timing.Timing((1.0,) * 3, (1.0, 1.0, 2.0))
        assert timing.ratio(slow, fast) == 2
        assert timing.wall_ratio(slow, fast) == 6

    def test_stages_do_not_count_what_is_inside(self):
        def burn(seconds):
            until = time.process_time() + seconds
            while time.process_time() < until:
                np.ones(100).sum()

        stages = profile.Stages()
        inner = stages.timed(profile.MODEL, lambda: burn(0.04))
        outer = stages.timed("making samples", lambda: (burn(0.02), inner(), burn(0.02)))
        with stages.watching():
            outer()
        assert stages.seconds[profile.MODEL] == pytest.approx(0.04, abs=0.015)
        assert stages.seconds["making samples"] == pytest.approx(0.04, abs=0.015)
        assert stages.seconds[profile.REST] < 0.015

    def test_the_time_of_a_timed_model_is_seen(self):
        model = Timed(lambda X: sum(np.exp(-(X**2)).sum(axis=1) for _ in range(50)) / 500)
        Explainer(model, np.random.default_rng(0).normal(size=(200, 4)))
        assert model.seconds > 0

    def test_watching_leaves_no_trace(self):
        before = {place: getattr(*place) for place in profile.STAGES.values()}
        with pytest.raises(ValueError, match="stop"), profile.Stages().watching():
            raise ValueError("stop")
        assert {place: getattr(*place) for place in profile.STAGES.values()} == before


class TestSizes:
    def test_every_size_has_its_time_and_its_peak(self, record):
        found = [table for table in record.tables if table.title.startswith(sizes.TITLE)]
        assert [len(table.lines) for table in found] == [2, 2, 2, 1, 1]
        assert all(cell > 0 for table in found for line in table.lines for cell in line[1:])
        assert draw_growth(record.tables).startswith(b"\x89PNG")

    def test_what_grows_faster_than_its_size_is_named(self):
        lines = [("10", 1.0, 1.0, 100.0), ("100", 11.0, 20.0, None), ("1,000", 100.0, 100.0, 9_999.0)]
        said = sizes.name_stretches([10, 100, 1_000], lines, is_rows=False)
        assert said == "More than linear: s, set-up and first row from 10 to 100 (exponent 1.3)."

    def test_no_time_left(self):
        assert sizes._of_process("rows", 10, 0.0) == (None, None, None, None)


def test_whole_runs_are_done_by_this_version_alone_outside_a_checkout(record):
    (table,) = (table for table in record.tables if table.title == "whole runs")
    assert len(table.lines) == 10
    assert all(before is None and now > 0 for _, before, now in table.lines)


class TestCommand:
    def test_starts_anew_with_one_thread(self, monkeypatch, tmp_path):
        started = []
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        monkeypatch.setattr(subprocess, "call", lambda command, env: started.append((command, env)) or 0)
        assert cli.main(["bench", "--quick", "--quiet", "--out", "a.json", "--page", "b.md"]) == 0
        ((command, environment),) = started
        files = ["--out", str(Path("a.json").absolute()), "--page", str(Path("b.md").absolute())]
        assert command[1:] == ["-m", "xcid", "bench", "--quick", "--quiet", *files]
        assert environment["OMP_NUM_THREADS"] == "1"

    @pytest.fixture
    def limited(self, monkeypatch, record):
        for name, value in timing.ONE_THREAD.items():
            monkeypatch.setenv(name, value)
        asked = []
        monkeypatch.setattr("xcid_lab.bench.measure", lambda extent, say, steps: asked.append(extent.name) or record)
        return asked

    def test_keeps_and_prints(self, limited, record, tmp_path, capsys):
        out, written = tmp_path / "out" / "run.json", tmp_path / "speed.md"
        assert cli.main(["bench", "--quick", "--out", str(out), "--page", str(written)]) == 0
        assert limited == ["quick"]
        assert load(out) == record
        assert written.read_text(encoding="utf-8") == page(record)
        assert "targets met" in capsys.readouterr().out

    def test_against_an_earlier_run(self, limited, record, tmp_path, capsys):
        better = replace(
            record, figures=tuple(replace(one, value=1e6) for one in record.figures if one.better == "higher")
        )
        save(better, tmp_path / "before.json")
        paths = ["--against", str(tmp_path / "before.json"), "--out", str(tmp_path / "now.json")]
        assert cli.main(["bench", "--full", *paths]) == 0
        assert limited == ["full"]
        assert "## What became slower" in capsys.readouterr().out

    def test_one_step_alone(self, limited, tmp_path, capsys):
        assert cli.main(["bench", "--only", "trees", "--out", str(tmp_path / "now.json")]) == 0
        assert cli.main(["bench", "--only", "leaves"]) == 2
        assert "no step begins with 'leaves'" in capsys.readouterr().err
        assert limited == ["default"]

    def test_a_wrong_record_is_found_before_the_long_part(self, limited, tmp_path, capsys):
        (tmp_path / "before.json").write_text("no record")
        assert cli.main(["bench", "--against", str(tmp_path / "before.json")]) == 2
        assert limited == []
        assert "no record of `xcid bench`" in capsys.readouterr().err
