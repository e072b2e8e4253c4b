"""The page of a report in a real browser: it answers to mouse and keyboard, fits the screen, runs nothing foreign."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import xcid
import xcid.show.report
import xcid.show.wording
from xcid._numbers import format_probability, percent, round_half_up
from xcid.records import with_details
from xcid.show.reasons import Reasons
from xcid.show.text import format_outputs
from xcid.show.wording.names import format_number

from .conftest import WIDTHS, clashes

NAMES = ["glucose", "bmi", "age", "x10", "x9", "nothing", "city"]


def make_table(n_rows=160):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(n_rows, 6)).round(3), columns=NAMES[:6])
    table["glucose"] = (100 + 25 * table["glucose"]).round()
    table["city"] = random.choice(["Zwolle", "Alkmaar", "Breda", None], n_rows)
    table.loc[::9, "bmi"] = np.nan
    return table


class Model:
    classes_ = np.array(["healthy", "ill"])

    def predict_proba(self, X):
        score = (X["glucose"] - 100) / 12 + 0.8 * X["bmi"].fillna(0.5) - X["age"] + 1.5 * (X["city"] == "Breda")
        ill = 1 / (1 + np.exp(-score.to_numpy(dtype=float)))
        return np.column_stack([1 - ill, ill])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture(scope="module")
def explanation():
    table = make_table()
    made = xcid.Explainer(Model(), table)(table[:12])
    status = made.status.astype("U32")
    status[3] = "rare_flips"
    return replace(made, status=status)


@pytest.fixture(scope="module")
def path(explanation, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "r.html"
    explanation.report(path, title="Who is ill", notes=["A note."])
    return path


@pytest.fixture
def page(opened, path):
    opened(path)
    return Page(opened(path))


def in_steps(scores):
    """Scores as the page has them: rounded to thousandths, so that small ones may be equal."""
    return np.rint(scores / 0.001)


class Page:
    """What a reader sees and does."""

    def __init__(self, browser):
        self.browser = browser

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def text(self, selector):
        return self.one(selector).text

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((node) => node.textContent)", selector)

    @property
    def names(self):
        return self.texts(".bar .name > bdi")

    @property
    def picture(self):
        return self.run("return document.getElementById('evidence').innerHTML")

    def choose(self, selector, value):
        self.run(
            "const node = document.querySelector(arguments[0]); node.value = arguments[1];"
            "node.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            value,
        )

    def type(self, selector, text):
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def focused(self):
        return self.run("return document.activeElement")


class Keys:
    DOWN, UP, RIGHT, LEFT = "\ue015", "\ue013", "\ue014", "\ue012"
    HOME, END, ENTER, TAB = "\ue011", "\ue010", "\ue007", "\ue004"


def test_first_sight(page, explanation):
    assert page.text("h1") == page.browser.title == "Who is ill"
    assert page.text("#notes") == "A note."
    assert page.text("#sentences") == " ".join(xcid.show.report.summary(explanation))
    order = np.argsort(-np.abs(in_steps(explanation.values[0])), kind="stable")
    assert page.names == [NAMES[at] for at in order]
    assert page.text("#evidence-title") == f"Evidence: {NAMES[order[0]]}"
    assert page.text("#question") == explanation.question
    assert page.texts("#effects li")[0] == f"{xcid.show.wording.word_feature(explanation[0], int(order[0]))}."
    assert page.texts(".bar .worth")[0] == xcid.show.wording.format_worth(explanation[0], int(order[0]))
    assert page.text(".why").startswith("Among the perturbations that stay, ")
    assert "seed" in page.texts("#settings dt")


def test_a_click_on_a_bar_changes_the_picture(page, explanation):
    before = page.picture
    page.browser.find_elements("css selector", ".bar")[2].click()
    name = page.names[2]
    assert page.text("#evidence-title") == f"Evidence: {name}"
    assert page.picture != before
    d1 = explanation.importance[0, explanation.position(name)]
    assert f"{d1:.2f}" in page.texts("#figures dd")


def test_bars_by_keyboard(page):
    page.one('.bar[tabindex="0"]').send_keys(Keys.DOWN)
    assert page.text("#evidence-title") == f"Evidence: {page.names[1]}"
    assert page.focused().get_attribute("aria-selected") == "true"
    page.focused().send_keys(Keys.END)
    assert page.text("#evidence-title") == f"Evidence: {page.names[-1]}"
    page.focused().send_keys(Keys.UP)
    assert page.text("#evidence-title") == f"Evidence: {page.names[-2]}"
    page.focused().send_keys(Keys.HOME)
    assert page.text("#evidence-title") == f"Evidence: {page.names[0]}"
    assert len(page.browser.find_elements("css selector", '.bar[tabindex="0"]')) == 1


def test_everything_is_reached_by_tab(page):
    seen = []
    for _ in range(40):
        page.focused().send_keys(Keys.TAB)
        node = page.focused()
        seen.append(node.get_attribute("id") or node.get_attribute("class"))
        if node.tag_name == "body":
            break
    wanted = ["row", "next", "find", "output", "status", "sort", "filter", "significant", "bar", "chart"]
    assert [name for name in seen if name in wanted] == wanted


def test_focus_can_be_seen(page):
    page.one("#filter").send_keys(Keys.TAB)
    style = page.run("const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]")
    assert style == ["solid", "3px"]


@pytest.mark.parametrize("sort", ["size", "score", "name", "table"])
def test_sort(page, explanation, sort):
    page.choose("#sort", sort)
    values = in_steps(explanation.values[0])
    due = {
        "size": np.argsort(-np.abs(values), kind="stable"),
        "score": np.argsort(-values, kind="stable"),
        "name": [NAMES.index(name) for name in ("age", "bmi", "city", "glucose", "nothing", "x9", "x10")],
        "table": range(7),
    }
    assert page.names == [NAMES[at] for at in due[sort]]


def test_filter(page, explanation):
    page.type("#filter", "X")
    assert sorted(page.names) == ["x10", "x9"]
    page.type("#filter", "none of them")
    assert page.text("#bars") == "No feature matches."


def test_only_what_is_significant(page, explanation):
    page.one("#significant").click()
    significant = {NAMES[at] for at in np.flatnonzero(explanation.significant[0])}
    assert set(page.names) == significant
    assert significant < set(NAMES)


def test_what_is_not_significant_is_marked(page, explanation):
    noisy = dict(zip(page.names, page.texts(".bar .score"), strict=True))
    for at, name in enumerate(NAMES):
        assert noisy[name].startswith("~") != explanation.significant[0, at]


def test_next_and_previous_row(page, explanation):
    assert not page.one("#previous").is_enabled()
    page.one("#next").click()
    assert page.text("#sentences") == " ".join(xcid.show.report.summary(explanation, 1))
    assert page.texts(".bar .cell")[0] == explanation.shown(1, page.names[0])
    page.one("#previous").click()
    assert page.text("#sentences") == " ".join(xcid.show.report.summary(explanation, 0))
    page.choose("#row", "11")
    assert page.text("#summary-title") == "Row 11"
    assert not page.one("#next").is_enabled()


def test_the_feature_stays_when_the_row_changes(page):
    page.browser.find_elements("css selector", ".bar")[3].click()
    title = page.text("#evidence-title")
    page.one("#next").click()
    assert page.text("#evidence-title") == title


def test_find_rows(page, explanation):
    page.choose("#output", "1")
    ill = np.flatnonzero(explanation.outputs[:, 1] > 0.5)
    assert [text.split(" ")[0] for text in page.texts("#row option")] == [str(at) for at in ill]
    assert page.text("#count") == f"{len(ill)} of 12 rows"
    page.choose("#output", "")
    page.choose("#status", "rare_flips")
    assert page.text("#summary-title") == "Row 3"
    assert "directed search" in page.text("#sentences")
    page.choose("#status", "")
    page.type("#find", explanation.shown(7, "age"))
    assert page.text("#summary-title") == "Row 7"
    page.type("#find", "no such row")
    assert page.text("#count") == "No row matches"


def test_pointing_reads_the_picture(page):
    from selenium.webdriver import ActionChains

    page.choose("#sort", "table")
    page.one(".bar").click()
    chart = page.one("svg.chart")
    ActionChains(page.browser).move_to_element_with_offset(chart, -60, 0).perform()
    first = page.text(".readout")
    ActionChains(page.browser).move_to_element_with_offset(chart, -90, 0).perform()
    assert "density of C+" in first
    assert page.text(".readout") != first


def test_keys_read_the_picture(page):
    page.choose("#sort", "table")
    page.one(".bar").click()
    chart = page.one("svg.chart")
    chart.send_keys(Keys.HOME)
    first = chart.get_attribute("aria-valuetext")
    chart.send_keys(Keys.RIGHT)
    assert chart.get_attribute("aria-valuetext") != first
    assert page.text(".readout").lower() == chart.get_attribute("aria-valuetext").lower()
    chart.send_keys(Keys.LEFT)
    assert chart.get_attribute("aria-valuetext") == first


def test_the_own_value_is_read_exactly(page, explanation):
    """The stem at the row's own value: its place, and its share of both sets."""
    page.choose("#sort", "table")
    page.one(".bar").click()
    chart = page.one("svg.chart")
    chart.send_keys(Keys.HOME)
    said = []
    while len(said) < 2 or said[-1] != said[-2]:
        said.append(chart.get_attribute("aria-valuetext"))
        chart.send_keys(Keys.RIGHT)
    own = f"exactly at {explanation.shown(0, 'glucose')}: "
    assert any(text.startswith(own) for text in said)


def test_levels_are_paired_bars(page, explanation):
    page.type("#filter", "city")
    page.one(".bar").click()
    assert page.texts("#evidence .level bdi") == ["Alkmaar", "Breda", "Zwolle", "missing"]
    assert page.text(".level.is-own bdi") == explanation.shown(0, "city")
    assert len(page.browser.find_elements("css selector", ".level .mass.p")) == 4


def test_missing_cells_have_a_place(page):
    page.type("#filter", "bmi")
    page.one(".bar").click()
    assert "missing" in page.texts("svg.chart text")


def test_counterfactuals(page, explanation):
    """Of an explanation alone: the nearest samples that flip, with the output that they have."""
    due = explanation.sampled_flips(0, nearest=1, diverse=0)["changes"][0]
    cells = [page.texts(f".flip:first-child tbody .{name}") for name in ("feature", "from", "to")]
    assert sorted(f"{name} {old} -> {new}" for name, old, new in zip(*cells, strict=True)) == sorted(due.split(", "))
    other = "ill" if explanation.outputs[0].argmax() == 0 else "healthy"
    was = explanation.outputs[0].min()
    assert page.text(".flip:first-child .moved").startswith(f"{other} {format_probability(was)} → 0.")
    assert page.texts(".flip:first-child thead th") == ["feature", "from", "to"]
    assert not page.one("#changes-means").is_displayed()


@pytest.mark.parametrize("width", [320, 1200])
def test_counterfactuals_of_a_search(opened, screen, tmp_path, width):
    table = make_table()
    explainer = xcid.Explainer(Model(), table)
    due = explainer.counterfactuals(table[:3])
    explainer(table[:3]).report(tmp_path / "r.html", counterfactuals=due)
    screen(width=width)
    page = Page(opened(tmp_path / "r.html"))
    for row in range(3):
        lines = np.flatnonzero(due.row == row)
        assert page.texts(".flip h3") == [due.kind[line].capitalize() for line in lines]
        assert page.texts(".flip .moved") == [format_outputs(due, line).replace("->", "→") for line in lines]
        changes = [change for line in lines for change in due.changes(int(line))]
        for place, name in enumerate(("feature", "from", "to")):
            assert page.texts(f".changes tbody .{name}") == [change[place] for change in changes]
        adds = [float(text.replace("−", "-")) for text in page.texts(".changes tbody .adds")]
        assert np.allclose(adds, [change.share for change in changes], atol=0.0051)
        assert page.run("return document.documentElement.scrollWidth") <= width
        if row < 2:
            page.one("#next").click()
    assert "Each is needed" in page.text("#changes-intro")
    assert page.one("#changes-means").is_displayed()


def test_counterfactuals_of_a_search_with_hidden_values(opened, tmp_path):
    table = make_table()
    explainer = xcid.Explainer(Model(), table)
    due = explainer.counterfactuals(table[:1])
    explainer(table[:1]).report(tmp_path / "r.html", counterfactuals=due, values="hidden")
    page = Page(opened(tmp_path / "r.html"))
    assert page.texts(".flip:first-child thead th") == ["feature", "adds", "then"]
    assert page.text(".flip:first-child .moved").endswith(format_outputs(due, 0).partition("-> ")[2])


def test_overview(page, explanation):
    mean = in_steps(explanation.aggregate().size[0])
    assert page.texts("td.feature") == [NAMES[at] for at in np.argsort(-mean, kind="stable")]
    page.one("#overview th button").click()
    assert page.texts("td.feature") == ["x10", "x9", "nothing", "glucose", "city", "bmi", "age"]
    page.one("#overview th button").click()
    assert page.texts("td.feature")[0] == "age"
    assert page.one("#overview th").get_attribute("aria-sort") == "ascending"
    page.one("td.feature button").click()
    assert page.text("#evidence-title") == "Evidence: age"


def test_a_phone_shows_whole_columns_dates_and_words_in_one_size(opened, screen, tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {"Kreditbetrag": random.integers(3000, 30000, 200) / 10_000, "Einkommen": random.normal(size=200)}
    )
    table["Beschäftigt seit"] = pd.Timestamp("2012-04-19") + pd.to_timedelta(random.integers(0, 3000, 200), "D")

    def model(X):
        years = (pd.Timestamp("2016-01-01") - X["Beschäftigt seit"]).dt.days.to_numpy() / 365
        p = 1 / (1 + np.exp(-(years + X["Einkommen"] - X["Kreditbetrag"]).to_numpy()))
        return np.column_stack([1 - p, p])

    explainer = xcid.Explainer(model, table)
    explainer(table[:5]).report(tmp_path / "r.html", counterfactuals=explainer.counterfactuals(table[:5]))
    screen(width=390)
    browser = opened(tmp_path / "r.html")
    region = "const region = document.querySelector('#overview').parentElement; "
    assert browser.execute_script(f"{region}return region.scrollWidth <= region.clientWidth")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    heights = "return [...document.querySelectorAll('.date')].map((date) => date.getClientRects().length)"
    assert set(browser.execute_script(heights)) == {1}
    sizes = "return ['.caption', 'p.quiet'].map((one) => getComputedStyle(document.querySelector(one)).fontSize)"
    assert len(set(browser.execute_script(sizes))) == 1


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
def test_no_screen_has_to_be_pushed_sideways(page, screen, width):
    screen(width=width)
    for at in range(len(page.browser.find_elements("css selector", ".bar"))):
        page.browser.find_elements("css selector", ".bar")[at].click()
        assert page.run("return document.documentElement.scrollWidth") <= width


def test_the_picture_follows_the_screen(page, screen):
    screen(width=360)
    wait(page, "return document.querySelector('svg.chart').viewBox.baseVal.width <= 360")


def test_dark(page, screen):
    def colours():
        return page.run(
            "const of = (s) => getComputedStyle(document.querySelector(s));"
            "return [of('body').backgroundColor, of('body').color, of('.body').fill]"
        )

    light = colours()
    screen(scheme="dark")
    dark = colours()
    assert light[0] == "rgb(255, 255, 255)"
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert light[2] == dark[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(page, screen, scheme):
    screen(scheme=scheme)
    pairs = page.run(
        "const colour = (node, what) => getComputedStyle(node)[what].match(/[\\d.]+/g).map(Number);"
        "const paper = colour(document.body, 'backgroundColor');"
        "return ['body', '.quiet', '.bar .cell', '.bar .score', '.p', '.q', '.supports', '.opposes', '#settings dt']"
        ".map((s) => [s, colour(document.querySelector(s), 'color'), paper])"
    )
    for selector, ink, paper in pairs:
        assert contrast(ink[:3], paper[:3]) >= 4.5, selector


def test_roles_and_names(page):
    unnamed = page.run(
        "return [...document.querySelectorAll('button, input, select, [role=slider], [role=option], [role=listbox]')]"
        ".filter((node) => !node.hidden && !node.textContent.trim())"
        ".filter((node) => !node.getAttribute('aria-label') && !node.labels?.length).map((node) => node.outerHTML)"
    )
    assert unnamed == []
    option = page.one(".bar").get_attribute("aria-label")
    assert "contribution" in option
    assert "limits" in option


@pytest.mark.parametrize("value", [0, 0.5, -0.1234567, 1e-4, 1234.56, -12345.6, 123456.0, 987654321.0])
def test_numbers_are_written_as_in_python(page, value):
    assert page.run("return xcid.plain(arguments[0])", value) == format_number(value).replace("-", "−")


@pytest.mark.parametrize("decimals", [0, 2, 3])
def test_numbers_are_rounded_as_in_python(page, decimals):
    numbers = [0.125, 0.375, 0.0145, 0.0075, 0.625, 2.5, 12.5, 1 / 3]
    due = [f"{round_half_up(number, decimals):.{decimals}f}" for number in numbers]
    assert page.run("return arguments[0].map((one) => xcid.fixed(one, arguments[1]))", numbers, decimals) == due
    assert page.run("return arguments[0].map(xcid.whole)", numbers) == [percent(number) for number in numbers]


def test_the_page_and_the_text_show_the_same_shares(page, explanation):
    told = {line.split()[0]: line.split() for line in str(explanation[0]).splitlines() if line.split()[0] in NAMES}
    shown = [page.texts(f".bar .hangs{kind}") for kind in (".d1", ".alone")]
    assert all({d1, alone} <= {*told[name]} for name, d1, alone in zip(page.names, *shown, strict=True))


def test_many_features_and_long_names(opened, screen, tmp_path):
    table = np.random.default_rng(0).normal(size=(150, 100))
    names = [f"a long name of a measurement, number {at}, {'x' * 60}" for at in range(100)]
    made = xcid.Explainer(lambda X: X[:, 7] + X[:, 8] > 0, table, feature_names=names)(table[:2])
    made.report(tmp_path / "r.html")
    page = Page(opened(tmp_path / "r.html"))
    assert len(page.names) == 15
    page.one("#more").click()
    assert len(page.names) == 100
    assert page.one("#more").get_attribute("data-left") == ""
    assert page.one("#more-overview").get_attribute("data-left") == "85 more features not shown"
    for width in (1200, 360):
        screen(width=width)
        assert page.run("return document.documentElement.scrollWidth") <= width


def test_all_rows_are_on_paper(page, explanation):
    before = page.texts("#summary-title"), page.names
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    titles = page.texts("#paper h2#summary-title")
    assert titles == [f"Row {name}" for name in explanation.index]
    assert len(page.texts("#paper .bar")) == 12 * len(NAMES)
    assert all(page.texts("#paper .bar-axis text"))
    shown = "return [...document.querySelectorAll(arguments[0])].filter((node) => node.checkVisibility()).length"
    assert page.run(shown, "#summary-title") == 12
    assert page.run("const box = document.querySelector('.scroll'); return box.scrollWidth - box.clientWidth") <= 0
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("return document.getElementById('paper').childElementCount") == 0
    assert (page.texts("#summary-title"), page.names) == before


def test_a_row_that_is_not_explained_is_on_paper_without_bars(opened, explanation, tmp_path):
    failed = np.arange(12) == 2
    status = np.where(failed, "model_failed", explanation.status)
    outputs = np.where(failed[:, None], np.nan, explanation.outputs)
    replace(explanation, status=status, outputs=outputs, cloud=None).report(tmp_path / "r.html")
    page = Page(opened(tmp_path / "r.html"))
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert len(page.texts("#paper .of-row")) == 12
    assert len(page.texts("#paper .bar")) == 11 * len(NAMES)


def test_paper(opened, tmp_path):
    table = make_table()
    made = xcid.Explainer.paper(Model(), table)(table[:3])
    made.report(tmp_path / "r.html")
    page = Page(opened(tmp_path / "r.html"))
    assert not page.one("#significant-box").is_displayed()
    assert not any(text.startswith(("+", "−", "~")) for text in page.texts(".bar .score"))
    assert "without a sign" in page.text(".prose")


def test_hidden(opened, explanation, tmp_path):
    explanation.report(tmp_path / "r.html", values="hidden")
    page = Page(opened(tmp_path / "r.html"))
    assert set(page.texts(".bar .cell")) == {"hidden"}
    for bar in page.browser.find_elements("css selector", ".bar"):
        bar.click()
        shown = page.texts("#evidence text, #evidence bdi")
        assert not {"Zwolle", "Alkmaar", "Breda"} & set(shown)
    page.type("#filter", "glucose")
    page.one(".bar").click()
    assert set(page.texts("svg.chart text")) <= {"values are hidden", "this row", "0%", "50%", "100%"}


def test_without_evidence(opened, explanation, tmp_path):
    replace(explanation, cloud=None).report(tmp_path / "r.html")
    page = Page(opened(tmp_path / "r.html"))
    assert page.text("#evidence") == "The evidence of this score is not in the file."
    assert not page.one("#changes-section").is_displayed()
    assert "were not kept" in page.text("#left-out")


PAYLOADS = [
    "</script><script>window.pwned=1</script>",
    "</SCRIPT ><svg onload=window.pwned=1>",
    "<!--<script>",
    "--><script>window.pwned=1</script>",
    "]]><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg/onload=window.pwned=1>",
    '"><img src=x onerror=window.pwned=1>',
    "' onmouseover='window.pwned=1",
    "javascript:window.pwned=1",
    "<a href=javascript:window.pwned=1>x</a>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<style>*{display:none}</style>",
    "</style><style>body{background:url(https://example.org/x)}",
    "red;}body{display:none}/*",
    "expression(window.pwned=1)",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    "<math><mtext><mglyph><style></math><img src onerror=window.pwned=1>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "${window.pwned=1}",
    "<%= window.pwned=1 %>",
    "#{window.pwned=1}",
    "@@script@@",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "&#60;img src=x onerror=window.pwned=1&#62;",
    '"}];window.pwned=1;//',
    "\\u003cscript\\u003ewindow.pwned=1",
    '\\"},window.pwned=1,{\\"',
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "`;window.pwned=1;`",
    "'; DROP TABLE rows; --",
    "=cmd|' /C calc'!A0",
    "👩‍🔬 名前 عمر naïve",
    "%3Cscript%3Ewindow.pwned=1%3C/script%3E",
    "../../etc/passwd",
]
WRITTEN_OUT = {
    "abc\u202egnp.exe": "abc⟨U+202E⟩gnp.exe",
    "\u2067\u2066isolate\u2069": "⟨U+2067⟩⟨U+2066⟩isolate⟨U+2069⟩",
    "nul\x00byte": "nul⟨U+0000⟩byte",
    "escape\x1b[31m": "escape⟨U+001B⟩[31m",
    "line\u2028and\u2029paragraph": "line⟨U+2028⟩and⟨U+2029⟩paragraph",
    "half \ud83d of a letter": "half ⟨U+D83D⟩ of a letter",
    "new\nline\ttab": "new line tab",
}
CORPUS = {**{text: text for text in PAYLOADS}, **WRITTEN_OUT}


@pytest.fixture(scope="module")
def harmless():
    """A row with a number and a level, of two classes."""
    table = make_table(80)[["glucose", "city"]]
    table["city"] = table["city"].fillna("Breda")
    made = xcid.Explainer(lambda X: (X["glucose"] > 100) | (X["city"] == "Breda"), table)(table[:2])
    return replace(made, index=made.index.astype(object))


@pytest.mark.parametrize("text", CORPUS, ids=[ascii(text)[1:40] for text in CORPUS])
def test_text_is_shown_and_never_run(opened, harmless, tmp_path, text):
    """In names of features, columns, classes, levels and rows, in the title, notes, statuses and settings."""
    index = harmless.index.copy()
    index[:] = text
    levels = ((), tuple(f"{text}{at}" for at in range(len(harmless.details.levels[1]))))
    settings = {"generator": text, "outcome": text, "seed": "0"}
    hostile = replace(
        with_details(harmless, column_names=(text, "city"), levels=levels, settings=settings),
        feature_names=(text, "city"),
        output_names=(text,) * len(harmless.output_names),
        about=np.full(2, text),
        index=index,
        status=np.array([text, "ok"]),
    )
    hostile.report(tmp_path / "r.html", title=text, notes=[text])
    page = Page(opened(tmp_path / "r.html"))
    due = CORPUS[text]
    assert page.run("return document.title") == " ".join(due.split())
    for selector in ("h1", "#notes p", ".bar .name > bdi", "td.feature bdi", "#settings dd", ".output.top bdi"):
        assert due in page.texts(selector), selector
    assert page.texts("#summary-title") == [f"Row {due}"]
    assert page.texts("#row option")[0].startswith(f"{due} · {due[:30]}")
    page.type("#filter", "city")
    page.one(".bar").click()
    assert f"{due}0" in page.texts(".level bdi")
    page.one("#next").click()
    assert page.run("return window.pwned") is None
    assert page.run("return document.scripts.length") == 2
    assert (
        page.run("return document.querySelectorAll('img, iframe, link, base, object, embed, form, math').length") == 0
    )
    assert page.run("return document.styleSheets.length") == 1
    assert page.run("return ({}).pwned === undefined && Object.keys(Object.prototype).length === 0")


def test_a_very_long_name_is_cut(opened, screen, harmless, tmp_path):
    screen(width=360)
    names = ("W" * 100_000, "city")
    long = replace(with_details(harmless, column_names=names), feature_names=names)
    long.report(tmp_path / "r.html", title="T" * 100_000)
    page = Page(opened(tmp_path / "r.html"))
    assert page.run("return document.documentElement.scrollWidth") <= 360
    assert max(map(len, page.names)) == 160


def test_the_policy_stops_what_would_get_in(browser, harmless, tmp_path):
    """Were there a hole, the browser would still run nothing: a script that is not ours is refused."""
    harmless.report(tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text("utf-8")
    hole = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1><p style='color:red'>x</p></body>"
    (tmp_path / "hole.html").write_text(text.replace("</body>", hole), "utf-8")
    browser.get((tmp_path / "hole.html").as_uri())
    assert browser.execute_script("return window.pwned") is None
    complaints = " ".join(entry["message"] for entry in browser.get_log("browser"))
    assert "Content Security Policy" in complaints


def wait(page, script):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page.browser, 5, poll_frequency=0.05).until(lambda _: page.run(script))


def contrast(one, other):
    """Of two colours, as WCAG defines it."""

    def light(colour):
        shares = np.array(colour) / 255
        linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted([light(one), light(other)])
    return (high + 0.05) / (low + 0.05)


class TestReasons:
    def test_the_line_of_each_row(self, explanation, opened, tmp_path):
        """Texts of users are text, whatever is in them."""
        reasons = Reasons(2, {"glucose": "<b onclick=alert(1)>sugar</b> of {value}"}, against="healthy")
        explanation.report(tmp_path / "r.html", reasons=reasons)
        page = Page(opened(tmp_path / "r.html"))
        said = list(reasons.sentences(explanation))
        for row in (0, 5):
            page.choose("#row", str(row))
            assert page.text("#reasons") == said[row]
        assert any("<b onclick" in one for one in said)
        assert page.texts("#reasons b") == []

    def test_no_line_without(self, page):
        assert not page.one("#reasons").is_displayed()


class Prices:
    """Outputs with six digits."""

    def predict(self, X):
        size, income = X["living_area_in_square_feet"], X["median_income_usd"]
        return (3e5 + 260 * size + 4.2 * income - 9e4 * (X["neighbourhood"] == "north hill")).to_numpy()


def make_houses(n_rows=160):
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "living_area_in_square_feet": random.normal(2000, 600, n_rows).round(),
            "median_income_usd": random.normal(60_000, 15_000, n_rows).round(2),
            "neighbourhood": random.choice(["harbour", "north hill", "old town"], n_rows),
            "year_built": random.integers(1900, 2020, n_rows),
        }
    )


@pytest.fixture(scope="module")
def prices(tmp_path_factory):
    path, table = tmp_path_factory.mktemp("prices") / "r.html", make_houses()
    explainer = xcid.Explainer(Prices(), table)
    explainer(table[:3]).report(path, counterfactuals=explainer.counterfactuals(table[:3]))
    return path


@pytest.mark.parametrize("width", WIDTHS)
def test_large_numbers_have_room(opened, prices, screen, width):
    screen(width)
    page = Page(opened(prices))
    assert any(len(text) > 6 for text in page.texts(".bar .score"))
    assert any(len(text) > 7 for text in page.texts(".changes .adds"))
    for at in range(3):
        page.choose("#row", str(at))
        assert clashes(page.browser) == []


def test_a_number_is_changed_and_not_flipped(opened, prices):
    page = Page(opened(prices))
    assert page.text("#changes-title") == "What would change it"
    assert " perturbations move it · " in page.text("#facts")
    assert "flip" not in page.text("body")
    answer = page.text("#row option").partition(" · ")[2]
    assert {text.split()[1] for text in page.texts(".moved")} == {answer}


def test_a_row_that_is_not_explained_has_no_scores(explanation, tmp_path, opened):
    status = explanation.status.copy()
    status[0] = "too_slow"
    replace(explanation, status=status).report(tmp_path / "r.html")
    page = Page(opened(tmp_path / "r.html"))
    assert page.text("#sentences").endswith("The row is not explained: the model took longer than time_limit allows.")
    hidden = "return ['columns', 'changes-section'].map((id) => document.getElementById(id).hidden)"
    assert page.run(hidden) == [True, True]
    assert page.texts("#effects li") == []
    page.one("#next").click()
    assert page.run(hidden) == [False, False]
    assert len(page.names) == len(NAMES)
