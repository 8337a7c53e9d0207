"""Draws docs/states.md from the lifecycle tables: prints the page, or checks it with --check."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from quire.domain.states import LIFECYCLES, Lifecycle

PAGE = Path(__file__).parents[1] / "docs" / "states.md"

INTRODUCTION = """\
# Lifecycles

Every noun that changes has a table of states and moves in `src/quire/domain/states.py`; nothing
else decides where a state leads. A move always leads to the same state. The ledger makes a move
only from the states that allow it, and reports whoever did not move. A wish (cancel, stop after a
stage) is a column; only a fact is a state. Under each drawing stands what a state means, and who
moves it on: the verb of the pipeline, or the person.

This page is drawn from those tables by `make docs`, and a test compares the two.
"""


def draw() -> str:
    """Write the whole page."""
    return "\n".join([INTRODUCTION, *(_section(lifecycle) for lifecycle in LIFECYCLES)])


def _section(lifecycle: Lifecycle[Any, Any]) -> str:
    lines = [f"- **{state}**: {state.meaning}." for state in lifecycle.states]
    diagram = "\n".join(["```mermaid", "stateDiagram-v2", *_arrows(lifecycle), "```"])
    return "\n".join([f"## {lifecycle.noun}", "", diagram, "", *lines, ""])


def _arrows(lifecycle: Lifecycle[Any, Any]) -> Iterator[str]:
    yield f"    [*] --> {lifecycle.start}"
    for move, target in lifecycle.targets.items():
        for source in lifecycle.sources[move]:
            yield f"    {source} --> {target}: {move}"
    left = {source for sources in lifecycle.sources.values() for source in sources}
    for state in lifecycle.states:
        if state not in left:
            yield f"    {state} --> [*]"


def main() -> int:
    """Print the page, or say whether the stored one is the same."""
    parser = argparse.ArgumentParser(description="Draw docs/states.md from the lifecycle tables.")
    parser.add_argument("--check", action="store_true", help="exit 1 if docs/states.md differs")
    if not parser.parse_args().check:
        sys.stdout.write(draw())
        return 0
    if PAGE.exists() and PAGE.read_text() == draw():
        return 0
    sys.stderr.write("docs/states.md is not what the lifecycle tables say; run `make docs`.\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
