"""Answered words: what a plan says of answers that are there already."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quire.cli.printing import quantity
from quire.domain.pricing import dollars, to_usd

if TYPE_CHECKING:
    from quire.engine import Plan


def lines(planned: "Plan") -> Iterator[str]:
    """Say what need not be asked again; nothing where everything is new."""
    blocks, of, saved, repeated, stages = planned.answered
    if blocks:
        are = "is" if blocks == 1 else "are"
        yield (
            f"of {quantity(of, 'block')} {blocks:,} {are} answered already: {dollars(saved)} that"
            " need not be paid again; --no-reuse asks all"
        )
    if repeated:
        others = "another" if blocks else "another of them"
        yield f"{quantity(repeated, 'block says', 'blocks say')} the same as {others}: asked once"
    if stages and not planned.order.recipe.is_single_schema:
        yield (
            f"asked in these words before: {', '.join(stages)}; whatever was answered then, about"
            " the same, costs nothing"
        )


def answered_json(planned: "Plan") -> dict[str, object]:
    """The same for programs."""
    blocks, _, saved, repeated, stages = planned.answered
    return {
        "answered": {
            "blocks": blocks,
            "saved_usd": to_usd(saved),
            "repeated": repeated,
            "stages": list(stages),
        }
    }
