"""Hold reasons: why answers were refused, for a hold because too many were.

It is looked up when it is asked for and not kept with the hold: a purge erases what was said of a
document, and need not look here.
"""

from collections import Counter
from collections.abc import Sequence

from quire.domain.gates import clip
from quire.domain.ids import RunId
from quire.domain.reasons import HoldCause
from quire.domain.runs import Hold, RunStage
from quire.domain.wording import hold_text
from quire.ledger.ledger import Transaction
from quire.planning.failure_limits import WINDOW

_OF_ANSWERS = (HoldCause.FIRST_CALLS_FAILED, HoldCause.ANSWERS_FAILING)
_LONGEST = 160  # characters of a reason, in a message that says more


def explained_holds(tx: Transaction, run: RunId, stages: Sequence[RunStage]) -> tuple[Hold, ...]:
    """What holds a run; where answers were not acceptable, with the most frequent reason."""
    return tuple(_explain(tx, run, stages, hold) for hold in tx.holds.holds_of_run(run))


def _explain(tx: Transaction, run: RunId, stages: Sequence[RunStage], hold: Hold) -> Hold:
    named = [stage.id for stage in stages if stage.name == hold.fields.get("stage")]
    if hold.cause not in _OF_ANSWERS or not named:
        return hold
    refusals = tx.requests.newest_refusals(run, named[0], WINDOW)
    if not refusals:
        return hold
    reason, alike = Counter(refusals).most_common(1)[0]
    found: dict[str, str | int] = {"alike": alike, "refused": len(refusals)}
    fields = {**hold.fields, **found, "reason": clip(reason, _LONGEST)}
    return hold._replace(fields=fields, detail=hold_text(hold.cause, {**fields, "run": run}))
