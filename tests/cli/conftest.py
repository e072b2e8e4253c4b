"""A small table in files, and the command as a function."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from xcid.cli import main


def make_table(n_rows=90):
    """The first column decides, with noise; a level and some missing cells beside it."""
    random = np.random.default_rng(4)
    first, second = random.normal(size=(2, n_rows)).round(3)
    level = random.choice(["red", "green", "blue"], n_rows)
    y = (first + 0.3 * random.normal(size=n_rows) > 0).astype(int)
    table = pd.DataFrame({"first": first, "second": second, "level": level, "y": y})
    table.loc[[3, 30], "second"] = np.nan
    table.loc[[5, 50], "level"] = None
    return table


@pytest.fixture(scope="session")
def table():
    return make_table()


@pytest.fixture
def csv(tmp_path, table):
    path = tmp_path / "train.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def command(capsys):
    """Run a command in this process: exit status, stdout, stderr."""

    def run(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return status, printed.out, printed.err

    return run
