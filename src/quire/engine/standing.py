"""Standing: how a run stands in a word, and why nothing moves when nothing moves."""

from datetime import timedelta

from quire.dispatch.outside import Outside
from quire.dispatch.sweeper import living_workers
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.engine.looking import Looking
from quire.ledger.ledger import Ledger
from quire.pipeline.progress import at_rest, progress
from quire.pipeline.stalls import reasons, reasons_of_stages
from quire.settings import Settings


class Standing:
    """What an engine says of runs that do not move."""

    ledger: Ledger
    settings: Settings
    look: Looking
    _outside: Outside

    def workers(self, run: RunId | None = None) -> int:
        """How many workers live; with a run, how many of them serve it."""
        since = self._outside.now() - timedelta(seconds=self.settings.lease)
        with self.ledger.snapshot() as tx:
            return living_workers(tx, since, run)

    def why(self, run: RunId) -> list[str]:
        """Why a run does not move, if it does not."""
        workers = self.workers(run)
        with self.ledger.snapshot() as tx:
            now = progress(tx, run, self.look.contexts)
            said = reasons(tx, now, workers, self._outside.now())
            return [*said, *reasons_of_stages(tx, now, workers)]


def standing(now: Progress, workers: int) -> str:
    """A run's state in a word, wishes and holds included; stopped: no worker serves it."""
    if now.cancelling:
        return "cancelling"
    if now.held:
        return "held"
    idle = workers == 0 or at_rest(now)
    return "stopped" if now.state == "running" and idle else now.state
