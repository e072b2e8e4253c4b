"""The explorer in a cell of a notebook: the page as one module of JavaScript, with messages in place of a server."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from xcid._require import require
from xcid.app.answers import answer_message
from xcid.app.session import Session
from xcid.show.report.page import SHARED, STYLES, encode_json, fill_frame, read_asset

SCRIPTS = (
    *("fields.js", "controls.js", "rows.js", "steps.js", "code.js", "save.js", "compare.js", "whatif.js"),
    "app.js",
)
OF_SCREEN = re.compile(r"@media (?=\((?:min|max)-width)")  # of a page; in a notebook the cell decides


def widget(session: Session) -> Any:
    """Show the pages of a session in a cell of a notebook, such as JupyterLab or marimo.

    Gives a widget of ``anywidget``; the kernel answers it, without a server.
    """
    base = require("anywidget", extra="widget").AnyWidget
    made = type("Explorer", (base,), {"__module__": __name__, "_esm": assemble_module()})()
    session.describe()  # what cannot work says so before there is a page
    made.on_msg(lambda source, message, buffers: source.send(answer_message(session, message)))
    return made


@cache
def assemble_module() -> str:
    """The page as a module for anywidget: its styles, its frame, and its scripts in a scope of their own."""
    ours = {name: read_asset(name, "xcid.app") for name in ("app.html", "app.css", "widget.css", "widget.js", *SCRIPTS)}
    style = "\n".join([*map(read_asset, STYLES), ours["app.css"], ours["widget.css"]])
    return "\n".join(
        [
            f"const STYLE = {encode_json(OF_SCREEN.sub('@container ', style))};",
            f"const FRAME = {encode_json(fill_frame(ours['app.html'], {}))};",
            "function load(globalThis) {",
            *map(read_asset, SHARED),
            *(ours[name] for name in SCRIPTS),
            "return globalThis.xcid;",
            "}",
            ours["widget.js"],
        ]
    )
