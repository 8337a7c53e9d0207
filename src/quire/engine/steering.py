"""Steering: what a person may tell a run, each in one transaction."""

from quire.dispatch.outside import Outside
from quire.domain.ids import RunId
from quire.ledger.ledger import Ledger
from quire.pipeline import control


class Steering:
    """The controls of an engine."""

    ledger: Ledger
    _outside: Outside

    def pause(self, run: RunId, command: str | None = None) -> bool:
        """Send nothing more for a run."""
        with self.ledger.transaction() as tx:
            return control.pause(tx, run, self._outside.now(), command)

    def resume(self, run: RunId, command: str | None = None) -> bool:
        """Let a run go on."""
        with self.ledger.transaction() as tx:
            return control.resume(tx, run, self._outside.now(), command)

    def cancel(self, run: RunId, command: str | None = None) -> bool:
        """Ask for a run's end."""
        with self.ledger.transaction() as tx:
            return control.cancel(tx, run, self._outside.now(), command)

    def retry(self, run: RunId, command: str | None = None) -> int:
        """Owe a run's failed tasks again."""
        with self.ledger.transaction() as tx:
            return control.retry(tx, run, self._outside.now(), command)
