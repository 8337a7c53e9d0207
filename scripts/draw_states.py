"""Draws docs/states.md from the lifecycle tables: prints the page, or checks it with --check."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from quire.domain.states import LIFECYCLES, Lifecycle

PAGE = Path(__file__).parents[1] / "docs" / "states.md"

INTRODUCTION = """\
# Lifecycles

Every noun that changes has a table of states and moves in `src/quire/domain/states.py`; nothing
else decides where a state leads. A move always leads to the same state. The ledger makes a move
only from the states that allow it, and reports whoever did not move. A wish (cancel, stop after a
stage) is a column; only a fact is a state.

This page is drawn from those tables by `make docs`, and a test compares the two.
"""

MEANINGS: Mapping[str, Mapping[str, str]] = {
    "run": {
        "running": "something is still owed; a run with a hold is running, and waits for its cure",
        "finished": "nothing is owed any more; retrying or rejecting something opens it again",
        "cancelled": "stopped on request, once nothing was under way",
    },
    "stage": {
        "waiting": "the stages it needs have not come far enough",
        "expanding": "its tasks are being written, a slice at a time",
        "open": "all of its tasks are known, and some are still owed",
        "closed": "none of its tasks is owed",
    },
    "task": {
        "waiting": "its inputs are not done",
        "ready": "it can be packed into a request",
        "packed": "a live request carries it",
        "proposed": "it has an answer; a critic or a person must still agree",
        "blocked": "an input failed, so it cannot be asked",
        "done": "it has an accepted result",
        "failed": "its tries are used up; the last error is kept",
        "cancelled": "its run was cancelled before it was answered",
    },
    "request": {
        "queued": "it can be sent",
        "out": "a worker or a batch carries it",
        "closed": "its answer has been settled",
        "dropped": "it was withdrawn; its tasks went elsewhere",
    },
    "attempt": {
        "open": "sent, or about to be; a worker or a batch vouches for it",
        "answered": "the raw response is stored; nothing has judged it yet",
        "settled": "judged, and its tasks moved on",
        "unknown": "nobody knows whether the provider carried it out",
        "written_off": "presumed paid at its reservation; a late answer still counts",
        "refused": "the provider did not carry it out, and charged nothing",
    },
    "batch": {
        "draft": "requests are gathered; nothing was sent",
        "submitting": "a submit is under way; a crash here leaves its outcome open",
        "unknown": "nobody knows whether the provider has it; it is looked for before any resend",
        "open": "the provider has it and works on it",
        "ended": "the provider is through with it; its answers wait to be fetched",
        "collected": "every answer it had is in the ledger",
        "abandoned": "given up",
    },
    "review": {
        "unreviewed": "no person has looked at the result",
        "approved": "confirmed as it is",
        "edited": "confirmed with changes",
        "rejected": "refused; the task is asked again",
    },
    "credential": {
        "valid": "calls may go out with it",
        "invalid": "the provider did not accept the key; another one takes over, else runs wait",
        "spent": "its account has no credit left, or has reached a cap of its owner's",
    },
}


def draw() -> str:
    """Write the whole page."""
    return "\n".join([INTRODUCTION, *(_section(lifecycle) for lifecycle in LIFECYCLES)])


def _section(lifecycle: Lifecycle) -> str:
    meanings = MEANINGS.get(lifecycle.noun, {})
    lines = [
        f"- **{state}**: {meanings[state]}." for state in lifecycle.states if state in meanings
    ]
    diagram = "\n".join(["```mermaid", "stateDiagram-v2", *_arrows(lifecycle), "```"])
    return "\n".join([f"## {lifecycle.noun}", "", diagram, "", *lines, ""])


def _arrows(lifecycle: Lifecycle) -> Iterator[str]:
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
