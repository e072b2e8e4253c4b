"""``python -m xcid.native`` builds the compiled form and says where it is; without it NumPy's form does the same."""

from __future__ import annotations

import sys

from xcid.errors import XcidError
from xcid.native.library import build

if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n")
    except (XcidError, OSError) as error:
        sys.exit(f"{error}; models are read without it, by NumPy")
