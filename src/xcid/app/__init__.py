"""A page on this machine where rows are edited, and what decides them is seen at once.

``controls.py`` says what can be edited, ``requests.py`` what can be asked, and checks it, ``code.py`` writes it as
Python, ``workshop.py`` keeps the explainers and gives plain numbers and sentences for it, and ``server.py`` and
``serving.py`` put Starlette and a guard in front. What draws is in ``assets/`` and in those of the report.
"""

from __future__ import annotations

from xcid.app.controls import describe
from xcid.app.requests import Asked, Ban, Limits, read
from xcid.app.serving import serve
from xcid.app.workshop import Workshop, answer, search

__all__ = ["Asked", "Ban", "Limits", "Workshop", "answer", "describe", "read", "search", "serve"]
