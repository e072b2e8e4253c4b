"""Make the screenshots of the documents: ``python docs/make_screens.py`` (needs chromium, chromium-driver, selenium).

The report in light, dark and on a narrow screen, and the explorer, each as ``docs/images/screens/*.png``; both once
more with their counterfactuals. Then what a newcomer sees first: the README, and the first page of the site. That of a
notebook is taken by hand.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

DOCS = Path(__file__).parent
SCREENS = DOCS / "images" / "screens"
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
SIZES = {"": (1280, 1160, "light"), "-dark": (1280, 1160, "dark"), "-narrow": (390, 1100, "light")}
PATIENCE = 60.0
PLAIN = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 sans-serif; max-width: 880px; margin: 32px auto; padding: 0 16px; }
img { max-width: 100%; }
pre { font-size: 13px; line-height: 1.45; padding: 16px; overflow: auto; background: rgb(128 128 128 / 12%); }
table { border-collapse: collapse; font-size: 14px; }
td, th { border: 1px solid rgb(128 128 128 / 40%); padding: 6px 12px; text-align: left; }
"""


def main() -> None:
    """Make all of them."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    with _browser() as browser, tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        _report(page)
        _shots(browser, page.as_uri(), "report")
        _shots(browser, page.as_uri(), "report-whatif", "document.getElementById('next').click()")
        with _app() as address:
            _shots(browser, address, "app")
            _shots(browser, address, "app-whatif", "document.querySelectorAll('.tools button')[1].click()")
        _shots(browser, _readme(Path(folder)), "readme")
        _shots(browser, _site(Path(folder)), "site")


def _report(path: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    import xcid

    table = xcid.datasets.load_diabetes()
    train, test, target, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    model = RandomForestClassifier(100, random_state=0).fit(train, target)
    explainer, rows = xcid.Explainer(model, train, class_names=table.target_names), test.iloc[:40]
    explainer(rows).report(path, title="Who has diabetes?", counterfactuals=explainer.counterfactuals(rows))


def _readme(folder: Path) -> str:
    """The address of the README as a page, much as hosts of repositories show it."""
    from markdown_it import MarkdownIt

    root = DOCS.resolve().parent
    text = MarkdownIt("commonmark").enable("table").render((root / "README.md").read_text(encoding="utf-8"))
    page = folder / "readme.html"
    head = f'<meta charset="utf-8"><base href="{root.as_uri()}/"><style>{PLAIN}</style>'
    page.write_text(f"<!doctype html>{head}{text}", encoding="utf-8")
    return page.as_uri()


def _site(folder: Path) -> str:
    """The address of the site's first page, which is built for it."""
    built = folder / "site"
    subprocess.run([sys.executable, "-m", "sphinx", "-q", str(DOCS), str(built)], check=True)
    return (built / "index.html").as_uri()


def _shots(browser: Any, address: str, name: str, act: str = "") -> None:
    """Pictures of the top of a page, or of its counterfactuals after a script has acted."""
    for suffix, (width, height, scheme) in SIZES.items():
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get(address)
        _wait_for(lambda: browser.execute_script("return document.querySelectorAll('svg, img').length"))
        time.sleep(2.0)  # of the explorer: the search that follows an answer
        if act:
            browser.execute_script(act)
            time.sleep(2.0)
            browser.execute_script("document.getElementById('changes-section').scrollIntoView()")
            time.sleep(0.5)
        browser.save_screenshot(str(SCREENS / f"{name}{suffix}.png"))


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the page shows nothing")
        time.sleep(0.1)


@contextmanager
def _browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ARGUMENTS:
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    try:
        yield browser
    finally:
        browser.quit()


@contextmanager
def _app() -> Iterator[str]:
    command = [sys.executable, "-m", "xcid", "app", "--demo", "heart"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://\S+", line):
                    yield found[0]
                    return
            raise RuntimeError("the explorer did not start")
        finally:
            process.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
