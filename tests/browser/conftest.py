"""A real browser without a window: Debian's chromium and chromium-driver, driven by selenium."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil

import pytest

ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking")
PLACES = ("file:", "data:", "about:", "chrome:", "devtools:")


def _lacking():
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed: pip install selenium"
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"there is no {' and no '.join(missing)}: apt-get install chromium chromium-driver" if missing else ""


@pytest.fixture(scope="session")
def browser():
    reason = _lacking()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(20)
    yield driver
    driver.quit()


@pytest.fixture
def screen(browser):
    """Set the size and the colour scheme of the screen; put back afterwards."""

    def set_to(width=1200, height=900, scheme="light"):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    set_to()
    yield set_to
    set_to()


@pytest.fixture
def opened(browser, screen):
    """Open a file; when the test is over, nothing may have complained and nothing may have left the machine."""
    browser.get_log("browser")
    browser.get_log("performance")

    def open_file(path):
        browser.get(path.as_uri())
        return browser

    yield open_file
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert complaints == []
    assert [address for address in requests(browser) if not address.startswith(PLACES)] == []


def requests(browser):
    """Addresses that were asked for since the last look."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]


WIDTHS = (390, 1300, 1600)  # of a phone and of two screens
CLASHES = """
const boxOf = (node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  return node.namespaceURI.endsWith("svg") ? node.getBoundingClientRect() : range.getBoundingClientRect();
};
const found = [];
for (const [rows, cells] of [[".bar", ":scope > span"], [".bar-axis", "text"], [".changes tr", ":scope > *"],
                             [".level", ":scope > span"], [".figures", "dd"], [".flip-head", ":scope > *"]]) {
  for (const row of document.querySelectorAll(rows)) {
    const panel = row.closest("section").getBoundingClientRect();
    const isSeen = (node) => node.textContent.trim() && !node.querySelector(".unseen") && node.checkVisibility();
    const parts = [...row.querySelectorAll(cells)].filter(isSeen);
    const boxes = parts.map((node) => [node.textContent.trim(), boxOf(node)]);
    boxes.forEach(([text, box], at) => {
      if (box.left < panel.left - 1 || box.right > panel.right + 1) found.push(`${rows}: ${text} leaves its panel`);
      for (const [other, beside] of boxes.slice(at + 1)) {
        const across = Math.min(box.right, beside.right) - Math.max(box.left, beside.left);
        const down = Math.min(box.bottom, beside.bottom) - Math.max(box.top, beside.top);
        if (across > 0.5 && down > 0.5) found.push(`${rows}: ${text} and ${other} overlap`);
      }
    });
  }
}
return found;
"""


def clashes(browser):
    """Text of a row that lies over its neighbours or outside of its panel."""
    return browser.execute_script(CLASHES)
