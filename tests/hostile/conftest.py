"""The command as a function, and what it may leave behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xcid.cli import main

sys.path.insert(0, str(Path(__file__).parent))  # for the corpora, which are no tests


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
