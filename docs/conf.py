"""How the site is built: ``make docs``. Nothing is fetched, neither while building nor while reading."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

import xcid

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))

import notebooks  # noqa: E402

project = "xcid"
author = project_copyright = "The xcid developers"
version = release = xcid.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_static"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"xcid {release}"
html_static_path = ["_static"]
html_css_files = ["xcid.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00684c", "color-brand-content": "#00684c"},
    "dark_css_variables": {"color-brand-primary": "#4fd1a5", "color-brand-content": "#4fd1a5"},
}
highlight_language = "text"  # of bare blocks: what examples print
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what goes in, with shapes
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # one list: fields, not objects to link to
napoleon_use_rtype = False


def show_formula(self: Any, node: nodes.math) -> None:
    """Write a formula within a line as MathML, which browsers draw by themselves."""
    self.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def show_formula_block(self: Any, node: nodes.math_block) -> None:
    """Write a formula that stands by itself as MathML."""
    self.body.append(f'<div class="math">{mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def mathml(node: nodes.math | nodes.math_block, as_block: bool) -> str:
    """Turn TeX into MathML; what docutils does not know is a warning, and so fails the build."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s: %s", node.astext(), error, location=node)
        return ""


class NotebookParser(MystParser):
    """Reads a notebook with the outputs that are stored in it; nothing is run."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse a notebook as the Markdown that it is made of."""
        super().parse(notebooks.to_markdown(json.loads(inputstring)), document)


def copy_notebooks(app: Sphinx, config: Config) -> None:
    """Put the notebooks where Sphinx looks for pages; `.gitignore` names the copies."""
    shutil.rmtree(HERE / "examples", ignore_errors=True)
    shutil.copytree(notebooks.ROOT / "examples", HERE / "examples")


def link_notebooks(app: Sphinx, name: str, source: list[str]) -> None:
    """Lead links to the notebooks, which are written as they work in the repository, to their pages."""
    source[0] = source[0].replace("](../examples/", "](examples/")


def list_pages(app: Sphinx, error: Exception | None) -> None:
    """Write ``llms.txt``: each page with its first sentence, for programs that look for the right one."""
    if error is not None or app.builder.name != "html":
        return
    head = f"# xcid\n\n> {first_sentence(app, app.config.root_doc)}\n\nVersion {release}.\n\n## Pages\n"
    lines = [head]
    for name in sorted(app.env.found_docs):
        lines.append(f"- [{app.env.titles[name].astext()}]({name}.html): {first_sentence(app, name)}")
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_sentence(app: Sphinx, name: str) -> str:
    """The sentence that a page begins with."""
    first = app.env.get_doctree(name).next_node(nodes.paragraph)
    text = "" if first is None else " ".join(first.astext().split())
    return re.split(r"(?<=[^A-Z ][.?!])\s+(?=[A-Zx])", text)[0].rstrip(":")


def setup(app: Sphinx) -> None:
    """Add the formulas, the notebooks, and the list of pages."""
    app.add_html_math_renderer("mathml", (show_formula, None), (show_formula_block, None))
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("config-inited", copy_notebooks)
    app.connect("source-read", link_notebooks)
    app.connect("build-finished", list_pages)
