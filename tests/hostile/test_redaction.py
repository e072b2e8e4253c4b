"""A report without values holds none of them, wherever in an explanation they may hide; nor do messages and logs."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.errors import XcidError
from xcid.outcomes import Interval, Threshold, Within
from xcid.show.report import report
from xcid.table import Constraints

N_ROWS = 80
CANARY = re.compile(r"canary|7319|1953-0", re.IGNORECASE)  # in every level, number, date and name of a row


def table():
    random = np.random.default_rng(3)
    number = (7319 + random.permutation(N_ROWS) / 100) * 10.0 ** (np.arange(N_ROWS) % 2)  # 7319.xx or 73190.xx
    return pd.DataFrame(
        {
            "number": number,
            "level": np.array(["Canary Jane", "Canary John", "canary-x"])[random.integers(3, size=N_ROWS)],
            "day": pd.Timestamp("1953-01-01") + pd.to_timedelta(random.integers(120, size=N_ROWS), unit="D"),
            "noise": random.normal(size=N_ROWS).round(2),
        },
        index=[f"canary {at}" for at in range(N_ROWS)],
    )


def classifier(rows):
    evidence = 2.0 * (rows["number"].to_numpy() > 20_000) + 1.0 * (rows["level"] == "Canary Jane").to_numpy()
    return 1 / (1 + np.exp(0.9 - evidence))


def regression(rows):
    return rows["number"].to_numpy() + 5.0 * (rows["level"] == "Canary Jane").to_numpy()


SETTINGS = {
    "classes": (classifier, {}),
    "paper": (classifier, {"paper": True}),
    "numbers": (regression, {}),
    "interval": (regression, {"outcome": Interval(half_width=7319.0)}),
    "threshold": (regression, {"outcome": Threshold(7319.5)}),
    "within": (regression, {"outcome": Within(7319.1, 7319.9)}),
    "group": (classifier, {"constraints": Constraints(groups={"both": ["level", "day"]})}),
    "ranges": (classifier, {"constraints": Constraints(ranges={"number": (7319.0, 73199.0)})}),
}


def explanation(name):
    model, settings = SETTINGS[name]
    settings = dict(settings)
    make = xcid.Explainer.paper if settings.pop("paper", False) else xcid.Explainer
    return make(model, table(), **settings)(table()[:5])


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.filterwarnings("ignore::xcid.errors.XcidWarning")
def test_no_value_is_in_a_redacted_report(tmp_path, name):
    found = explanation(name)
    report(found, tmp_path / "shown.html")
    report(found, tmp_path / "hidden.html", values="hidden")
    assert CANARY.search((tmp_path / "shown.html").read_text("utf-8"))  # the canaries sing
    assert not CANARY.search((tmp_path / "hidden.html").read_text("utf-8"))


def test_at_the_command_line(command, tmp_path):
    table().assign(y=(table()["number"] > 20_000).astype(int)).to_csv(tmp_path / "t.csv", index=False)
    files = ("--background", tmp_path / "t.csv", "--target", "y", "--out", tmp_path / "r.html")
    status, out, err = command("report", *files, "--train", "logistic", "--rows", "0:5", "--redact")
    assert status == 0
    assert not CANARY.search((tmp_path / "r.html").read_text("utf-8") + out + err)


MISTAKES = {
    "a column too few": lambda rows: rows.drop(columns="noise"),
    "a missing cell": lambda rows: rows.assign(number=np.nan),
    "an infinite cell": lambda rows: rows.assign(number=np.inf),
    "an unknown level": lambda rows: rows.assign(level="new"),
    "text in place of numbers": lambda rows: rows.assign(noise="many"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_messages_show_no_other_cell_than_the_one_that_is_wrong(name):
    explainer = xcid.Explainer(classifier, table().drop(columns="level").assign(level="plain"))
    with pytest.raises(XcidError) as caught:
        explainer(MISTAKES[name](table().assign(level="plain")[:5]))
    assert not CANARY.search(str(caught.value))
