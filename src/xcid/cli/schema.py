"""``xcid schema``: what the JSON of a verb holds, as a JSON Schema: for programs that read it."""

from __future__ import annotations

import argparse
from importlib.resources import files

from xcid.cli._terminal import show

SCHEMAS = {"explain": "explain-1", "validate": "validation-1"}  # the newest version for each verb


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("document", choices=SCHEMAS, help="the verb whose --json it describes")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the schema."""
    show((files("xcid.io") / "schemas" / f"{SCHEMAS[options.document]}.json").read_text("utf-8").rstrip())
