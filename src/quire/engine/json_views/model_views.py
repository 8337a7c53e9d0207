"""JSON views of models; prices are micro-dollars per million tokens, as in the ledger."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quire.domain.models import ModelFacts
    from quire.engine.model_list import ModelList


def models_json(
    model_list: "ModelList", chosen: "Sequence[ModelFacts]", *, everything: bool
) -> list[dict[str, object]]:
    """What is known of some models; with `everything` also those without a price."""
    unknown = model_list.unpriced.items() if everything else ()
    found: list[dict[str, object]] = [
        {**facts.as_json(), "from": model_list.source(facts)} for facts in chosen
    ]
    found += ({"name": name, "price": None, "note": why} for name, why in unknown)
    return found
