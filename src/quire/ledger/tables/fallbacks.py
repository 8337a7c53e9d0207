"""Fallbacks: the weaker ways in which models at their addresses are asked, for all workers."""

from datetime import datetime

from quire.domain.fallbacks import Fallback, FallbackPart, KnownFallback
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, storable_text, to_micros
from quire.ledger.tables.table import Table


class FallbackTable(Table):
    """What the workspace's servers refuse, and how they are asked instead."""

    def list_fallbacks(self) -> list[KnownFallback]:
        """All of them."""
        return [_to_fallback(row) for row in self._run("list_fallbacks")]

    def fallbacks_of_model(self, model: str) -> list[KnownFallback]:
        """Those of one model, at all its addresses."""
        return [_to_fallback(row) for row in self._run("fallbacks_of_model", model=model)]

    def set_fallback(
        self, model: str, address: str, fallback: Fallback, problem: str, now: datetime
    ) -> None:
        """Remember a weaker way, in the place of one that was not weak enough."""
        self._change(
            "set_fallback",
            model=model,
            address=address,
            part=fallback.part.value,
            way=fallback.way,
            problem=storable_text(problem),
            now=to_micros(now),
        )

    def forget_fallbacks(self, model: str) -> int:
        """Ask a model again as it is stated; returns how many fallbacks that were."""
        return self._change("forget_fallbacks", model=model)


def _to_fallback(row: Row) -> KnownFallback:
    model, address, part, way, problem, since = row
    return KnownFallback(model, address, FallbackPart(part), way, problem, from_micros(since))
