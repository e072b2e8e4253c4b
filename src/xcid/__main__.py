"""``python -m xcid`` is ``xcid``."""

import sys

from xcid.cli import main

if __name__ == "__main__":
    sys.exit(main())
