"""The models we know: their windows, their limits and their prices."""

from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType

from quire.domain.errors import UnknownModel
from quire.domain.models import ModelFacts, Price

SIMULATED = "simulated: no model is called, no money is spent"

# Micro-dollars per million tokens, like those of a small and of a large commercial model.
_MODELS = (
    ModelFacts(
        name="simulated/small",
        window=32_000,
        max_output=8_192,
        price=Price(
            input=250_000,
            output=2_000_000,
            cached=25_000,
            written_short=312_500,
            written_long=500_000,
        ),
        note=SIMULATED,
    ),
    ModelFacts(
        name="simulated/large",
        window=200_000,
        max_output=16_384,
        price=Price(
            input=3_000_000,
            output=15_000_000,
            cached=300_000,
            written_short=3_750_000,
            written_long=6_000_000,
        ),
        note=SIMULATED,
    ),
)

CATALOG: Mapping[str, ModelFacts] = MappingProxyType({each.name: each for each in _MODELS})

_NO_OTHERS: Mapping[str, ModelFacts] = MappingProxyType({})


def find_model(name: str, extra: Mapping[str, ModelFacts] = _NO_OTHERS) -> ModelFacts:
    """Look a model up, in the user's own facts first; UnknownModel says what to type instead."""
    known = {**CATALOG, **extra}
    if name in known:
        return known[name]
    bare = name.rpartition("/")[2].lower()
    near = [each for each in known if each.partition("/")[2].lower() == bare]
    near = near or get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}."
    raise UnknownModel(f"no model is called {name!r}; {hint}")
