"""Span texts: the sections and pages that tasks are about, read from their documents."""

from collections import defaultdict
from collections.abc import Sequence

from quire.domain.data import stored_json
from quire.domain.ids import DocumentId, TaskId
from quire.domain.tasks import SubjectRow
from quire.ledger.ledger import Transaction
from quire.planning.spans import span_of_part


def span_texts(tx: Transaction, rows: Sequence[SubjectRow]) -> dict[TaskId, str]:
    """The text of what each task is about; each document is read once, as far as it is needed."""
    found: dict[TaskId, str] = {}
    by_document: dict[DocumentId, dict[TaskId, tuple[int, int]]] = defaultdict(dict)
    for row in rows:
        span = span_of_part(stored_json(row.part) or {})
        if row.document_id is not None and span is not None:
            by_document[row.document_id][row.id] = span
    for document, spans in by_document.items():
        first, last = min(spans.values())[0], max(span[1] for span in spans.values())
        texts = dict(tx.subjects.texts_between(document, first, last))
        for task, (start, end) in spans.items():
            shown = [texts[index] for index in range(start, end + 1) if index in texts]
            found[task] = "\n\n".join(shown)
    return found
