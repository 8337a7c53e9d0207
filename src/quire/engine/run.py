"""A run in hand: wait for it, look at it, steer it, take its rows."""

from collections.abc import Callable
from typing import Protocol

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.runs import Progress


class Host(Protocol):
    """What a run in hand needs of its engine."""

    def drive(self, run: RunId, watch: Callable[[Progress], None] | None = None, /) -> Progress: ...
    def progress(self, run: RunId, /) -> Progress: ...
    def rows(self, run: RunId, only: str, /) -> list[dict[str, Json]]: ...
    def export(self, run: RunId, path: str, only: str, /) -> int: ...
    def pause(self, run: RunId, /) -> bool: ...
    def resume(self, run: RunId, /) -> bool: ...
    def cancel(self, run: RunId, /) -> bool: ...
    def retry(self, run: RunId, /) -> int: ...


class RunHandle:
    """One run of an engine's ledger."""

    def __init__(self, engine: Host, run: RunId, *, goes_on: bool) -> None:
        """Refer to a run by its key."""
        self._engine = engine
        self.id = run
        self.goes_on = goes_on  # the same order was given before

    def __repr__(self) -> str:
        """Say which run, and how it stands."""
        return f"<quire run {self.id}: {self.progress().state}>"

    def wait(self, watch: Callable[[Progress], None] | None = None) -> Progress:
        """Work on it in this process until there is nothing more to do; safe to interrupt.

        That is not always the end: a run that is held comes back too. Then `held` is true of the
        progress, and its `holds` say why; mend that, `resume()`, and wait again.
        """
        return self._engine.drive(self.id, watch)

    def progress(self) -> Progress:
        """How far it is."""
        return self._engine.progress(self.id)

    def rows(self, only: str = "all") -> list[dict[str, Json]]:
        """One flat mapping a block, in order, with the schema's fields as columns."""
        return self._engine.rows(self.id, only)

    def export(self, path: str, only: str = "all") -> int:
        """Write JSON lines; returns how many."""
        return self._engine.export(self.id, path, only)

    def pause(self) -> bool:
        """Send nothing more until `resume`."""
        return self._engine.pause(self.id)

    def resume(self) -> bool:
        """Go on."""
        return self._engine.resume(self.id)

    def cancel(self) -> bool:
        """Ask for the end."""
        return self._engine.cancel(self.id)

    def retry(self) -> int:
        """Owe failed tasks again; returns how many."""
        return self._engine.retry(self.id)
