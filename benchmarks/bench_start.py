"""CPU of starting: importing Quire, opening a ledger, short commands; beside what they need."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROUNDS = 9
BASE = "import typer, rich, sqlite3"  # what any program of this kind loads
COMMAND = "import sys; from quire.cli import main; main()"
LEDGER = "QUIRE_LEDGER"

# what is started, its arguments, and how many times the base it may take
STARTS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    ("import quire; quire.open", (), 3.8),
    ("import os, quire; quire.open(os.environ['QUIRE_LEDGER'])", (), 4.2),
    (COMMAND, ("runs",), 5.2),
    (COMMAND, ("--help",), 4.5),
)


def cpu_seconds(code: str, *arguments: str) -> float:
    """CPU seconds of a fresh interpreter that carries out this code; the least of some."""
    spent = []
    for _ in range(ROUNDS):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, check=True
        )
        after = getrusage(RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ[LEDGER] = str(Path(folder) / "ledger.db")
        subprocess.run([sys.executable, "-c", STARTS[1][0]], check=True)
        base = cpu_seconds(BASE)
        print(f"CPU ms of a fresh interpreter, least of {ROUNDS}, and times `{BASE}`")
        print(f"{base * 1e3:6.0f}   1.00  {BASE}")
        for code, arguments, most in STARTS:
            spent = cpu_seconds(code, *arguments)
            name = " ".join(("quire", *arguments)) if arguments else code
            print(f"{spent * 1e3:6.0f} {spent / base:6.2f}  {name}  (at most {most:g})")
            missed += spent > most * base
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
