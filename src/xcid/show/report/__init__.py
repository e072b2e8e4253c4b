"""An Explanation as one HTML file that opens anywhere and needs nothing else.

``rows.py`` explains a row in sentences and plain numbers, ``evidence.py`` gives what its importance is measured by and
what would flip it, ``contents.py`` puts them together within a budget of bytes, and ``page.py`` makes the file. What
draws is in ``assets/``.
"""

from __future__ import annotations

from xcid.show.report.contents import report
from xcid.show.report.rows import summary
