"""Stated models: over a network only admins say at which address a model is asked.

The server sends the key that is kept for a provider to whatever address a model's name carries, and
shows what came back; so that address is chosen by those who may keep keys.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import Depends

from quire.domain.access import AccessRole
from quire.server.access import Forbidden, Principal, find_principal
from quire.settings import Settings

Asker = Annotated[Principal, Depends(find_principal)]
_ADDRESS = re.compile(r"\s*[\w.-]+/.*@https?://", re.IGNORECASE | re.DOTALL)


def check_stated(asker: Principal, settings: Settings, *said: object) -> None:
    """Refuse models with an address of the caller's own, wherever in a request they are named."""
    if asker.local or asker.role >= AccessRole.ADMIN:
        return
    stated = {settings.model, *settings.models, *settings.aliases.values()}
    if any(_ADDRESS.match(text) and text not in stated for text in _texts_in(said)):
        raise Forbidden(
            "only an admin names a model with an address in it",
            "an admin adds it to [models] of quire.toml, and then anybody may name it",
        )


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
