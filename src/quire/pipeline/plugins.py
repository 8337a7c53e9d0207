"""Plugins: a run whose packages are missing here, or break, waits for a person; others go on."""

from datetime import datetime

from quire.domain.errors import PluginFailed
from quire.domain.ids import RunId
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import Contexts
from quire.pipeline.record import hold
from quire.pipeline.told import Told


def is_fit(tx: Transaction, contexts: Contexts, told: Told, now: datetime) -> bool:
    """Whether all that a run names is installed here; a run that names more is held."""
    if not told.missing:
        return True
    contexts.unfit.add(told.run_id)
    _hold(tx, told.run_id, told.missing, now)
    return False


def rests_broken(tx: Transaction, contexts: Contexts, run: RunId) -> bool:
    """Whether a run is still held since a package of it broke here: then it is not asked again."""
    if run not in contexts.broken:
        return False
    if tx.holds.of_run(run):
        return True
    contexts.broken.discard(run)
    return False


def hold_broken(
    tx: Transaction, contexts: Contexts, run: RunId, error: PluginFailed, now: datetime
) -> None:
    """Let a run wait for whoever can mend its package."""
    contexts.broken.add(run)
    _hold(tx, run, str(error), now)


def _hold(tx: Transaction, run: RunId, problem: str, now: datetime) -> None:
    wishes = tx.runs.wishes_of(run)
    if wishes is not None and not wishes.cancelling:  # else nobody waits for it to go on
        detail = f"{problem}, start the workers again, then `quire resume {run}`"
        hold(tx, run, HoldKind.PLUGIN, detail, now)
