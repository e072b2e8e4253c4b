"""The paper's experiments in a tiny extent: pages are made, pieces are kept, and the paper's figures stay apart."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest

from xcid.errors import InvalidData, InvalidParameter
from xcid_lab.markdown import Table
from xcid_lab.metrics import Interval
from xcid_lab.output import digest, piece
from xcid_lab.reproduction import Settings, measure, ours, pages, published, render, reproduce, sources
from xcid_lab.reproduction.methods import SUBJECTS
from xcid_lab.reproduction.sources import RECORD

for package in ("sklearn", "matplotlib", "shap", "lime", "dice_ml"):
    pytest.importorskip(package, reason="needs the extras bench and plot")

TINY = Settings(rows=4, repeats=1, first_row_repeats=2, dice_genetic_rows=0, m=10)


def quiet(line: str) -> None:
    pass


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reproduction")
    said: list[str] = []
    assert reproduce(folder, TINY, said.append) == folder / "reproduction.html"
    assert said[-1].startswith("written")
    return folder


@pytest.fixture
def copied(out, tmp_path):
    return shutil.copytree(out, tmp_path / "copy")


@pytest.fixture
def calls(monkeypatch):
    """Which pieces are computed."""
    made = []
    for name in ("measure", "first_row"):
        original = getattr(measure, name)

        def counted(subject, method, settings, original=original, name=name):
            made.append((name, subject.table, method.key))
            return original(subject, method, settings)

        monkeypatch.setattr(measure, name, counted)
    return made


class TestPages:
    def test_all_tables_and_figures_are_there(self, out):
        for page in ("reproduction.html", "reproduction.md"):
            text = (out / page).read_text(encoding="utf-8")
            assert all(f"Table {number}. " in text for number in range(1, 9))
            assert all(f"Figure {number}. " in text for number in range(1, 8))
            assert "4 of 154 test rows" in text
            assert "1 runs averaged" in text
            assert "6 of 8 columns hold whole numbers alone (Pregnancies" in text
            assert "the published ones fit " in text
            assert (
                len(re.findall("by the time of CID with the Gaussian one, it takes [0-9.]+ with Epanechnikov", text))
                == 2
            )
            assert "nan" not in re.sub(r"base64,[^\"]*", "", text).split()

    def test_images_are_files_and_small(self, out):
        text = (out / "reproduction.md").read_text(encoding="utf-8")
        images = re.findall(r"\]\((images/[^)]+)\)", text)
        assert len(images) == 7
        for image in images:
            content = (out / image).read_bytes()
            assert content.startswith(b"\x89PNG")
            assert len(content) < 100_000

    def test_html_loads_nothing(self, out):
        text = (out / "reproduction.html").read_text(encoding="utf-8")
        assert text.count('src="data:image/png;base64,') == 7
        assert not re.search(r"(?i)https?:|<script|<link|@import|url\(", text)
        assert set(re.findall(r'src="([^"]{5})', text)) == {"data:"}

    def test_markdown_tables_are_rectangular(self, out):
        text = (out / "reproduction.md").read_text(encoding="utf-8")
        for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1

    def test_text_is_escaped(self):
        evil = '</td><script>alert("1 & 2")</script>|'
        blocks = (
            pages.Heading(1, evil),
            evil,
            [evil],
            Table(evil, (evil,), ((evil,),), evil),
            pages.Picture("x", evil, b"png"),
        )
        page = pages.html_page(blocks)
        assert "<script" not in page
        assert page.count("&lt;script&gt;alert(&quot;1 &amp; 2&quot;)") == 10
        assert not re.search(r"(?<!\\)<script", pages.markdown(blocks, "images"))


def test_constants_score_0_and_the_rest_as_in_the_paper(out):
    scores = {}
    for name in ("cid", "cid-zero"):
        (path,) = (out / "pieces").glob(f"heart-{name}-{'[0-9a-f]' * 12}.npz")
        with np.load(path) as piece:
            scores[name] = piece["runs"]
    kept = scores["cid-zero"] != 0
    assert 0.2 < kept.mean() < 0.8  # at m = 10 many features of Heart never change
    assert np.array_equal(scores["cid"][kept], scores["cid-zero"][kept])
    assert np.all(np.isin(scores["cid"][~kept], [0, 1]))


class TestResuming:
    def test_nothing_is_computed_twice(self, copied, calls):
        before = (copied / "figures.json").read_text()
        reproduce(copied, TINY, quiet)
        assert calls == []
        assert (copied / "figures.json").read_text() == before

    def test_only_what_is_missing_or_broken_is_made(self, copied, calls):
        before = (copied / "figures.json").read_text()
        (lost,) = (copied / "pieces").glob("diabetes-chance-*.npz")
        lost.unlink()
        (torn,) = (copied / "pieces").glob("heart-cid-first-row-*.npz")
        torn.write_bytes(torn.read_bytes()[:100])
        reproduce(copied, TINY, quiet)
        assert calls == [("first_row", "heart", "cid"), ("measure", "diabetes", "chance")]
        assert (copied / "figures.json").read_text() == before

    def test_pages_are_written_from_pieces_alone(self, copied, calls, tmp_path, monkeypatch):
        """By whatever code is there by then: they name what made the figures."""
        monkeypatch.setattr(sources, "digest_sources", lambda: "another")
        monkeypatch.setattr(sources, "find_commit", lambda: "later")
        page = render(copied, tmp_path / "page", TINY, quiet)
        assert calls == []
        assert page.read_text(encoding="utf-8") == (copied / "reproduction.html").read_text(encoding="utf-8")
        assert not (tmp_path / "page" / "pieces").exists()

    def test_pages_are_not_written_from_half_of_the_pieces(self, copied, calls, tmp_path):
        next((copied / "pieces").glob("heart-lime-*.npz")).unlink()
        with pytest.raises(InvalidData, match=r"heart-lime-.* is not there"):
            render(copied, tmp_path, TINY, quiet)
        assert calls == []

    def test_pieces_of_other_sources_are_not_mixed_with_new_ones(self, copied, calls):
        (copied / "pieces" / RECORD).write_text('{"commit": "0123456789ab", "digest": "another"}')
        with pytest.raises(InvalidData, match="made at commit 0123456789ab by other sources"):
            reproduce(copied, TINY, quiet)
        assert calls == []

    def test_other_settings_are_other_pieces(self):
        assert digest({"m": 50}) != digest({"m": 51})

    def test_an_interrupted_piece_leaves_no_file(self, tmp_path):
        def interrupted():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            piece(tmp_path / "a", {}, interrupted)
        assert list(tmp_path.iterdir()) == []

    def test_no_half_written_files_remain(self, out):
        assert not list(out.rglob(".*"))


class TestPublished:
    def test_they_do_not_change_ours(self, copied, monkeypatch):
        before = (copied / "figures.json").read_bytes(), (copied / "reproduction.html").read_text()
        text = re.sub(r"\d\.\d+", "0.77", published.read())
        monkeypatch.setattr(published, "read", lambda: text)
        for path in (copied / "pieces").glob("*.npz"):
            if "-dice-" not in path.name:  # the slowest
                path.unlink()
        reproduce(copied, TINY, quiet)
        assert (copied / "figures.json").read_bytes() == before[0]
        assert (copied / "reproduction.html").read_text() != before[1]

    def test_as_printed(self):
        figures = dict(zip(SUBJECTS, published.load(), strict=True))
        assert figures["diabetes"].agreement["cid, dice"] == Interval(0.46, 0.04)
        assert figures["heart"].comprehensiveness["lime"] == Interval(1.8163, 0.0815)
        assert figures["heart"].sufficiency["genetic"] == Interval(2.1541, 0.0208)
        assert figures["diabetes"].kernels["epanechnikov, exponential"] == Interval(0.60, 0.06)
        assert json.loads(published.read())["source"].startswith("E. Conti")


class TestReadings:
    @pytest.fixture
    def measured(self):
        random = np.random.default_rng(0)
        masked, kept = random.uniform(size=(2, 5, 4))
        kept[:, -1] = masked[:, 0] = full = random.uniform(size=5)
        kept[:, 0] = masked[:, -1]
        runs = random.normal(size=(2, 5, 3))
        predicted = np.array([0.0, 1, 1, 0, 1])
        zero = np.array(0.0)
        return measure.Measured(runs, full, masked, kept, masked, kept, predicted, zero, zero)

    def test_the_reverse_swaps_the_metrics(self, measured):
        comp, suff = ours.FAITHFULNESS["mean, by magnitude, predicted class"](measured)
        reverse = ours.FAITHFULNESS["mean, by magnitude, smallest first, predicted class"]
        np.testing.assert_allclose((comp, suff), reverse(measured)[::-1])

    def test_the_sum_is_d_plus_1_means(self, measured):
        mean, total = (ours.FAITHFULNESS[title](measured) for title in (ours.PRINTED, ours.PLAIN_SUM))
        np.testing.assert_allclose(total, 4 * np.array(mean))

    def test_class_1_turns_the_rows_of_class_0(self, measured):
        comp, _ = ours.FAITHFULNESS["mean, by magnitude, class 1"](measured)
        printed, _ = ours.FAITHFULNESS[ours.PRINTED](measured)
        np.testing.assert_allclose(comp, printed * [-1, 1, 1, -1, 1])

    def test_titles_differ(self):
        assert len(ours.FAITHFULNESS) == len(ours.KERNELS) == 16

    def test_first_titles_are_what_the_paper_says(self):
        assert ours.PRINTED == "mean, by magnitude, predicted class"
        assert ours.PLAIN_SUM == "sum, by magnitude, predicted class"
        assert ours.SIGNED == "mean, by signed score, predicted class"
        assert ours.AS_DESCRIBED == "sets, Silverman, same samples, mean of runs"


def test_difference_is_in_units_of_both_intervals():
    assert published.apart(Interval(0.5, 0.03), Interval(0.6, 0.04)) == pytest.approx(-2)


@pytest.mark.parametrize("wrong", [{"rows": 1}, {"repeats": 0}, {"dice_genetic_rows": 1}, {"m": 1}])
def test_settings_that_cannot_work(wrong):
    with pytest.raises(InvalidParameter):
        Settings(**wrong)


def test_full_is_the_papers_extent():
    assert Settings.full() == Settings(rows=None, repeats=10, first_row_repeats=100, m=50, k=4)
