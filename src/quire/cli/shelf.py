"""The shelf: the models of the catalog, and over them those that quire.toml states."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quire.domain.models import ModelFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The models of the catalog, and over them those that quire.toml states."""

    known: "Mapping[str, ModelFacts]"
    own: "Mapping[str, ModelFacts]"  # stated in quire.toml
    aliases: Mapping[str, str]
    unpriced: Mapping[str, str]
    made: str  # the day of the catalog's prices

    def pick(self, name: str) -> "list[ModelFacts]":
        """The model of a name or an alias, else those whose names contain it; never none."""
        from quire.providers.catalog import find_model

        exact = self.aliases.get(name, name)
        if exact not in self.known:
            part = name.lower()
            found = [facts for each, facts in self.known.items() if part in each.lower()]
            if found:
                return found
        return [find_model(name, self.own, self.aliases)]

    def source(self, facts: "ModelFacts") -> str:
        """Where these facts come from."""
        if facts.name in self.own:
            return "quire.toml"
        return f"catalog of {self.made}" if facts.name in self.known else "its name alone"


def fill_shelf() -> Shelf:
    """Read the catalog and the nearest quire.toml."""
    from quire.providers.catalog import CATALOG, MADE, UNPRICED, facts_from_tables
    from quire.settings import read_settings

    settings = read_settings(Path.cwd(), os.environ, ())
    own = facts_from_tables(settings.models)
    return Shelf(
        known={**CATALOG, **own},
        own=own,
        aliases=settings.aliases,
        unpriced={name: why for name, why in UNPRICED.items() if name not in own},
        made=MADE,
    )
