"""Shells complete what is typed; asked in real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from xcid.cli import VERBS, completion

pytest.importorskip("argcomplete", reason="needs the extra completion")

NAMES = sorted(VERBS)


@pytest.fixture
def environment(tmp_path):
    """The command on the path, whether or not it is installed there."""
    script = tmp_path / "bin" / "xcid"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom xcid.cli import main\nsys.exit(main())\n")
    script.chmod(0o755)
    kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}


def shell(name, code, environment, folder):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    flags = {"bash": ["--norc", "--noprofile"], "fish": ["--no-config"], "zsh": ["-f"]}[name]
    result = subprocess.run(
        [name, *flags, "-c", code], capture_output=True, text=True, timeout=60, env=environment, cwd=folder
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def by_bash(line, environment, folder):
    """What two TABs at the end of a line propose."""
    code = f"""
        eval "$(xcid completion bash)"
        line={line!r}
        COMP_LINE=$line COMP_POINT=${{#line}} COMP_TYPE=63
        read -ra COMP_WORDS <<< "$line"
        [[ $line == *' ' ]] && COMP_WORDS+=('')
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        handler=$(complete -p xcid); handler=${{handler#*-F }}; handler=${{handler%% *}}
        "$handler" xcid "${{COMP_WORDS[-1]}}" "${{COMP_WORDS[-2]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return sorted(word.strip() for word in shell("bash", code, environment, folder).splitlines())


def test_bash_proposes_verbs(environment, tmp_path):
    assert set(NAMES) <= set(by_bash("xcid ", environment, tmp_path))
    assert by_bash("xcid exp", environment, tmp_path) == ["explain"]


def test_bash_proposes_options_and_choices(environment, tmp_path):
    assert {"--background", "--target", "--unsafe-pickle"} <= set(by_bash("xcid explain --", environment, tmp_path))
    kinds = ["auto", "boosting", "forest", "logistic", "network"]
    assert by_bash("xcid explain --train ", environment, tmp_path) == kinds
    assert by_bash("xcid completion ", environment, tmp_path) == sorted([*completion.SHELLS, "-h", "--help"])


def test_bash_proposes_files(environment, tmp_path):
    Path(tmp_path, "train.csv").touch()
    assert by_bash("xcid explain --background tr", environment, tmp_path) == ["train.csv"]


def test_fish(environment, tmp_path):
    code = "xcid completion fish | source; complete -C 'xcid '"
    found = [line.split("\t")[0] for line in shell("fish", code, environment, tmp_path).splitlines()]
    assert set(NAMES) <= set(found)


def test_zsh_takes_it(environment, tmp_path):
    code = 'autoload -U compinit; compinit -u; eval "$(xcid completion zsh)"; print ${_comps[xcid]}'
    assert shell("zsh", code, environment, tmp_path).strip() == "_python_argcomplete"


def test_without_the_extra(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    status, out, err = command("completion", "bash")
    assert (status, out) == (1, "")
    assert 'pip install -e ".[completion]"' in err


def test_shells_that_are_not_known(command):
    assert command("completion", "tcsh")[0] == 2
