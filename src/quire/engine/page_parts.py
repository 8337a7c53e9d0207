"""Page parts: what an engine tells pages and the HTTP API, a little of a large run at a time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quire.engine.context_properties import ContextProperties

if TYPE_CHECKING:
    from quire.engine.pack_strips import PackStrips
    from quire.engine.result_pages import ResultPages


class PageParts(ContextProperties):
    """Parts of an engine that are made when they are first asked for."""

    @cached_property
    def pack_strips(self) -> PackStrips:
        """How packs stand, at a glance."""
        from quire.engine.pack_strips import PackStrips

        return PackStrips(self.context)

    @cached_property
    def result_pages(self) -> ResultPages:
        """Results, a page at a time."""
        from quire.engine.result_pages import ResultPages

        return ResultPages(self.context)
