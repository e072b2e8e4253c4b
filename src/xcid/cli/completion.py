"""``xcid completion``: a few lines for your shell, which then completes verbs, options and files."""

from __future__ import annotations

import argparse
import sys

from xcid._require import require

SHELLS = ("bash", "zsh", "fish")
EPILOG = """\
To keep it:
  bash   xcid completion bash >> ~/.bashrc
  zsh    xcid completion zsh >> ~/.zshrc
  fish   xcid completion fish > ~/.config/fish/completions/xcid.fish
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.epilog, parser.formatter_class = EPILOG, argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", choices=SHELLS)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print what the shell has to read."""
    argcomplete = require("argcomplete", extra="completion")
    sys.stdout.write(argcomplete.shellcode(["xcid"], shell=options.shell))
