"""Every command of the README works as it is typed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TYPED = re.findall(r"^xcid .*$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
ENDLESS = [line for line in TYPED if line.startswith("xcid app")]

pytest.importorskip("sklearn")


@pytest.fixture
def checkout(tmp_path):
    """A folder like a checkout, in which files may be left behind."""
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


def command(line):
    return [sys.executable, "-m", *shlex.split(line)]


def test_there_are_some():
    assert len(TYPED) - len(ENDLESS) >= 3
    assert ENDLESS


@pytest.mark.parametrize("line", [line for line in TYPED if line not in ENDLESS])
def test_it_does_what_it_says(line, checkout):
    done = subprocess.run(command(line), cwd=checkout, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    written = re.findall(r"--out (\S+)", line)
    assert done.stdout or written
    for name in written:
        assert (checkout / name).stat().st_size > 10_000


@pytest.mark.parametrize("line", ENDLESS)
def test_a_page_is_served(line, checkout):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*command(line), "--port", "0"],
        cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        assert any("http://127.0.0.1:" in said for said in process.stdout)
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()
