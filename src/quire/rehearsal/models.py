"""The models that the server answers for: what is known of each, by the vendor's name for it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.models import Marking, ModelFacts, Structured
from quire.rehearsal.asked import Problem, Trouble

GENEROUS_WINDOW = 1_000_000
GENEROUS_OUTPUT = 128_000


class Known(NamedTuple):
    """What the server goes by for one model."""

    name: str  # ours where we have one, else the vendor's
    id: str  # the vendor's
    most_input: int = GENEROUS_WINDOW
    most_output: int = GENEROUS_OUTPUT
    minimum: int | None = None  # tokens a prefix must have to be kept; None: not known
    marking: Marking | None = None  # None: not known
    forcing: bool = True  # may be forced to call a tool
    sampling: bool = True  # takes temperature and top_p
    token_factor: float = 1.0  # tokens that it counts where others count one
    retires: str = ""


class Models:
    """The models by the names that travel over the wire."""

    def __init__(self, facts: Mapping[str, ModelFacts], *, strict: bool = False) -> None:
        """Index what is known; strict means that there are no other models."""
        self._strict = strict
        self._by_id: dict[str, list[Known]] = {}
        self._all: list[Known] = []
        for each in facts.values():
            known = _known(each)
            self._all.append(known)
            self._by_id.setdefault(known.id, []).append(known)

    def find(self, wire_id: str, providers: Sequence[str]) -> Known:
        """Look a model up, first among the providers that are found where the call arrived."""
        candidates = self._by_id.get(wire_id, ())
        for known in candidates:
            if known.name.partition("/")[0] in providers:
                return known
        if candidates:
            return candidates[0]
        if self._strict:
            raise Problem(Trouble.NO_MODEL, wire_id, place="model")
        return Known(wire_id, wire_id)

    def of(self, providers: Sequence[str]) -> list[Known]:
        """The models of some providers."""
        return [each for each in self._all if each.name.partition("/")[0] in providers]


def _known(facts: ModelFacts) -> Known:
    return Known(
        name=facts.name,
        id=facts.wire.id or facts.name.partition("/")[2],
        most_input=facts.max_input or facts.window,
        most_output=facts.max_output,
        minimum=facts.cache_minimum or None,
        marking=facts.wire.marking,
        forcing=facts.provider != "anthropic" or facts.wire.structured is not Structured.SCHEMA,
        sampling=facts.wire.sampling,
        token_factor=facts.token_factor,
        retires=facts.retires,
    )
