"""Whole answers: what became of a run's tasks, answers that came in pieces shown as one."""

from collections.abc import Iterator

from quire.domain.ids import DocumentId, RunId
from quire.gates.assembly import assemble_pieces
from quire.ledger.ledger import Transaction
from quire.ledger.tables.results import TaskOutcome
from quire.pipeline.run_spec import RunSpec


def shown_outcomes(
    tx: Transaction, run: RunId, spec: RunSpec
) -> Iterator[tuple[TaskOutcome, tuple[DocumentId, ...]]]:
    """Every task of a run with the documents that it shows, read one by one."""
    shown = tx.results.documents_shown_in_run(run)
    continued = tx.pieces.continued_attempts(run)
    for outcome in tx.results.outcomes_of_run(run):
        own = () if outcome.document_id is None else (outcome.document_id,)
        whole = _whole_outcome(tx, spec, outcome) if outcome.attempt_id in continued else outcome
        yield whole, shown.get(outcome.task_id, own)


def _whole_outcome(tx: Transaction, spec: RunSpec, outcome: TaskOutcome) -> TaskOutcome:
    attempt = outcome.attempt_id
    chain = tx.pieces.chains_before([attempt]).get(attempt) if attempt is not None else None
    if not chain:
        return outcome
    is_json = spec.stage_named(outcome.stage).schema is not None
    return outcome._replace(answer=assemble_pieces(chain, outcome.answer, json=is_json))
