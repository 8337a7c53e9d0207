"""Context properties: what an engine works with, by name, until it is closed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from quire.domain.workbench import LISTING
from quire.ledger.sqlite import similar_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from quire.dispatch.runtime import Runtime
    from quire.engine.context import EngineContext
    from quire.ledger.ledger import Ledger
    from quire.providers.provider_registry import Providers
    from quire.recipes.plugin_registry import Registry
    from quire.settings import Settings


class ContextProperties:
    """What stands in the context of an engine."""

    context: EngineContext

    def __repr__(self) -> str:
        """Say which ledger, never with a password."""
        where = self.context.ledger.url.rpartition("@")[2].partition("?")[0]
        return f"<quire engine on {where}; {LISTING}>"

    @property
    def new_ledger_words(self) -> str:
        """That its file was made when it was opened, and which one may have been meant."""
        if not self.context.ledger.is_new:
            return ""
        near = [f"; did you mean {other}?" for other in similar_files(self.context.ledger.url)]
        return f"a new, empty ledger was made: {self.context.ledger.url}{''.join(near)}"

    @property
    def other_ledger_words(self) -> str:
        """That commands which do not name this ledger are about another one."""
        usual, this = self.context.usual_ledger, self.context.ledger.url
        if "://" not in usual and (not usual or Path(usual).resolve() == Path(this).resolve()):
            return ""
        if usual == this or ("://" not in usual and not Path(usual).exists()):
            return ""
        return "commands that do not say --ledger as this one did are about another ledger"

    def __enter__(self) -> Self:
        """Use as a context, closed at its end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Let go of the ledger."""
        self.context.ledger.close()

    @property
    def settings(self) -> Settings:
        """What environment and quire.toml say."""
        return self.context.settings

    @property
    def environment(self) -> Mapping[str, str]:
        """Where keys and places of providers are looked for."""
        return self.context.environment

    @property
    def ledger(self) -> Ledger:
        """All that is remembered."""
        return self.context.ledger

    @property
    def registry(self) -> Registry:
        """The gates and groupings that recipes may name, and the recipes by name."""
        return self.context.registry

    @property
    def providers(self) -> Providers:
        """Whom calls go to."""
        return self.context.providers

    @property
    def runtime(self) -> Runtime:
        """Clock, chance and threads."""
        return self.context.runtime

    @property
    def exact_tokens(self) -> bool:
        """Whether plans count with the model's tokenizer, if it is installed."""
        return self.context.exact_tokens

    @exact_tokens.setter
    def exact_tokens(self, exact: bool) -> None:
        self.context.exact_tokens = exact
