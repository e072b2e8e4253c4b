"""Explanations as people meet them: words, text, frames of a notebook, plots, a report."""
