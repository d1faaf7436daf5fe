"""Record runs, renew what is expected of them, and compare the products of two checkouts.

``python -m tests.contract make``: make all recorded runs anew on the seeded checkpoint, and store them.
``python -m tests.contract renew [NAME …]``: make words, tables and pages of stored runs anew; read the diff.
``python -m tests.contract live OLD [--tolerance 1e-6]``: make every kind of run with the product of a
revision or folder, and with this one, and name every file that differs.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.contract.kinds import JUDGED, RUNS, make, prepare_models
from tests.contract.live import compare_products
from tests.contract.recorded import (
    NAMES,
    READ,
    make_again,
    store_commands,
    store_expected,
    store_maps,
    store_run,
)


def renew(names: list[str]) -> None:
    """Judge stored runs again, and store what is made of them; what is made of several comes last."""
    store_commands()
    with TemporaryDirectory() as folder:
        workspace = Path(folder)
        prepare_models(workspace)
        for name in (name for name in NAMES if name in names or not names):
            result = make_again(name, workspace)
            if name not in READ:
                store_run(name, workspace)
            store_expected(name, workspace, result)


def make_anew() -> None:
    """Make all runs on the checkpoint, and store them."""
    with TemporaryDirectory() as folder:
        workspace = Path(folder)
        make(workspace, [name for name in RUNS if name not in READ])
        for name in JUDGED:
            store_run(name, workspace)
        store_maps(workspace)
    renew([])


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.contract", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("make", help="make all recorded runs anew on the seeded checkpoint")
    renewing = commands.add_parser("renew", help="make what is expected of stored runs anew")
    renewing.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME")
    live = commands.add_parser("live", help="compare this product with that of a revision or folder")
    live.add_argument("old", help="revision of this repository, or folder of a checkout")
    live.add_argument(
        "--tolerance", type=float, default=0.0, help="relative difference of numbers (0: bytes)"
    )
    given = parser.parse_args()
    if given.command == "live":
        differences = compare_products(given.old, given.tolerance)
        print(*differences or ["all files are equal"], sep="\n")
        return len(differences) > 0
    make_anew() if given.command == "make" else renew(given.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
