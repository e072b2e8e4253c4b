"""The explorer as an auditor uses it, in a real browser: rows are found, files saved, fields checked, rows compared."""

from __future__ import annotations

import csv
import io
import time

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.app import Session

from .test_app import NAMES, Keys, Model, Page, due, make_table, served

WIDTHS = (390, 1024, 1600)
MARKUP = "<img src=x onerror=window.pwned=1>"
OVER_THE_EDGE = """
const wide = document.documentElement.clientWidth;
const isSeen = (node) => node.checkVisibility() && node.textContent.trim() && !node.closest(".unseen, .skip");
const boxOf = (node) => [node.textContent, node.getBoundingClientRect()];
return [...document.querySelectorAll(arguments[0])].filter(isSeen).map(boxOf)
  .filter(([, box]) => box.left < 0 || box.right > wide + 0.5).map(([text]) => text.slice(0, 60));
"""
LAID_OVER = """
const found = [];
for (const row of document.querySelectorAll(arguments[0])) {
  const isSeen = (node) => node.textContent.trim();
  const parts = [...row.children].filter(isSeen).map((node) => [node.textContent, node.getBoundingClientRect()]);
  parts.forEach(([text, box], at) => parts.slice(at + 1).forEach(([other, beside]) => {
    const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
    const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
    if (across > 0.5 && down > 0.5) found.push([text, other]);
  }));
}
return found;
"""


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def session(table):
    rows = pd.concat([table] * 63, ignore_index=True)[:10_000]
    names = [f"P-{at:05d}" for at in range(len(rows))]
    names[17] = MARKUP
    return Session(Model(), table, rows, names, "Who is ill", ["A note."])


@pytest.fixture(scope="module")
def address(session, browser):
    with served(session, browser) as found:
        yield found


@pytest.fixture
def page(browser, screen, address):
    browser.get_log("browser")
    yield Page(browser, address)
    browser.get("about:blank")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def listed(page):
    return page.texts("#row-list li > bdi")


class TestRows:
    def test_any_row_by_a_part_of_its_name(self, page, table):
        field = page.one("#row")
        assert (field.get_attribute("value"), page.text("#row-count")) == ("P-00000", "(10,000 in all)")
        assert not page.one("#row-box").is_displayed()
        field.click()
        page.until(lambda: len(listed(page)) == 20)
        field.send_keys("0876")
        page.until(lambda: listed(page)[0] == "P-00876")
        assert listed(page)[1:] == [f"P-0876{at}" for at in range(10)]
        assert field.get_attribute("aria-expanded") == "true"
        assert page.one(f"#{field.get_attribute('aria-activedescendant')}").get_attribute("aria-selected") == "true"
        with page.answered():
            field.send_keys(Keys.DOWN, Keys.ENTER)
        assert page.text("#summary-title") == "Row P-08760"
        assert page.text("#sentences") == due(table, 8760 % len(table))
        assert field.get_attribute("value") == "P-08760"
        assert page.focused == field

    def test_by_number_and_at_once(self, page, table):
        page.pick("9999")  # Enter comes before the list does
        assert page.text("#summary-title") == "Row P-09999"
        assert not page.one("#next").is_enabled()
        with page.answered():
            page.one("#previous").click()
        assert page.text("#summary-title") == "Row P-09998"
        assert page.text("#sentences") == due(table, 9998 % len(table))
        with page.answered():
            page.one("#undo").click()
        assert page.one("#row").get_attribute("value") == "P-09999"

    def test_arrows_go_through_all_rows(self, page):
        field = page.one("#row")
        field.send_keys(Keys.DOWN)
        page.until(lambda: listed(page)[:1] == ["P-00000"])
        assert page.text("#row-said") == "1 to 20 of 10,000 rows: type part of a name, or a number"
        field.send_keys(Keys.DOWN * 20)
        page.until(lambda: listed(page)[:1] == ["P-00020"])
        field.send_keys(Keys.UP)
        page.until(lambda: listed(page)[:1] == ["P-00000"])
        assert page.text("#row-list [aria-selected=true] bdi") == "P-00019"

    def test_escape_and_leaving_change_nothing(self, page):
        field, before = page.one("#row"), page.edition
        for leave in (Keys.ESCAPE, Keys.TAB):
            field.click()
            field.send_keys("0876")
            page.until(lambda: page.one("#row-box").is_displayed())
            field.send_keys(leave)
            assert not page.one("#row-box").is_displayed()
            assert field.get_attribute("value") == "P-00000"
        time.sleep(0.3)  # what was asked before must not open the list again
        assert not page.one("#row-box").is_displayed()
        assert page.edition == before

    def test_by_mouse(self, page):
        page.one("#row").click()
        page.until(lambda: len(listed(page)) == 20)
        with page.answered():
            page.browser.find_elements("css selector", "#row-list li")[2].click()
        assert page.text("#summary-title") == "Row P-00002"

    def test_what_is_typed_is_text(self, page):
        field = page.one("#row")
        field.click()
        field.send_keys("<img src=x")
        page.until(lambda: listed(page) == [MARKUP])
        field.send_keys("<script>")
        page.until(lambda: listed(page) == [])
        assert page.text("#row-said") == "No row has this in its name, or this number."
        field.send_keys(Keys.ENTER)
        assert page.run("return window.pwned") is None
        assert page.run("return document.querySelectorAll('img').length") == 0


@pytest.fixture
def folder(browser, tmp_path):
    """Where the browser saves files."""
    where = {"behavior": "allow", "downloadPath": str(tmp_path)}
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", where)
    yield tmp_path
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "default"})


class TestFiles:
    def test_the_page_as_files(self, page, folder, table):
        with page.answered():
            page.control("glucose", "input[type=range]").send_keys(Keys.END)
        found = {}
        for kind in ("report", "table", "counterfactuals"):
            page.one("#save summary").click()
            page.one(f"#save button[value={kind}]").click()
            page.until(lambda kind=kind: list(folder.glob(f"xcid-{kind}-P-00000-edited.*[lv]")))
            (path,) = folder.glob(f"xcid-{kind}-*")
            page.until(lambda path=path: path.stat().st_size)
            found[path.suffix, kind] = path
            assert not page.one("#save .menu").is_displayed()
            page.until(lambda path=path: page.text("#said") == f"{path.name} is saved.")
        edited = table[:1].assign(glucose=table["glucose"].max())
        lines = list(csv.DictReader(io.StringIO(found[".csv", "table"].read_text("utf-8"))))
        assert [float(line["value"]) for line in lines] == pytest.approx(
            xcid.Explainer(Model(), table)(edited).values[0].tolist()
        )
        assert len(list(csv.DictReader(io.StringIO(found[".csv", "counterfactuals"].read_text("utf-8"))))) == 3
        sentences = page.text("#sentences")
        page.browser.get(found[".html", "report"].as_uri())
        page.until(lambda: page.text("#sentences") == sentences)
        assert "Row P-00000 was edited: glucose" in page.text("#notes")

    def test_by_keyboard(self, page):
        summary = page.one("#save summary")
        summary.send_keys(Keys.ENTER)
        page.until(lambda: page.one("#save .menu").is_displayed())
        page.one("#save button").send_keys(Keys.ESCAPE)
        assert not page.one("#save .menu").is_displayed()
        assert page.focused == summary


class TestFields:
    def test_what_is_no_number_says_so_beside_the_field(self, page):
        before, own = page.edition, page.control("glucose", ".exact").get_attribute("value")
        field = page.type_into("glucose", "abc")
        assert page.beside("glucose") == (f"“abc” is not a number; {own} still counts.", "true")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(Keys.BACK)
        assert page.beside("glucose") == (f"Empty; {own} still counts.", "true")
        assert page.edition == before
        with page.answered():
            page.type_into("glucose", "120")
        assert page.beside("glucose") == ("", "false")

    @pytest.mark.parametrize(
        ("typed", "value"),
        [("0,9", "0.9"), ("-0,25", "-0.25"), ("−2", "-2"), ("1.5e1", "15"), (" 3 ", "3"), ("1.234,5", "1234.5"),
         ("1,234.5", "1234.5"), ("1 234,5", "1234.5"), ("1,234,567", "1234567"), ("0,900", "0.9"), (",5", "0.5")],
    )  # fmt: skip
    def test_numbers_as_people_write_them(self, page, typed, value):
        with page.answered():
            field = page.type_into("bmi" if page.control("bmi", ".exact").is_enabled() else "age", typed)
        field.send_keys(Keys.TAB)
        assert field.get_attribute("value") == value
        assert field.get_attribute("aria-invalid") == "false"

    @pytest.mark.parametrize("typed", ["1,234", "1.2.3", "1,2,3", "--1", "0x10", "Infinity", "1e999", "<b>"])
    def test_what_could_be_two_numbers_or_none_is_refused(self, page, typed):
        page.type_into("age", typed)
        said, invalid = page.beside("age")
        assert invalid == "true"
        assert typed in said
        if typed == "1,234":
            assert said.startswith("“1,234” can be 1.234 or 1234: write one of these; ")

    def test_a_column_of_whole_numbers(self, page):
        page.type_into("visits", "2.5")
        assert page.beside("visits") == ("2.5 is no whole number; 2 still counts.", "true")

    def test_beyond_the_reference_data(self, page, table):
        with page.answered():
            page.type_into("glucose", "333.25")
        said, invalid = page.beside("glucose")
        low, high = table["glucose"].min(), table["glucose"].max()
        assert (said, invalid) == (f"Outside the reference data ({low:g} to {high:g}); it still counts.", "false")
        page.until(lambda: page.text("#sentences") == due(table, edits={"glucose": 333.25}))
        with page.answered():
            page.one("#undo").click()
        assert page.beside("glucose")[0] == ""

    def test_the_level_of_a_question(self, page, table):
        page.choose("#ask", "threshold")
        level = page.one("#level")
        level.send_keys(Keys.CONTROL, "a")
        level.send_keys(Keys.BACK)
        assert page.text("#beside-level") == "Empty; 0.5 still counts."
        assert level.get_attribute("aria-invalid") == "true"
        with page.answered():
            level.send_keys("0,9")
        page.until(lambda: page.text("#sentences") == due(table, outcome=xcid.outcomes.Threshold(0.9, "ill")))
        assert page.text("#beside-level") == ""
        assert not page.one("#problem").is_displayed()


class TestSideBySide:
    @staticmethod
    def shown(page):
        page.until(lambda: page.one("#pair").get_attribute("aria-busy") == "false" and page.texts(".pair-feature"))
        return [text.split("B − A")[0] for text in page.texts(".pair-head")]

    def test_two_rows(self, page, table):
        page.one("#compare").click()
        assert "A and B are the same" in page.text("#pair-said")
        assert page.focused == page.one("#pair")
        with page.answered():
            page.one("#next").click()
        names = self.shown(page)
        explainer = xcid.Explainer(Model(), table)
        due = explainer(table[:1]).compare(explainer(table[1:2]), names=("A", "B"), towards="ill")
        order = np.argsort(-np.abs(due.difference), kind="stable")
        assert names[0].startswith(NAMES[order[0]])
        assert page.texts("#pair-rows h3 bdi") == ["Row P-00000", "Row P-00001"]
        assert page.texts("#pair-rows p")[1] in page.text("#answer")
        assert page.texts("#pair-said li")[0].startswith(f"{NAMES[order[0]]}: ")
        gap = page.texts(".gap")[0].removeprefix("B − A: ").replace("−", "-")
        assert float(gap) == pytest.approx(due.difference[order[0]], abs=0.001)

    def test_a_row_beside_itself_as_it_was(self, page):
        page.one("#compare").click()
        with page.answered():
            page.control("glucose", "input[type=range]").send_keys(Keys.END)
        assert self.shown(page)[0] == "glucose"
        assert page.texts("#pair-rows h3 bdi") == ["Row P-00000", "Row P-00000, edited"]
        assert all("same value" in text for text in page.texts(".pair-head")[1:])
        with page.answered():
            page.one("#undo").click()
        page.until(lambda: "A and B are the same" in page.text("#pair-said"))
        assert page.texts(".pair-feature") == []

    def test_the_question_of_now_is_about_both(self, page):
        page.one("#compare").click()
        with page.answered():
            page.one("#next").click()
        self.shown(page)
        page.choose("#ask", "threshold")
        self.shown(page)
        assert not page.one("#problem").is_displayed()

    def test_it_can_be_closed(self, page):
        page.one("#compare").click()
        assert page.one("#to-pair").is_displayed()
        page.one("#pair-drop").click()
        assert not page.one("#pair").is_displayed()
        assert not page.one("#to-pair").is_displayed()
        assert page.focused == page.one("#compare")
        with page.answered():
            page.one("#next").click()
        assert not page.one("#pair").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_everything_has_room(page, screen, width, scheme):
    screen(width=width, scheme=scheme)
    page.one("#row").click()
    page.until(lambda: len(listed(page)) == 20)
    assert page.run(OVER_THE_EDGE, "#row-list li, #row-said") == []
    page.one("#row").send_keys(Keys.ESCAPE)
    page.one("#save summary").click()
    assert page.run(OVER_THE_EDGE, "#save button") == []
    page.one("#compare").click()
    with page.answered():
        page.one("#next").click()
    TestSideBySide.shown(page)
    page.type_into("glucose", "abc")
    page.sought()
    assert page.run(OVER_THE_EDGE, "p, h2, h3, li, button, .beside, .side span, .pair-head span") == []
    assert page.run(LAID_OVER, ".side, .pair-head, .choices, .now, .control .head") == []
    assert page.run("return document.documentElement.scrollWidth") <= width
