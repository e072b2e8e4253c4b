"""Make the screenshots of the documents: ``python docs/make_screens.py`` (needs chromium, chromium-driver, selenium).

The report in light, dark and on a narrow screen, and the explorer, each as ``docs/images/screens/*.png``; both once
more with their counterfactuals.
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

SCREENS = Path(__file__).parent / "images" / "screens"
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars")
SIZES = {"": (1280, 1000, "light"), "-dark": (1280, 1000, "dark"), "-narrow": (390, 1100, "light")}
PATIENCE = 60.0


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


def _report(path: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    import xcid

    table = xcid.datasets.load_diabetes()
    train, test, target, _ = train_test_split(table.data, table.target, test_size=0.2, random_state=42)
    model = RandomForestClassifier(100, random_state=0).fit(train, target)
    explainer, rows = xcid.Explainer(model, train, class_names=table.target_names), test.iloc[:40]
    explainer(rows).report(path, title="Who has diabetes?", counterfactuals=explainer.whatif(rows))


def _shots(browser: Any, address: str, name: str, act: str = "") -> None:
    """Pictures of the top of a page, or of its counterfactuals after a script has acted."""
    for suffix, (width, height, scheme) in SIZES.items():
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get(address)
        _wait_for(lambda: browser.execute_script("return document.querySelectorAll('svg').length"))
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
