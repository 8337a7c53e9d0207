"""What probes showed: kept in the ledger, and taken by a run that asks for it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from quire.domain.data import Json, canonical_json
from quire.domain.errors import UsageError
from quire.engine.ordering import Ask
from quire.ledger.ledger import Ledger
from quire.ledger.tables.probes import Question

SOURCE = "probe"  # where a run's pack size came from


def with_probed_size(ledger: Ledger, asked: Ask) -> Ask:
    """Put the recommended pack size where one was asked for; whoever gave a number keeps it."""
    if not asked.policy.probed:
        return asked
    with ledger.snapshot() as tx:
        found = tx.runs.probes.newest(_question(asked))
    if found is None:
        schema, model = asked.recipe.stages[0].record.ref, asked.facts.name
        raise UsageError(
            f"no probe of {schema} with {model} yet:"
            f" `quire probe --schema {schema} --model {model}`"
        )
    return replace(asked, policy=asked.policy.with_pack_size(found.size, SOURCE))


def keep_finding(
    ledger: Ledger, asked: Ask, size: int, report: Mapping[str, Json], now: datetime
) -> None:
    """Keep what a probe found; the same found again is kept once."""
    question = _question(asked)
    with ledger.transaction() as tx:
        known = tx.runs.probes.newest(question)
        if known is None or (known.size, known.report) != (size, report):
            tx.runs.probes.add(question, size, report, now)


def _question(asked: Ask) -> Question:
    stage = asked.recipe.stages[0]
    return Question(stage.record.uid, asked.facts.name, canonical_json(stage.params.as_json()))
