"""Write the golden values, or compare what the code gives today with them.

``python tests/golden/make.py`` writes ``values.npz``; only a change that is meant to change results is a reason to.
The files in ``saved`` are of earlier versions, and stay. ``--compare`` writes nothing: it prints the largest absolute
difference of each case from the stored values, and ends with 1 where one is above ``--tolerance``. ``--only TEXT``
takes the cases whose names hold it.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # as the tests have it: sums of several threads come in another order

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import golden_record as record  # noqa: E402
from golden_answers import CASES  # noqa: E402
from golden_command import COMMANDS  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", action="store_true", help="print differences, write nothing")
    parser.add_argument("--only", default="", metavar="TEXT", help="with --compare: cases whose names hold this")
    parser.add_argument("--tolerance", type=float, default=1e-12, help="largest difference allowed (default: 1e-12)")
    options = parser.parse_args(arguments)
    wanted = {name: case for name, case in (CASES | COMMANDS).items() if options.only in name}
    if options.compare:
        return compare(wanted, options.tolerance)
    if options.only:
        parser.error("--only goes with --compare: the stored values are written all at once")
    record.save({name: record.run(case) for name, case in wanted.items()})
    return 0


def compare(wanted: dict[str, Callable[[], record.Found]], tolerance: float) -> int:
    """Print the largest difference of each case, and where it is."""
    stored, worst = record.load(), 0.0
    for name, case in wanted.items():
        began = time.perf_counter()
        apart = record.gaps(record.run(case), stored.get(name, {}))
        place = max(apart, key=apart.__getitem__)
        worst = max(worst, apart[place])
        seconds = time.perf_counter() - began
        print(f"{apart[place]:9.2e}  {name:55} {place if apart[place] else '':30} {seconds:5.2f} s")  # noqa: T201
    gone = [name for name in stored if name not in CASES | COMMANDS]
    print(f"{worst:9.2e}  the largest of {len(wanted)} cases; without a case: {gone}")  # noqa: T201
    return int(worst > tolerance or bool(gone))


if __name__ == "__main__":
    sys.exit(main())
