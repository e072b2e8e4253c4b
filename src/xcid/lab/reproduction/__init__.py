"""The paper's experiments, run by the public parts of the library: every table and figure, beside the published ones.

>>> from pathlib import Path
>>> from xcid.lab.reproduction import Settings, reproduce
>>> page = reproduce(Path("out"), Settings.quick(), print)  # doctest: +SKIP
"""

from xcid.lab.reproduction.run import reproduce
from xcid.lab.reproduction.settings import Settings

__all__ = ["Settings", "reproduce"]
