"""What learning a silent server's rate costs and brings, over kinds, limits and lengths of runs.

Each cell is simulated with a clock of its own: refused calls in per cent of all, and the share of
what the server allows that was used. A star marks what misses 5 and 95 %.
"""

import sys
from itertools import product

from tests.planning.limited_server import SERVERS, Case, drifting_sizes, learn

LIMITS = (20, 60, 600, 1_200, 6_000)
FACTORS = (1.0, 0.5, 2.0)
MINUTES = (2.0, 5.0, 10.0, 30.0)
MOST_CALLS = 60_000  # of a cell, so that all take a minute together
MOST_IN_VAIN, LEAST_BUSY = 0.05, 0.95


def cell(case: Case) -> str:
    """One cell, in words."""
    if case.limit * case.minutes > MOST_CALLS:
        return " " * 13
    came = learn(case)
    missed = came.in_vain > MOST_IN_VAIN or came.busy < LEAST_BUSY
    return f"{came.in_vain:6.1%}{came.busy:6.0%}{'*' if missed else ' '}"


def main() -> None:
    """Print a table for calls, and one for tokens; two workers if told so."""
    workers = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for sizes in (None, drifting_sizes):
        print(f"{'tokens' if sizes else 'calls'}, {workers} workers; refused and used in")
        print(" " * 22 + "".join(f"{minutes:6.0f} min   " for minutes in MINUTES))
        for kind, limit, factor in product(SERVERS, LIMITS, FACTORS):
            cells = [cell(Case(kind, limit, factor, workers, span, sizes)) for span in MINUTES]
            print(f"{kind:8}{limit:6,} x {factor:<4}" + "".join(cells))


if __name__ == "__main__":
    main()
