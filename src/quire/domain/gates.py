"""Gates: what every check of an answer is given, and what it must be able to say."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from quire.domain.data import NOTHING, Json, JsonObject
from quire.domain.requests import Stop
from quire.domain.results import Verdict


class GateInput(NamedTuple):
    """One task's answer on its way through the gates of its stage."""

    text: str  # as the model wrote it
    stop: Stop
    data: Json = None  # what the gates before this one made of it; the first gate gets None
    record_schema: JsonObject | None = None  # the stage's schema, where it has one
    facts: JsonObject = NOTHING  # `parameters` of the recipe and the task's own `part`


class Gate(Protocol):
    """A deterministic check; the same answer is always judged alike by the same version."""

    @property
    def name(self) -> str:
        """What recipes call it."""
        ...

    @property
    def version(self) -> str:
        """Raised when the same answer would be judged differently."""
        ...

    def mistakes(self, params: JsonObject) -> Sequence[str]:
        """What is wrong with these parameters; checked before anything is spent."""
        ...

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Say whether the answer stands; an accepted verdict carries the data to go on with."""
        ...
