"""The explorer in a real browser: what is picked, edited, frozen and asked is seen at once; nothing foreign runs."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import xcid
import xcid.show.report
from xcid.app import Session
from xcid.records import FEATURE_STATUSES
from xcid.show.text import format_outputs

from .conftest import WIDTHS, clashes
from .test_report import Prices, make_houses

uvicorn = pytest.importorskip("uvicorn", reason="needs the extra app")
pytest.importorskip("starlette", reason="needs the extra app")

NAMES = ["glucose", "bmi", "age", "visits", "city", "member"]
TOKEN = "the-token"


def make_table(n_rows=160):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(n_rows, 3)).round(2), columns=NAMES[:3])
    table["glucose"] = (100 + 25 * table["glucose"]).round()
    table["visits"] = random.integers(0, 12, n_rows)
    table["city"] = random.choice(["Zwolle", "Alkmaar", "Breda", None], n_rows)
    table["member"] = random.choice([True, False], n_rows)
    table.loc[::9, "bmi"] = np.nan
    return table


def odds(X):
    score = (X["glucose"] - 100) / 12 + 0.8 * X["bmi"].fillna(0.5) - X["age"] + 1.5 * (X["city"] == "Breda")
    return score.to_numpy(dtype=float)


class Model:
    classes_ = np.array(["healthy", "ill"])

    def predict_proba(self, X):
        if (X["glucose"] > 900).any():
            raise ZeroDivisionError("<b>too sweet</b>")
        ill = 1 / (1 + np.exp(-odds(X)))
        return np.column_stack([1 - ill, ill])


class Three:
    classes_ = np.array(["low", "middle", "high"])

    def predict_proba(self, X):
        at = np.exp(np.column_stack([-odds(X), np.full(len(X), 0.3), odds(X)]))
        return at / at.sum(axis=1, keepdims=True)


class Number:
    def predict(self, X):
        return 100 + 10 * odds(X)


@contextlib.contextmanager
def served(session, browser=None):
    """The address of a session, as long as it is needed; a browser leaves it before, with all that it still asks."""
    from xcid.app.server import application

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        app = application(session, TOKEN, [f"127.0.0.1:{port}"])
        config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", log_level="critical", access_log=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}/{TOKEN}/"
            if browser is not None:
                browser.get("about:blank")
        finally:
            server.should_exit = server.force_exit = True
            thread.join(timeout=20)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def address(table, browser):
    with served(Session(Model(), table, table[:6], title="Who is ill", notes=["A note."]), browser) as found:
        yield found


@pytest.fixture
def visit(browser, screen):
    """Open a page; when the test is over, nothing may have complained and nothing may have left this machine."""
    browser.get_log("browser")
    browser.get_log("performance")
    yield lambda address: Page(browser, address)
    browser.get("about:blank")  # with what the page would still ask
    assert [entry["message"] for entry in browser.get_log("browser")] == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    assert asked
    assert [one for one in asked if not one.startswith(("http://127.0.0.1:", "about:", "chrome:", "data:"))] == []


@pytest.fixture
def page(visit, address):
    return visit(address)


class Keys:
    DOWN, UP, RIGHT, LEFT = "\ue015", "\ue013", "\ue014", "\ue012"
    HOME, END, TAB, SPACE = "\ue011", "\ue010", "\ue004", " "
    CONTROL, ENTER, ESCAPE, BACK = "\ue009", "\ue007", "\ue00c", "\ue003"


class Found(NamedTuple):
    """A counterfactual on the page."""

    title: str
    moved: str
    changes: list[tuple[str, str, str, str, str]]


class Page:
    """What a reader sees and does."""

    def __init__(self, browser, address):
        self.browser = browser
        browser.get("about:blank")
        browser.get(address)
        self.until(lambda: self.edition > 0)

    def until(self, condition):
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 8, poll_frequency=0.02).until(lambda _: condition())

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    @property
    def edition(self):
        return int(self.run("return document.getElementById('results').dataset.edition") or 0)

    @contextlib.contextmanager
    def answered(self):
        """Do something, and wait for the answer to it."""
        before = self.edition
        yield
        self.until(lambda: self.edition > before and not self.text("#busy"))

    def sought(self):
        """Wait for the search that follows an answer."""
        of = "const d = document.getElementById('results').dataset;"
        self.until(lambda: self.run(f"{of} return d.sought === d.edition"))

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector)

    def choose(self, selector, value):
        """Pick from a list."""
        change = "const n = arguments[0]; n.value = arguments[1]; n.dispatchEvent(new Event('change', {bubbles: true}))"
        with self.answered():
            self.run(change, self.one(selector), value)

    def pick(self, typed):
        """Pick the first row that is found by what is typed."""
        field = self.one("#row")
        field.click()
        with self.answered():
            field.send_keys(typed, Keys.ENTER)

    def control(self, name, inside):
        """A part of the control of a feature."""
        controls = self.browser.find_elements("css selector", ".control")
        return controls[NAMES.index(name)].find_element("css selector", inside)

    def type_into(self, name, text):
        """Type into the field of a feature, which gives up what was in it."""
        field = self.control(name, ".exact")
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        return field

    def beside(self, name):
        """What the line beside the field of a feature says, and whether the field is marked as wrong."""
        field = self.control(name, ".exact")
        return self.text(f"#{field.get_attribute('aria-describedby')}"), field.get_attribute("aria-invalid")

    @property
    def scores(self):
        return dict(zip(self.texts(".bar .name > bdi"), self.texts(".bar .score"), strict=True))

    @property
    def seen(self):
        """Everything that an edit may change."""
        return {selector: self.run("return document.querySelector(arguments[0]).innerHTML", selector)
                for selector in ("#answer", "#sentences", "#bars", "#evidence", "#changes")}  # fmt: skip

    @property
    def changed(self):
        """Features that counterfactuals change, one after the other."""
        return self.texts("#changes tbody .feature bdi")

    def found(self, number=0):
        """A counterfactual: what the page says of it."""
        of = f".flip:nth-child({number + 1})"
        cells = [self.texts(f"{of} tbody .{name}") for name in ("feature", "from", "to", "adds", "then")]
        return Found(self.text(f"{of} h3"), self.text(f"{of} .moved"), list(zip(*cells, strict=True)))

    def press(self, text, number=0):
        """Press a button beside a counterfactual, when what is found is up to date."""
        self.sought()
        buttons = self.browser.find_elements("css selector", f".flip:nth-child({number + 1}) button")
        next(button for button in buttons if button.text == text).click()

    @property
    def values(self):
        """What the controls show."""
        fields = ".exact, select"
        return self.run(
            "return [...document.querySelectorAll(`#controls :is(${arguments[0]})`)].map((n) => n.value)", fields
        )

    @property
    def focused(self):
        return self.run("return document.activeElement")


def due(table, row=0, edits=None, **settings):
    """What the page should say of a row."""
    edited = table[row : row + 1].assign(**(edits or {}))
    return " ".join(xcid.show.report.summary(xcid.Explainer(Model(), table, **settings)(edited)))


def test_first_sight(page, table):
    assert page.text("h1") == page.browser.title == "Who is ill"
    assert page.text("#notes") == "A note."
    assert page.text("#sentences") == due(table)
    assert page.text("#answer") in page.text("#sentences")
    assert set(page.scores) == set(NAMES)
    assert not page.one("#problem").is_displayed()
    assert not any(page.one(f"#{name}").is_enabled() for name in ("undo", "redo", "reset"))
    assert not page.one("#wanted-box").is_displayed()  # of two classes one is the other
    page.sought()
    assert len(page.texts(".flip")) == 3


def test_pick_a_row(page, table):
    with page.answered():
        page.one("#next").click()
    assert page.text("#summary-title") == "Row 1"
    assert page.text("#sentences") == due(table, 1)
    page.pick("5")
    assert page.text("#sentences") == due(table, 5)
    assert not page.one("#next").is_enabled()
    with page.answered():
        page.one("#previous").click()
    assert page.text("#summary-title") == "Row 4"


def test_a_slider_changes_everything(page, table):
    page.sought()
    before = page.seen
    slider = page.control("glucose", "input[type=range]")
    with page.answered():
        slider.send_keys(Keys.END)
    high = table["glucose"].max()
    assert page.text("#sentences") == due(table, edits={"glucose": high})
    assert page.text("#evidence-title") == "Evidence: glucose"
    page.sought()
    after = page.seen
    assert [selector for selector in before if before[selector] == after[selector]] == []
    assert page.control("glucose", ".exact").get_attribute("value") == f"{high:g}"
    assert page.text("#summary-title") == "Row 0, edited"
    assert "before the edits" in page.text("#before")
    with page.answered():
        page.control("glucose", ".was").click()
    page.sought()
    assert page.text("#sentences") == due(table)
    assert page.text("#before") == ""


def test_a_slider_by_mouse(page):
    from selenium.webdriver import ActionChains

    before = page.text("#sentences")
    slider = page.control("age", "input[type=range]")
    with page.answered():
        ActionChains(page.browser).move_to_element(slider).click_and_hold().move_by_offset(60, 0).release().perform()
    assert page.text("#sentences") != before


def test_a_field_takes_what_no_slider_has(page, table):
    field = page.control("glucose", ".exact")
    field.clear()
    with page.answered():
        field.send_keys("333.25")
    page.until(lambda: page.text("#sentences") == due(table, edits={"glucose": 333.25}))
    assert page.control("glucose", ".exact").get_attribute("value") == "333.25"


def test_levels_booleans_and_missing_cells(page, table):
    assert page.texts(".control:nth-child(5) option") == ["Alkmaar", "Breda", "Zwolle", "missing"]
    assert page.texts(".control:nth-child(6) option") == ["False", "True"]
    page.choose(".control:nth-child(5) select", "3")
    page.choose(".control:nth-child(6) select", "1")
    with page.answered():
        page.control("bmi", ".missing input").click()
    cells = dict(zip(page.texts(".bar .name > bdi"), page.texts(".bar .cell"), strict=True))
    own = table["bmi"].isna()[0]
    assert (cells["city"], cells["member"]) == ("missing", "True")
    assert (cells["bmi"] == "missing") == (not own)
    assert page.control("bmi", "input[type=range]").is_enabled() == own
    with page.answered():
        page.one("#reset").click()
    assert page.text("#sentences") == due(table)


def test_pin(page, table):
    strongest = page.texts(".bar .name > bdi")[0]
    with page.answered():
        page.control(strongest, ".pin input").click()
    assert FEATURE_STATUSES["frozen"].meaning in page.text("#figures")
    assert page.text("#sentences") == due(table, constraints=xcid.Constraints(frozen=[strongest]))
    page.sought()
    assert page.changed
    assert strongest not in page.changed
    assert page.texts("#rules bdi") == [f"{strongest} stays as it is"]
    with page.answered():
        page.one("#rules button").click()
    assert page.scores[strongest] != "frozen"
    assert not page.one("#rules").is_displayed()


def test_a_table_of_changes(page, table):
    page.sought()
    due = xcid.Explainer(Model(), table).counterfactuals(table[:1])
    for line in range(len(due)):
        title, moved, changes = page.found(line)
        assert title == due.kind[line].capitalize()
        assert moved == format_outputs(due, line).replace("->", "→")
        assert [change[:3] for change in changes] == [change[:3] for change in due.changes(line)]
        assert [change[4] for change in changes] == [
            "½" if change.output == 0.5 else due.word_output(line, change.output) for change in due.changes(line)
        ]
        assert sum(float(change[3].replace("−", "-")) for change in changes) == pytest.approx(
            due.output[line] - due.was[line], abs=0.02
        )
        words = page.text(f".flip:nth-child({line + 1}) .flip-head .quiet")
        assert words.startswith(f"{len(changes)} change{'s' * (len(changes) > 1)} · {due.likeness[line]} · not proved")


def test_apply(page, table):
    """The row moves to the counterfactual, and with it the prediction and the explanation."""
    page.sought()
    before, seen, found = page.text("#answer"), page.seen, page.found()
    with page.answered():
        page.press("Apply")
    name, _, to, _, _ = found.changes[0]
    assert page.text("#answer") != before
    assert f"{float(found.moved.partition('→ ')[2].partition(' ')[0]):.2f}" in page.text("#answer")
    assert page.control(name, ".exact").get_attribute("value") == to
    edited = {name: float(to) for name, _, to, _, _ in found.changes}
    assert page.text("#sentences") == due(table, edits=edited)
    page.sought()
    assert [selector for selector in seen if seen[selector] == page.seen[selector]] == []
    assert page.focused.tag_name in ("button", "h2")  # the focus is not lost


def test_pin_and_forbid_beside_a_change(page, table):
    page.sought()
    own = table.iloc[0]
    name, _, to, _, _ = page.found().changes[0]
    way = "rise" if float(to) > own[name] else "fall"
    with page.answered():
        page.press("Forbid")
    page.sought()
    assert page.texts("#rules bdi") == [f"{name} may not {way}"]
    assert page.changed
    for number in range(len(page.texts(".flip"))):
        for feature, _, new, _, _ in page.found(number).changes:
            assert feature != name or (float(new) > own[name]) == (way == "fall")
    second = page.found().changes[0][0]
    with page.answered():
        page.press("Pin")
    page.sought()
    assert page.texts("#rules bdi") == [f"{second} stays as it is", f"{name} may not {way}"]
    assert page.control(second, ".pin input").is_selected()
    assert second not in page.changed
    with page.answered():
        page.browser.find_elements("css selector", "#rules button")[-1].click()
    page.sought()
    assert page.texts("#rules button") == []
    assert page.found().changes[0][0] == name


def test_a_level_is_forbidden(visit, browser):
    random = np.random.default_rng(0)
    table = pd.DataFrame({"city": random.choice(["Zwolle", "Alkmaar", "Breda"], 120), "x": random.normal(size=120)})
    table.loc[0, "city"] = "Breda"

    def model(X):
        return (X["city"] == "Breda").to_numpy()

    with served(Session(model, table, table[:1]), browser) as address:
        page = visit(address)
        page.sought()
        city = page.found().changes[0][2]
        with page.answered():
            page.press("Forbid")
        page.sought()
        assert page.texts("#rules bdi") == [f"city may not become {city}"]
        assert page.found().changes[0][2] == ({"Zwolle", "Alkmaar"} - {city}).pop()
        with page.answered():
            page.press("Forbid")
        page.sought()
        assert page.text("#changes-intro") == "No change that was tried gets there."


def test_undo_and_redo(page, table):
    """Every step goes back, and forth again: edits, counterfactuals, pins, rules and other rows."""
    from selenium.webdriver import ActionChains

    def state():
        return page.values, page.texts("#rules bdi"), page.text("#sentences"), page.text("#summary-title")

    states = [state()]

    def done(act):
        with page.answered():
            act()
        states.append(state())

    done(lambda: page.control("glucose", "input[type=range]").send_keys(Keys.RIGHT * 4))  # one step
    done(lambda: page.press("Apply"))
    done(lambda: page.press("Pin"))
    done(lambda: page.press("Forbid"))
    done(lambda: page.one("#rules button").click())
    done(lambda: page.one("#next").click())
    done(lambda: page.control("city", "select").send_keys(Keys.DOWN))
    done(lambda: page.one("#reset").click())
    assert all(one != other for one, other in pairwise(states))
    for expected in states[-2::-1]:
        with page.answered():
            page.one("#undo").click()
        assert state() == expected
    assert not page.one("#undo").is_enabled()
    assert page.focused == page.one("#edit")  # the focus is not lost
    for expected in states[1:4]:
        with page.answered():
            page.one("#redo").click()
        assert state() == expected
    with page.answered():
        ActionChains(page.browser).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    assert state() == states[2]
    with page.answered():
        page.control("age", "input[type=range]").send_keys(Keys.END)
    assert not page.one("#redo").is_enabled()


def run_code(code, table):
    found = {"model": Model(), "reference": table}
    exec(code, found)  # what a reader would do with it
    return found


def allow_clipboard(page, setting):
    for name in ("clipboard-read", "clipboard-write"):
        change = {"permission": {"name": name}, "setting": setting}
        page.browser.execute_cdp_cmd("Browser.setPermission", change)


def test_copy_as_code(page, table):
    """What is in the clipboard repeats what is on the page."""
    allow_clipboard(page, "granted")
    with page.answered():
        page.control("glucose", "input[type=range]").send_keys(Keys.END)
    with page.answered():
        page.control("age", ".pin input").click()
    page.one("#copy").click()
    page.until(lambda: page.text("#copy") == "Copied ✓")
    assert page.text("#said") == "The code is copied."
    code = page.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    found = run_code(code, table)
    assert " ".join(xcid.show.report.summary(found["explanation"])) == page.text("#sentences")
    page.sought()
    assert [kind.capitalize() for kind in found["counterfactuals"].kind] == page.texts(".flip h3")
    page.until(lambda: page.text("#copy") == "Copy as code")
    page.press("Copy as code", 1)
    page.until(lambda: "Copied ✓" in page.texts(".flip button"))
    code = page.browser.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    with page.answered():
        page.press("Apply", 1)
    assert " ".join(xcid.show.report.summary(run_code(code, table)["changed"])) == page.text("#sentences")


def test_code_that_cannot_be_copied_is_shown(page, table):
    allow_clipboard(page, "denied")
    page.one("#copy").click()
    page.until(lambda: page.one("#code-box").is_displayed())
    assert page.focused == page.one("#code")
    selected = page.run(
        "const n = document.getElementById('code'); return n.value.slice(n.selectionStart, n.selectionEnd)"
    )
    assert selected == page.one("#code").get_attribute("value")
    assert " ".join(xcid.show.report.summary(run_code(selected, table)["explanation"])) == page.text("#sentences")
    page.one("#code-box button").click()
    assert not page.one("#code-box").is_displayed()
    allow_clipboard(page, "granted")


def test_what_is_out_of_date_cannot_be_applied(page):
    """Buttons beside counterfactuals of an older row do nothing."""
    page.sought()
    before = page.values
    page.run(
        "const apply = document.querySelector('.flip button');"
        "const field = document.querySelector('#controls .exact');"
        "field.value = '120'; field.dispatchEvent(new Event('input', {bubbles: true})); apply.click()"
    )
    page.sought()
    assert page.values == ["120", *before[1:]]


def test_questions(page, table):
    assert not page.one("#target-box").is_displayed()
    assert not page.one("#level-box").is_displayed()
    page.choose("#ask", "class")
    assert page.texts("#target option") == ["healthy", "ill"]
    assert re.search(r"keeps? it out of", page.text("#sentences"))
    page.choose("#ask", "threshold")
    level = page.one("#level")
    level.clear()
    with page.answered():
        level.send_keys("0.9")
    page.until(lambda: page.text("#sentences") == due(table, outcome=xcid.outcomes.Threshold(0.9, "ill")))
    page.choose("#target", "0")
    assert page.text("#sentences") == due(table, outcome=xcid.outcomes.Threshold(0.9, "healthy"))
    page.choose("#ask", "flip")
    assert page.text("#sentences") == due(table)


def test_a_question_with_one_side(page):
    page.choose("#ask", "threshold")
    level = page.one("#level")
    level.clear()
    with page.answered():
        level.send_keys("7")
    page.until(lambda: "Nothing that was tried" in page.text("#problem"))
    assert page.text("#answer").startswith("The model predicts ")
    assert not page.one("#bars").is_displayed()
    page.choose("#ask", "flip")
    assert not page.one("#problem").is_displayed()
    assert page.one("#bars").is_displayed()


def test_a_bar_leads_to_its_evidence(page):
    page.browser.find_elements("css selector", ".bar")[2].click()
    assert page.text("#evidence-title") == f"Evidence: {page.texts('.bar .name > bdi')[2]}"
    page.focused.send_keys(Keys.DOWN)
    assert page.text("#evidence-title") == f"Evidence: {page.texts('.bar .name > bdi')[3]}"
    page.control("city", "select").send_keys(Keys.TAB)
    assert page.text("#evidence-title") == "Evidence: city"


def test_all_by_keyboard(page):
    """Tab reaches everything, arrows and space change it, and the focus stays where it is."""
    seen = []
    for _ in range(60):
        page.focused.send_keys(Keys.TAB)
        node = page.focused
        seen.append(node.get_attribute("id") or node.get_attribute("type") or node.get_attribute("class"))
        if node.tag_name == "body":
            break
    wanted = ["row", "next", "ask", "compare", "copy", "range", "text", "checkbox", "select-one", "sort", "bar"]
    assert [name for name in wanted if name not in seen] == []
    assert seen.index("row") < seen.index("range") < seen.index("bar")
    style = page.run("const n = document.getElementById('row'); n.focus(); return getComputedStyle(n).outlineWidth")
    assert style == "3px"
    slider = page.control("age", "input[type=range]")
    with page.answered():
        slider.send_keys(Keys.RIGHT * 5)
    assert page.focused == slider
    pin = page.control("age", ".pin input")
    with page.answered():
        pin.send_keys(Keys.SPACE)
    assert FEATURE_STATUSES["frozen"].meaning in page.text("#figures")
    assert page.focused == pin


def test_names_for_those_who_hear_it(page):
    unnamed = page.run(
        "return [...document.querySelectorAll('button, input, select, [role=slider], [role=option], [role=listbox]')]"
        ".filter((node) => !node.closest('[hidden]') && !node.textContent.trim())"
        ".filter((node) => !node.getAttribute('aria-label') && !node.labels?.length).map((node) => node.outerHTML)"
    )
    assert unnamed == []
    assert page.control("age", "input[type=range]").get_attribute("aria-valuetext")


@pytest.mark.parametrize("width", [320, 360, 768, 1000, 1440])
def test_no_screen_has_to_be_pushed_sideways(page, screen, width):
    screen(width=width)
    with page.answered():
        page.control("glucose", "input[type=range]").send_keys(Keys.END)
    page.sought()
    for bar in page.browser.find_elements("css selector", ".bar"):
        bar.click()
        assert page.run("return document.documentElement.scrollWidth") <= width


def test_the_prediction_stays_in_sight(page, screen):
    screen(width=360, height=640)
    page.run("window.scrollTo(0, 900)")
    page.until(lambda: abs(page.run("return document.getElementById('now').getBoundingClientRect().top")) < 1)


def test_dark(page, screen):
    def colours():
        return page.run(
            "const of = (s) => getComputedStyle(document.querySelector(s));"
            "return [of('body').backgroundColor, of('#now').backgroundColor, of('.control .name').color]"
        )

    light = colours()
    screen(scheme="dark")
    assert light[0] == light[1] == "rgb(255, 255, 255)"
    dark = colours()
    assert dark[0] == dark[1] != light[0]
    assert dark[2] != light[2]


def test_it_opens_on_the_strongest_feature(page):
    assert page.text("#evidence-title") == f"Evidence: {page.texts('.bar .name > bdi')[0]}"
    assert page.text("#question").startswith("Does the predicted class change?")
    assert page.texts(".bar .worth")[0].startswith(("×", "÷"))
    assert page.texts("#effects li")


def test_three_classes(visit, table, browser):
    with served(Session(Three(), table, table[:3]), browser) as address:
        page = visit(address)
        assert sorted(page.texts(".output bdi")) == ["high", "low", "middle"]
        page.choose("#ask", "class")
        page.choose("#target", "1")
        assert "middle" in page.text("#sentences")
        page.sought()
        assert page.texts("#wanted option") == ["what the question asks", "low", "middle", "high"]
        top = page.text(".output.top bdi")
        for at, name in enumerate(["low", "middle", "high"], start=1):
            page.choose("#wanted", str(at))
            page.sought()
            if name == top:
                assert page.text("#changes-intro") == "The row has the wanted output already."
                assert page.texts(".flip") == []
            else:
                assert {text.split(" ")[0] for text in page.texts(".flip .moved")} == {name}


def test_a_regression(visit, table, browser):
    with served(Session(Number(), table, table[:3]), browser) as address:
        page = visit(address)
        assert page.text("#answer").startswith("The model predicts ")
        assert page.texts("#ask option") == [
            "What moves the output?",
            "What moves the output by more than this?",
            "What takes the output across a level?",
        ]
        assert not page.one("#level-box").is_displayed()
        assert "raises the output" in page.text("#bars-legend")
        assert re.search(r" (raises|lowers) the output by \d", page.texts("#effects li")[0])
        page.choose("#ask", "interval")
        assert page.text("#level-name") == "Half width"
        page.choose("#ask", "threshold")
        assert re.search(r"(above|below) \d", page.text("#sentences"))
        before = page.text("#answer")
        with page.answered():
            page.control("glucose", "input[type=range]").send_keys(Keys.HOME)
        assert page.text("#answer") != before
        for at, sign in ((1, 1), (2, -1)):
            page.choose("#wanted", str(at))
            page.sought()
            was, now = page.found().moved.removeprefix("output ").replace("−", "-").split(" → ")
            assert sign * (float(now) - float(was)) >= 0.099 * abs(float(was))


def test_an_old_answer_never_overwrites_a_newer_one(visit, table, browser):
    """The first answer to an edit is held back until there was another edit."""

    class Slow(Session):
        held, asked = threading.Event(), threading.Event()
        hold = False

        def explain(self, body):
            found = super().explain(body)
            if Slow.hold:
                Slow.hold = False
                Slow.asked.set()
                Slow.held.wait(5)
            return found

        def search(self, body):
            return {"counterfactuals": [], "notes": []}

    with served(Slow(Model(), table, table[:3]), browser) as address:
        page = visit(address)
        slider = page.control("glucose", "input[type=range]")
        Slow.hold = True
        slider.send_keys(Keys.HOME)
        assert Slow.asked.wait(5)
        with page.answered():
            slider.send_keys(Keys.END)
            Slow.held.set()
        assert page.text("#sentences") == due(table, edits={"glucose": table["glucose"].max()})
        page.sought()


def test_an_old_search_never_overwrites_a_newer_one(visit, table, browser):
    """Two searches are held back; the first is for a row that was edited since."""

    class Slow(Session):
        asked, held = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]
        count = 0

        def search(self, body):
            number, Slow.count = Slow.count, Slow.count + 1
            found = super().search(body)
            if number < 2:
                Slow.asked[number].set()
                Slow.held[number].wait(8)
            return found

    with served(Slow(Model(), table, table[:3]), browser) as address:
        page = visit(address)
        assert Slow.asked[0].wait(8)
        with page.answered():
            page.control("glucose", "input[type=range]").send_keys(Keys.END)
            Slow.held[0].set()
        assert Slow.asked[1].wait(8)
        assert page.texts(".flip") == []
        Slow.held[1].set()
        page.sought()
        edited = table[:1].assign(glucose=table["glucose"].max())
        found = xcid.Explainer(Model(), table).counterfactuals(edited)
        assert page.found().moved.endswith(f"→ {found.output[0]:.2f}")
        assert page.found().changes[0][:3] == found.changes(0)[0][:3]


def test_errors_of_the_model_are_words(page, table):
    field = page.control("glucose", ".exact")
    field.clear()
    with page.answered():
        field.send_keys("950")
    page.until(lambda: "ZeroDivisionError: <b>too sweet</b>" in page.text("#problem"))
    assert page.text("#answer") == "No prediction"
    with page.answered():
        page.one("#reset").click()
    assert page.text("#sentences") == due(table)
    assert not page.one("#problem").is_displayed()


def test_what_a_column_cannot_hold_is_said(browser, screen, address):
    page = Page(browser, address)
    page.type_into("visits", "2e300")
    page.until(lambda: "'visits' cannot be 2e+300" in page.text("#problem"))
    assert "stale" in page.one("#results").get_attribute("class")
    with page.answered():
        page.control("visits", ".was").click()
    assert "stale" not in page.one("#results").get_attribute("class")
    assert not page.one("#problem").is_displayed()


def test_a_server_that_has_ended(browser, screen, table):
    with served(Session(Model(), table, table[:3])) as address:
        page = Page(browser, address)
        page.sought()
    page.control("age", "input[type=range]").send_keys(Keys.END)
    page.until(lambda: "no longer answers" in page.text("#problem"))


def test_without_the_token_there_is_a_plain_page(browser, address):
    browser.get(address.replace(TOKEN, "another"))
    assert "needs the address" in browser.find_element("css selector", "body").text
    assert browser.find_elements("css selector", "script") == []


CORPUS = {
    text: text
    for text in (
        "</script><script>window.pwned=1</script>",
        "<!--<script>",
        "<img src=x onerror=window.pwned=1>",
        "<svg/onload=window.pwned=1>",
        '"><img src=x onerror=window.pwned=1>',
        "' onmouseover='window.pwned=1",
        "javascript:window.pwned=1",
        "<iframe srcdoc='<script>parent.pwned=1</script>'>",
        "<style>*{display:none}</style>",
        "<base href=https://example.org/>",
        "<meta http-equiv=refresh content='0;url=https://example.org'>",
        "{{constructor.constructor('window.pwned=1')()}}",
        "${window.pwned=1}",
        "&lt;script&gt;window.pwned=1&lt;/script&gt;",
        '"}];window.pwned=1;//',
        "__proto__",
        "constructor",
        "`;window.pwned=1;`",
        "%3Cscript%3E../../etc/passwd",
        "👩‍🔬 名前 عمر naïve",
        "#edit [name] > *",
    )
} | {"abc\u202egnp.exe": "abc⟨U+202E⟩gnp.exe", "escape\x1b[31m": "escape⟨U+001B⟩[31m", "new\nline": "new line"}


def hostile():
    """Names of features, rows, classes and levels, title and notes from the corpus."""
    texts, random = list(CORPUS), np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(150, len(texts))).round(2), columns=texts)
    table["level"] = np.resize(np.array(texts, dtype=object), 150)
    table.index = [f"{texts[at % len(texts)]}{at}" for at in range(150)]

    class Wild:
        classes_ = np.array(texts, dtype=object)

        def predict_proba(self, X):
            at = np.exp(3 * X[texts].to_numpy(dtype=float))
            return at / at.sum(axis=1, keepdims=True)

    return Session(
        Wild(), table, table[: len(texts)], title=texts[0], notes=texts, words=dict.fromkeys(texts, texts[2])
    )


def test_text_is_shown_and_never_run(visit, browser):
    session = hostile()
    with served(session, browser) as address:
        page = visit(address)
        shown = list(CORPUS.values())
        assert page.texts("#notes p") == shown
        assert page.browser.title == shown[0]
        assert page.texts(".control .name")[:-1] == shown
        assert page.texts(".control:last-child option") == sorted(CORPUS.values(), key=lambda text: page_order(text))
        page.one("#row").click()
        page.until(lambda: page.texts("#row-list li"))
        names = page.texts("#row-list li > bdi")
        assert names == [f"{shown[at]}{at}" for at in range(20)]
        page.one("#row").send_keys(Keys.ESCAPE)
        page.one("#more").click()
        assert set(shown) < set(page.texts(".bar .name > bdi"))
        for bar in range(0, len(shown), 4):
            page.run("document.querySelectorAll('.bar')[arguments[0]].click()", bar)
        page.choose("#ask", "class")
        assert page.texts("#target option") == shown
        page.choose("#target", "3")
        page.choose(".control:last-child select", "5")
        page.pick("2")
        page.sought()
        assert page.run("return window.pwned") is None
        assert page.run("return document.scripts.length") == 15
        assert page.run("return document.querySelectorAll('img, iframe, base, object, embed, math').length") == 0
        assert page.run("return document.styleSheets.length") == 3
        assert page.run("return Object.keys(Object.prototype).length") == 0


def page_order(text):
    """Levels are in the order of what they are, before letters were written out."""
    return next(raw for raw, shown in CORPUS.items() if shown == text)


def test_the_policy_stops_what_would_get_in(browser, address):
    """Were there a hole, the browser would still run nothing."""
    page = Page(browser, address)
    browser.get_log("browser")
    page.run(
        "const s = document.createElement('script');"
        "try { s.textContent = 'window.pwned = 1'; } catch { document.title = 'refused'; }"
        "document.body.append(s)"
    )
    assert page.run("return window.pwned") is None
    refused = page.run("try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (e) { return e.name; }")
    assert refused == "TypeError"
    page.run("new Image().src = 'https://example.org/x.png'")
    page.until(lambda: "Content Security Policy" in " ".join(one["message"] for one in browser.get_log("browser")))


@pytest.fixture(scope="module")
def prices(browser):
    with served(Session(Prices(), make_houses(), make_houses()[:3]), browser) as found:
        yield found


@pytest.mark.parametrize("width", WIDTHS)
def test_large_numbers_have_room(visit, prices, screen, width):
    screen(width)
    page = visit(prices)
    page.sought()
    assert max(map(len, page.scores.values())) >= 7, page.scores
    assert clashes(page.browser) == []
    widths = "return [...document.querySelectorAll('.bar > svg')].map((node) => node.getBoundingClientRect().width)"
    assert min(page.run(widths)) > 100
    fields = "document.querySelectorAll('.control .exact')"
    cut = dict(page.run(f"return [...{fields}].map((node) => [node.value, node.scrollWidth - node.clientWidth])"))
    assert any(len(value) >= 8 for value in cut)  # such as 51234.56
    assert set(cut.values()) == {0}


def test_a_number_is_asked_as_a_report_asks(visit, prices):
    page, table = visit(prices), make_houses()
    due = xcid.Explainer(Prices(), table)(table[:1])
    assert page.text("#question") == due.question
    assert page.text("#facts").startswith(f"{due.n_flips[0]:,} of ")
    assert " perturbations move it · " in page.text("#facts")
    assert page.text("#changes-title") == "What would change it"
    page.choose("#ask", "interval")
    assert page.text("#question").startswith("Does the output move by more than ")
