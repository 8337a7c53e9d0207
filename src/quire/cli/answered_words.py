"""Answered words: what a plan says of answers that are there already, and of what is asked."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from quire.cli.printing import quantity
from quire.domain.pricing import dollars

if TYPE_CHECKING:
    from quire.engine import Plan


def lines(planned: "Plan") -> Iterator[str]:
    """Say what need not be asked again, and what the rest costs; nothing where all is new."""
    blocks, of, saved, repeated = planned.answered
    if blocks:
        are = "is" if blocks == 1 else "are"
        yield (
            f"of {quantity(of, 'block')} {blocks:,} {are} answered already: {dollars(saved)} that"
            " need not be paid again; --no-reuse asks all"
        )
    if repeated:
        others = "another" if blocks else "another of them"
        yield f"{quantity(repeated, 'block says', 'blocks say')} the same as {others}: asked once"
    if not planned.order.recipe.is_single_schema:
        yield from _stage_lines(planned)
        if planned.is_answered_in_part:
            yield f"to ask: {asked_totals(planned)}"


def _stage_lines(planned: "Plan") -> Iterator[str]:
    """Say of a recipe which stages are answered already."""
    kept = {stage.stage for stage in planned.stages if stage.reused}
    whole = [name for name in planned.answered_stages if name not in kept]
    if whole:
        yield f"answered already: {', '.join(whole)}; --no-reuse asks all"
    tasks: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for stage in planned.stages:
        tasks[stage.stage] += stage.tasks
        asked[stage.stage] += stage.to_ask.tasks
    parts = [name for name in tasks if 0 < asked[name] < tasks[name]]
    if parts:
        said = (f"{name} ({tasks[name] - asked[name]:,} of {tasks[name]:,})" for name in parts)
        yield f"answered in part: {', '.join(said)}"


def asked_totals(planned: "Plan") -> str:
    """What is really asked and paid for, in a few words."""
    asked = planned.to_ask
    if not asked.tasks:
        return f"nothing, {dollars(0)}"
    tasks, calls = quantity(asked.tasks, "task"), quantity(asked.calls, "call")
    roughly = "roughly " if planned.rough else ""
    bounds = f"{roughly}{dollars(asked.cost)} ({dollars(asked.low)} to {dollars(asked.high)})"
    return f"{tasks}, {calls}, {bounds}"
