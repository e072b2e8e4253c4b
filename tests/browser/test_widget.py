"""The explorer in a notebook: a page that does for a module what anywidget promises, and the real widget behind it."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from xcid.app import Session, widget

from .conftest import WIDTHS
from .test_app import CORPUS, Keys, Model, Page, Three, due, hostile, make_table

pytest.importorskip("anywidget", reason="needs the extra widget")

NOTEBOOK = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>A notebook</title>
<style>
body { background: white; color: purple; font: italic 30px/3 serif; letter-spacing: 3px; text-align: right; }
div, p, button, .bar, #answer { background: yellow !important; color: red !important; text-transform: uppercase; }
button { border-radius: 40px !important; }
#cells, #cells div { background: none !important; }
</style>
<h1 id="title">Mine</h1><button id="undo">Mine</button><div id="cells"></div>
<script type="module">
import page from "./module.js";
const hears = new Map();
window.kernel = { isDead: false, isBusy: false, late: [], sent: [] };
window.keys = [];
document.addEventListener("keydown", (event) => keys.push(event.key));
function model(number) {
  const heard = new Map();
  const on = (name, act) => heard.set(name, [...(heard.get(name) || []), act]);
  const off = (name, act) => heard.set(name, (heard.get(name) || []).filter((one) => one !== act));
  const tell = (name, ...given) => (heard.get(name) || []).forEach((act) => act(...given));
  const get = () => undefined;
  async function send(message) {
    if (kernel.isDead) throw new Error("this comm is closed");
    kernel.sent.push(message);
    const answer = await (await fetch(`kernel/${number}`, { method: "POST", body: JSON.stringify(message) })).json();
    if (kernel.isBusy) kernel.late.push(() => tell("msg:custom", answer, []));
    else tell("msg:custom", answer, []);
  }
  return { get, set() {}, save_changes() {}, on, off, tell, send: (message) => {
    if (kernel.isDead) throw new Error("this comm is closed");
    send(message);
  }, get ears() { return [...heard.values()].flat().length; } };
}
window.models = [model(0), model(1)];
window.ends = [];
window.roots = [];
for (const one of [models[0], models[1], models[0]]) { // the last shows a widget a second time
  const el = document.createElement("div");
  const end = page.render({ model: one, el });
  document.getElementById("cells").append(el);
  ends.push(end);
  roots.push(el.firstElementChild.shadowRoot);
}
window.isReady = true;
</script>"""


@contextlib.contextmanager
def notebook(sessions, browser):
    """The address of a notebook with a widget for each of two sessions, the first one shown twice."""
    made = [widget(session) for session in sessions]
    lock = threading.Lock()

    class Kernel(BaseHTTPRequestHandler):
        def give(self, text, kind):
            self.send_response(200)
            self.send_header("content-type", f"{kind}; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def do_GET(self):
            if self.path.endswith("module.js"):
                self.give(made[0]._esm, "text/javascript")
            else:
                self.give(NOTEBOOK, "text/html")

        def do_POST(self):
            one = made[int(self.path.rpartition("/")[2])]
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:  # a kernel does one thing at a time
                sent = []
                one.send = sent.append
                one._handle_custom_msg(message, [])
            self.give(json.dumps(sent[0]), "application/json")

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Kernel)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        browser.get("about:blank")
    finally:
        server.shutdown()
        thread.join(timeout=20)
        server.server_close()
        for one in made:
            one.close()


class Cell(Page):
    """What a reader sees and does in one cell."""

    def __init__(self, browser, number):
        self.browser, self.number = browser, number
        self.until(lambda: self.edition > 0 and not self.text("#busy"))

    def run(self, script, *arguments):
        return self.browser.execute_script(f"const document = window.roots[{self.number}]; {script}", *arguments)

    def one(self, selector):
        return self.run("return document.querySelector(arguments[0])", selector)

    def control(self, name, inside):
        cells = self.texts(".control .name")
        return self.one(f".control:nth-child({cells.index(name) + 1}) {inside}")

    def style(self, selector, name):
        return self.run(f"return getComputedStyle(document.querySelector(arguments[0])).{name}", selector)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def address(table, browser):
    first = Session(Model(), table, table[:6], title="Who is ill", notes=["A note."])
    with notebook([first, Session(Three(), table, table[:3], title="How high")], browser) as found:
        yield found


@pytest.fixture
def visit(browser, screen):
    """Open a notebook; when the test is over, nothing may have complained."""

    def open_notebook(address):
        browser.get("about:blank")
        browser.get_log("browser")
        browser.get(address)
        return [Cell(browser, number) for number in range(3)]

    yield open_notebook
    browser.get("about:blank")
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.fixture
def cells(visit, address):
    return visit(address)


def test_two_widgets_and_a_second_view(cells, table):
    """Each shows its own session, and what is done in one is seen in no other, not even in a second view of it."""
    first, other, again = cells
    assert [cell.text("h1") for cell in cells] == ["Who is ill", "How high", "Who is ill"]
    assert first.text("#sentences") == again.text("#sentences") == due(table)
    assert len(other.texts(".output")) == 3
    seen = other.seen, again.seen
    with first.answered():
        first.control("glucose", "input[type=range]").send_keys(Keys.END)
    assert first.text("#sentences") == due(table, edits={"glucose": table["glucose"].max()})
    first.sought()
    assert len(first.texts(".flip")) == 3
    with other.answered():
        other.one("#next").click()
    assert other.text("#summary-title") == "Row 1"
    assert first.text("#summary-title") == "Row 0, edited"
    assert again.seen["#sentences"] == seen[1]["#sentences"]
    assert first.browser.title == "A notebook"


def test_all_that_the_page_does(cells, table):
    """Counterfactuals are applied, rules made, steps undone, and code is written."""
    first = cells[0]
    first.sought()
    found = first.found()
    with first.answered():
        first.run("document.querySelector('.flip button').click()")
    edits = {name: float(to) for name, _, to, _, _ in found.changes}
    assert first.text("#sentences") == due(table, edits=edits)
    with first.answered():
        first.control("age", ".pin input").click()
    assert first.texts("#rules bdi") == ["age stays as it is"]
    for _ in range(2):
        with first.answered():
            first.one("#undo").click()
    assert first.text("#sentences") == due(table)
    first.browser.execute_cdp_cmd(
        "Browser.setPermission", {"permission": {"name": "clipboard-write"}, "setting": "denied"}
    )
    first.one("#copy").click()
    first.until(lambda: "explainer = xcid.Explainer(" in first.one("#code").get_attribute("value"))
    first.one("#code-box button").click()
    place = first.browser.current_url
    first.one("#down").click()
    assert first.focused == first.one("#changes-title")
    assert first.browser.current_url == place


def test_an_answer_belongs_to_its_request(cells, table):
    """Answers that come late, in another order, twice, or to nobody, change nothing but what they answer."""
    first = cells[0]
    first.sought()
    first.browser.execute_script("kernel.isBusy = true; kernel.sent.length = 0")
    first.control("glucose", "input[type=range]").send_keys(Keys.END)
    first.until(lambda: first.browser.execute_script("return kernel.late.length") == 1)
    first.browser.execute_script(
        "models[0].tell('msg:custom', {id: 1, record: '{\"answer\": \"wrong\"}'}, []);"
        "for (const one of [null, 'x', {}, {id: null, record: '{}'}]) models[0].tell('msg:custom', one, []);"
    )
    assert first.text("#busy") == "…"
    with first.answered():
        first.control("age", "input[type=range]").send_keys(Keys.HOME)
        first.browser.execute_script("kernel.isBusy = false; kernel.late.forEach((give) => { give(); give(); })")
    edits = {"glucose": table["glucose"].max(), "age": table["age"].min()}
    assert first.text("#sentences") == due(table, edits=edits)
    ids = [one["id"] for one in first.browser.execute_script("return kernel.sent")]
    assert len(set(ids)) == len(ids)
    assert all(0 <= number < 2**53 for number in ids)


def test_a_busy_kernel(cells, table, approved):
    """A message says that there is no answer yet; the answer is shown when it comes."""
    first = cells[0]
    first.sought()
    first.browser.execute_script("kernel.isBusy = true")
    first.control("glucose", "input[type=range]").send_keys(Keys.END)
    first.until(lambda: first.one("#problem").is_displayed())
    approved(first.text("#problem"))
    with first.answered():
        first.browser.execute_script("kernel.isBusy = false; kernel.late.forEach((give) => give())")
    assert first.text("#sentences") == due(table, edits={"glucose": table["glucose"].max()})
    assert not first.one("#problem").is_displayed()
    first.browser.execute_script("kernel.isBusy = true; kernel.late.length = 0")
    first.one("#copy").click()
    first.until(lambda: first.one("#problem").is_displayed())
    first.browser.execute_script("kernel.late.forEach((give) => give())")
    first.until(lambda: not first.one("#problem").is_displayed())


def test_a_kernel_that_is_gone(cells, approved):
    first, other, _ = cells
    first.sought()
    first.browser.execute_script("kernel.isDead = true")
    first.control("glucose", "input[type=range]").send_keys(Keys.END)
    first.until(lambda: first.one("#problem").is_displayed())
    approved(first.text("#problem"))
    assert "stale" in first.one("#results").get_attribute("class")
    other.sought()
    first.browser.execute_script("kernel.isDead = false; kernel.isBusy = true")
    other.control("glucose", "input[type=range]").send_keys(Keys.END)
    first.until(lambda: first.browser.execute_script("return kernel.late.length") == 1)
    first.browser.execute_script("models[1].tell('comm:close')")
    other.until(lambda: other.one("#problem").is_displayed())
    assert other.text("#problem") == first.text("#problem")


def test_styles_stay_where_they_belong(cells):
    first = cells[0]
    assert first.style("#undo", "borderTopLeftRadius") == "7px"
    assert first.style("#answer", "color") == first.style("body", "color") == "rgb(51, 51, 51)"
    inherited = ("fontStyle", "letterSpacing", "textAlign", "textTransform", "fontSize")
    assert [first.style("#sentences", name) for name in inherited] == ["normal", "normal", "start", "none", "20.48px"]
    outside = first.browser.execute_script(
        "const of = (s) => getComputedStyle(document.querySelector(s));"
        "const sheets = document.styleSheets.length;"
        "return [sheets, of('body').maxWidth, of('h1').fontStyle, of('button').borderTopLeftRadius]"
    )
    assert outside == [1, "none", "italic", "40px"]
    assert first.browser.execute_script("return document.getElementById('undo').textContent") == "Mine"


def test_light_and_dark_are_those_of_the_notebook(cells, screen):
    """What the system prefers does not count."""
    first = cells[0]

    def colours():
        return [first.style(of, "backgroundColor") for of in ("body", ".summary", "#row")] + [
            first.style("#row", "colorScheme")
        ]

    light = colours()
    assert light[0] == "rgb(255, 255, 255)"
    screen(scheme="dark")
    assert colours() == light
    first.browser.execute_script("document.body.style.background = 'oklch(20% 0 0)'")
    first.until(lambda: colours()[3] == "dark")
    assert all(one != other for one, other in zip(light, colours(), strict=True))
    screen(scheme="light")
    assert colours()[3] == "dark"
    first.browser.execute_script("document.body.style.background = '#fffd'")
    first.until(lambda: colours() == light)


@pytest.mark.parametrize("width", [320, *WIDTHS])
def test_the_width_of_the_cell_decides(cells, screen, width):
    screen(width=1700)
    first = cells[0]
    first.browser.execute_script("document.getElementById('cells').style.width = `${arguments[0]}px`", width)
    first.sought()
    columns = "return getComputedStyle(document.getElementById('main')).gridTemplateColumns.split(' ').length"
    first.until(lambda: first.run(columns) == (2 if width > 940 else 1))
    assert first.run("const n = document.querySelector('body'); return n.scrollWidth - n.clientWidth") <= 0


def test_the_prediction_stays_in_sight(cells):
    first = cells[0]
    assert first.run("const n = document.querySelector('body'); return n.getBoundingClientRect().height") <= 720.5
    first.run("document.querySelector('body').scrollTop = 700")
    place = "document.getElementById('now').getBoundingClientRect().top"
    first.until(
        lambda: abs(first.run(f"return {place} - document.querySelector('body').getBoundingClientRect().top")) < 1
    )


def test_keys_are_for_the_cell_that_has_the_focus(cells, table):
    from selenium.webdriver import ActionChains

    first, _, again = cells
    with first.answered():
        first.control("glucose", "input[type=range]").send_keys(Keys.END)
    first.control("glucose", ".name").send_keys("dd")
    assert first.browser.execute_script("return keys") == []
    with first.answered():
        ActionChains(first.browser).key_down(Keys.CONTROL).send_keys("z").key_up(Keys.CONTROL).perform()
    assert first.text("#sentences") == due(table)
    assert "z" not in first.browser.execute_script("return keys")
    assert not again.one("#redo").is_enabled()
    host = first.browser.execute_script("return roots[0].host")
    assert host.get_attribute("data-lm-suppress-shortcuts") == "true"


def test_a_view_that_is_closed_hears_nothing(cells):
    first = cells[0]
    assert first.browser.execute_script("return models.map((one) => one.ears)") == [4, 2]
    assert first.browser.execute_script("ends[2](); return models.map((one) => one.ears)") == [2, 2]
    with first.answered():
        first.one("#next").click()


def test_text_is_shown_and_never_run(visit, browser):
    with notebook([hostile(), hostile()], browser) as address:
        first = visit(address)[0]
        shown = list(CORPUS.values())
        assert first.texts("#notes p") == shown
        assert first.texts(".control .name")[:-1] == shown
        first.one("#more").click()
        assert set(shown) < set(first.texts(".bar .name > bdi"))
        first.choose("#ask", "class")
        assert first.texts("#target option") == shown
        first.sought()
        assert browser.execute_script("return window.pwned") is None
        assert (
            first.run("return document.querySelectorAll('script, img, iframe, base, object, embed, math').length") == 0
        )
        assert browser.execute_script("return document.scripts.length") == 1
        assert browser.execute_script("return Object.keys(Object.prototype).length") == 0
