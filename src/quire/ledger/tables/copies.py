"""Copies: a document read as it was parsed, to be taken into another ledger."""

from collections.abc import Iterator

import orjson

from quire.domain.documents import Block, BlockType, Document, Parsed
from quire.domain.ids import DocumentId, WorkspaceId
from quire.ledger.connection import Connection


class Copies:
    """Documents on their way out."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def parsed(self, document: Document) -> Parsed:
        """A document with its names unchanged; its blocks stream while the transaction lasts."""
        return Parsed(
            source_uid=document.source_uid,
            source_type=document.source_type,
            source_filesize=document.source_filesize,
            source_total_characters=document.source_total_characters,
            source_locator=document.source_locator,
            title=document.title,
            conv_uid=document.conv_uid,
            parsing_tool=document.conv_parsing_tool,
            representation_type=document.conv_representation_type,
            blocks=self._blocks(document.id),
        )

    def _blocks(self, document: DocumentId) -> Iterator[Block]:
        rows = self._connection.stream(
            "blocks_of_document", workspace=self._workspace, document=document
        )
        for index, kind, locator, headings, content in rows:
            yield Block(
                index=index,
                type=BlockType(kind),
                content=content,
                locator=orjson.loads(locator),
                headings=tuple(orjson.loads(headings)),
            )
