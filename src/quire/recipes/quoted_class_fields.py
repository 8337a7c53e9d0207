"""Fields of Pydantic classes that ask for their quotes."""

from typing import Any

from quire.domain.errors import UsageError
from quire.domain.quotes import QUOTE


def field(*args: Any, quote: bool = False, **options: Any) -> Any:
    """Make Pydantic's own `Field`; with `quote=True` it asks for the words that prove the value."""
    try:
        from pydantic import Field
    except ImportError:
        raise UsageError("quire.field is for Pydantic's classes: `pip install pydantic`") from None
    if quote:
        extra = options.get("json_schema_extra") or {}
        options["json_schema_extra"] = {**extra, QUOTE: True}
    return Field(*args, **options)
