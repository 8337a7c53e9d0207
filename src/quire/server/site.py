"""The site: the engines that a server asks, one a workspace, and how it lets people in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from quire.engine.status_json import run_json
from quire.server.draft_desk import DraftDesk
from quire.server.event_broadcast import EventBroadcast
from quire.server.shared_answers import SharedAnswers
from quire.server.sign_in_limit import SignInLimit

if TYPE_CHECKING:
    from quire.engine import Engine

LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")  # that a server on this machine may be called


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """What was said when the server was started."""

    local: bool = True  # only this machine reaches it, and nobody signs in
    host_names: tuple[str, ...] = LOCAL_NAMES  # other names in a Host header are refused
    workspace: str = "local"  # of whom nobody asks where from
    max_upload: int = 2 * 1024**3  # bytes of the files of one request


@dataclass(slots=True)
class Site:
    """What all requests of a server share; its parts are safe to use from any thread."""

    open_engine: Callable[[str], Engine]  # on the ledger of a workspace
    settings: SiteSettings = field(default_factory=SiteSettings)
    answers: SharedAnswers = field(default_factory=SharedAnswers)  # for many who ask the same
    sign_in_limit: SignInLimit = field(default_factory=SignInLimit)
    drafts: DraftDesk = field(default_factory=DraftDesk)
    broadcast: EventBroadcast = field(default_factory=lambda: EventBroadcast(run_json))
    _engines: dict[str, Engine] = field(default_factory=dict)
    _purges: dict[str, int] = field(default_factory=dict)  # the last one known, by workspace
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def engine(self, workspace: str) -> Engine:
        """The engine of a workspace, opened when it is first asked for."""
        with self._lock:
            if workspace not in self._engines:
                self._engines[workspace] = self.open_engine(workspace)
            return self._engines[workspace]

    def recall(self, engine: Engine) -> SharedAnswers:
        """What is remembered, without what was made before the last purge, whoever purged.

        The ledger is asked once a second, however many look.
        """
        workspace = engine.ledger.workspace
        purge = self.answers.get(("purge", workspace), lambda: _last_purge(engine))
        with self._lock:
            if self._purges.setdefault(workspace, purge) != purge:
                self._purges[workspace] = purge
                self.answers.forget()
        return self.answers

    def close(self) -> None:
        """Wait for what is out, and let go of every ledger."""
        self.drafts.end()
        with self._lock:
            for engine in self._engines.values():
                engine.close()
            self._engines.clear()


def _last_purge(engine: Engine) -> int:
    with engine.ledger.snapshot() as tx:
        return tx.list_pages.last_purge()
