"""The command as a function, and what it may leave behind."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from xcid.cli import main

sys.path.insert(0, str(Path(__file__).parent))  # for the corpora, which are no tests

SOAK = Path(__file__).resolve().parents[2] / "soak"
sys.path.append(str(SOAK))  # for what its scripts share


@pytest.fixture(scope="session")
def soak():
    """Scripts of the folder soak as modules, by their names."""

    def script(name):
        if not SOAK.exists():
            pytest.skip("the folder soak is not there")
        spec = importlib.util.spec_from_file_location(f"soak_{name}", SOAK / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where its processes look for it
        spec.loader.exec_module(module)
        return module

    return script


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
