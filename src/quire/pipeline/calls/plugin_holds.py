"""Plugin holds: a run whose plugins are missing here, or break, waits for a person."""

from datetime import datetime

from quire.domain.errors import PluginFailed
from quire.domain.ids import RunId
from quire.domain.reasons import HoldCause
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.record import hold_run
from quire.pipeline.contexts import Contexts
from quire.pipeline.run_spec import RunSpec


def check_plugins(tx: Transaction, contexts: Contexts, spec: RunSpec, now: datetime) -> bool:
    """Whether all that a run names is installed here; a run that names more is held."""
    if not spec.missing_plugins:
        return True
    contexts.runs_without_plugins.add(spec.run_id)
    _hold_for_plugin(tx, spec.run_id, spec.missing_plugins, now)
    return False


def is_held_for_broken_plugin(tx: Transaction, contexts: Contexts, run: RunId) -> bool:
    """Whether a run is still held since a package of it broke here: then it is not asked again."""
    if run not in contexts.runs_with_broken_plugins:
        return False
    if tx.holds.holds_of_run(run):
        return True
    contexts.runs_with_broken_plugins.discard(run)
    return False


def hold_for_broken_plugin(
    tx: Transaction, contexts: Contexts, run: RunId, error: PluginFailed, now: datetime
) -> None:
    """Let a run wait for whoever can mend its package."""
    contexts.runs_with_broken_plugins.add(run)
    _hold_for_plugin(tx, run, str(error), now)


def _hold_for_plugin(tx: Transaction, run: RunId, problem: str, now: datetime) -> None:
    wishes = tx.runs.wishes_of_run(run)
    if wishes is not None and not wishes.cancelling:  # else nobody waits for it to go on
        hold_run(tx, run, HoldCause.PLUGIN, now, problem=problem)
