"""Message rows: what the calls of a run say, message by message, rendered where it is not kept."""

from collections.abc import Iterator

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.requests import RequestKind
from quire.engine.request_texts import request_text
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts

PAGE_REQUESTS = 200  # listed at once


def message_rows(tx: Transaction, contexts: Contexts, run: RunId) -> Iterator[tuple[Json, ...]]:
    """Request, run, ordinal, role and content of every message; None of what was purged."""
    after = 0
    while page := tx.views.list_requests(run, after, PAGE_REQUESTS):
        for line in page:
            view = tx.views.get_request(line.id)
            assert view is not None
            text = request_text(tx, contexts, view)
            said: list[tuple[str, str | None]] = []
            if view.kind != RequestKind.EMBED:
                context = contexts.any_of_stage(tx, view.run_id, view.stage_id)
                said.append(("system", context.prefix.system))
            said += [(str(turn.role), turn.text) for turn in text.turns] if text else []
            said.append(("user", text.user if text else None))
            for ordinal, (role, content) in enumerate(said):
                yield (line.id, run, ordinal, role, content)
        after = page[-1].id
