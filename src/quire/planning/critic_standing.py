"""Critic standing: whether what a critic said is an objection, and the score that it gave.

A critic that decides says so by its `accepts`. One whose word is only kept may say it in a field of
its own; these are the names that are read so, where their value is false. A score is a number: the
field `score`, or else the only number if the schema bounds it. The bounds bring it between 0 and 1;
a `score` that has none counts if it lies there already.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, as_object
from quire.domain.errors import TemplateFailed
from quire.domain.recipes import Stage

SCORE = "score"
AGREEING = frozenset(
    (
        *("accept", "accepted", "accepts", "agree", "agrees", "approve", "approved", "correct"),
        *("ok", "pass", "passed", "passes", "sound", "supported", "valid"),
    )
)


class CriticStanding(NamedTuple):
    """What a critic's word means for the result that it is about."""

    objects: bool
    score: float | None  # 0 to 1


def critic_standing(critic: Stage, data: Json) -> CriticStanding:
    """Read what a critic said."""
    return CriticStanding(_objects(critic, data), _score(critic, data))


def _objects(critic: Stage, data: Json) -> bool:
    if critic.accepts:
        from quire.planning.templates import compile_expression  # loads Jinja

        try:
            return not compile_expression(critic.accepts).holds(data)
        except TemplateFailed:
            return True
    return any(value is False and name in AGREEING for name, value in as_object(data).items())


def _score(critic: Stage, data: Json) -> float | None:
    numbers = {name: value for name, value in as_object(data).items() if _is_number(value)}
    name = SCORE if SCORE in numbers else next(iter(numbers), "")
    if not name or (name != SCORE and len(numbers) > 1):
        return None
    value, bounds = numbers[name], _bounds(critic, name)
    assert isinstance(value, int | float)
    if bounds is None and name != SCORE:  # a count, or a year
        return None
    low, high = bounds or (0.0, 1.0)
    scaled = (float(value) - low) / (high - low)
    return scaled if 0 <= scaled <= 1 else None


def _bounds(critic: Stage, name: str) -> tuple[float, float] | None:
    fields: Mapping[str, JsonObject] = critic.schema.properties if critic.schema else {}
    rules = as_object(fields.get(name, {}))
    low, high = rules.get("minimum"), rules.get("maximum")
    if isinstance(low, int | float) and isinstance(high, int | float) and high > low:
        return float(low), float(high)
    return None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
