"""Page parts: what an engine tells pages and the HTTP API, a little of a large run at a time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from quire.engine.context_properties import ContextProperties

if TYPE_CHECKING:
    from quire.engine.access_tokens import AccessTokens
    from quire.engine.export_streams import ExportStreams
    from quire.engine.listed_runs import ListedRuns
    from quire.engine.listings import Listings
    from quire.engine.pack_strips import PackStrips
    from quire.engine.queries import Queries
    from quire.engine.result_pages import ResultPages
    from quire.engine.uploads import Uploads
    from quire.engine.workspace_policy import WorkspacePolicy


class PageParts(ContextProperties):
    """Parts of an engine that are made when they are first asked for."""

    queries: Queries

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

    @cached_property
    def listings(self) -> Listings:
        """Lists, some at a time."""
        from quire.engine.listings import Listings

        return Listings(self.context)

    @cached_property
    def listed_runs(self) -> ListedRuns:
        """Runs, a line each."""
        from quire.engine.listed_runs import ListedRuns

        return ListedRuns(self.queries)

    @cached_property
    def uploads(self) -> Uploads:
        """Files that come over the network."""
        from quire.engine.uploads import Uploads

        return Uploads(self.context)

    @cached_property
    def export_streams(self) -> ExportStreams:
        """Exports, piece by piece."""
        from quire.engine.export_streams import ExportStreams

        return ExportStreams(self.context)

    @cached_property
    def access_tokens(self) -> AccessTokens:
        """Who may ask a server."""
        from quire.engine.access_tokens import AccessTokens

        return AccessTokens(self.context)

    @cached_property
    def workspace_policy(self) -> WorkspacePolicy:
        """What the workspace decides about its runs."""
        from quire.engine.workspace_policy import WorkspacePolicy

        return WorkspacePolicy(self.context)
