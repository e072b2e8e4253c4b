"""Make the tables of docs/evaluation.md anew, and one of docs/speed.md, or some of them; sentences are written by hand.

Each table stands between a comment with its name and one that ends it. What a script prints takes its place.

    python benchmarks/evaluation.py                # all that need no files: about an hour, budgets half of it
    python benchmarks/evaluation.py truth          # in a minute
    python benchmarks/evaluation.py --folder TABLES importance ignored    # from files of the KEEL collection
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
PAGES = {"budgets": "speed.md"}  # of tables that stand elsewhere than in evaluation.md
NEEDED = {"budgets": ("shap", "shapiq", "lightshap")}  # the peers of a table, which would lack columns without them
FAITHFUL = ["xcid", "xcid, n = 3,000", "xcid, independent masks, n = 3,000", "the paper's, m = 50", "SHAP", "LIME"]
SCRIPTS = {
    "truth": ["truth.py"],
    "calibration": ["calibration.py", "--rows", "12", "--seeds", "36"],
    "calibration of drawn tables": ["calibration.py", "--fresh", "--rows", "12", "--seeds", "24"],
    "budgets": ["budgets.py"],
    "directions": ["directions.py"],
    "faithfulness": ["faithfulness.py", "--rows", "6", "--methods", *FAITHFUL, "LIME, quartiles", "chance"],
    "importance": ["importance.py"],
    "importance of numbers": ["importance.py", "--tables", "numbers"],
    "importance of several classes": ["importance.py", "--tables", "several", "--rows", "10"],
    "ignored": ["ignored.py"],
    "refits": ["refits.py"],
    "refits, KEEL": ["refits.py"],
    "ignored, wide": ["ignored.py", "--tables", "redundant", "skewed"],
    "sentences": ["sentences.py", "--rows", "15"],
    "sentences, other tables": ["sentences.py", "--rows", "25", "--cells", "0", "--keel", "second"],
    "sentences, third tables": ["sentences.py", "--rows", "40", "--cells", "0", "--keel", "third"],
}
# Of tables that are not part of this package.
FROM_FOLDER = (
    "importance",
    "importance of several classes",
    "ignored",
    "refits, KEEL",
    "sentences",
    "sentences, other tables",
)


def page_of(name: str) -> Path:
    """Where a table stands."""
    return HERE.parent / "docs" / PAGES.get(name, "evaluation.md")


def replaced(page: str, name: str, table: str) -> str:
    """The page with another table under a name."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if page.count(start) != 1 or page.count(end) != 1:
        raise SystemExit(f"its page must have {start.strip()} and {end} once each")
    return re.sub(f"{start}.*?{end}", lambda _: f"{start}\n{table.strip()}\n\n{end}", page, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"some of: {', '.join(SCRIPTS)}")
    parser.add_argument("--folder", type=Path, help="of comma-separated files, last column the class")
    given = parser.parse_args()
    lacked = [name for name in SCRIPTS if not all(map(find_spec, NEEDED.get(name, ())))]
    known = [name for name in SCRIPTS if (given.folder or name not in FROM_FOLDER) and name not in lacked]
    chosen = given.tables or known
    if unknown := set(chosen) - set(SCRIPTS):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; the tables are {', '.join(SCRIPTS)}")
    if lacking := set(chosen) - set(known):
        parser.error(f"{', '.join(sorted(lacking))} needs --folder with the files, or packages that are not installed")
    for name in set(lacked) - set(chosen):
        print(f"{name}: left as it is, for want of {' or '.join(NEEDED[name])}")
    for name in chosen:
        script, *options = SCRIPTS[name]
        if name in FROM_FOLDER:
            options += ["--folder", str(given.folder)]
        done = subprocess.run([sys.executable, HERE / script, *options], stdout=subprocess.PIPE, text=True, check=True)
        page = page_of(name)
        page.write_text(replaced(page.read_text(encoding="utf-8"), name, done.stdout), encoding="utf-8")
        print(f"{name}: {len(done.stdout.splitlines())} lines", flush=True)


if __name__ == "__main__":
    main()
