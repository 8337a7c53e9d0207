"""Workers beside a server: some for each workspace that needs them, all ended with it."""

import threading
from collections.abc import Callable

from quire.engine import Engine, open_engine

REST = 1.0  # seconds before a worker that died is started again
MOST_REST = 60.0  # at most, where it dies again and again
LOOK_AGAIN = 1.0  # seconds until other workspaces are looked for


class WorkersBeside:
    """Serves the default workspace, and others as soon as they have a token or a running run."""

    def __init__(
        self,
        ledger: str | None,
        count: int,
        tell: Callable[[str], None],
        faults: str | None = None,
    ) -> None:
        """Have so many workers for each workspace of a ledger."""
        self._ledger, self._count, self._tell, self._faults = ledger, count, tell, faults
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, name="workspaces that need workers")
        self._lock = threading.Lock()
        self._workers: dict[str | None, list[_Worker]] = {}

    def start(self) -> None:
        """Begin with the default workspace, and look for others from now on."""
        self._serve(None)
        self._watch.start()

    def end(self) -> None:
        """Let every worker finish what is out, and wait for it."""
        self._ended.set()
        with self._lock:
            workers = [worker for some in self._workers.values() for worker in some]
        for worker in workers:
            worker.ask_to_end()
        for thread in (*workers, self._watch):
            if thread.ident is not None:
                thread.join()

    def _serve(self, workspace: str | None) -> None:
        with self._lock:
            if self._ended.is_set() or workspace in self._workers:
                return
            self._workers[workspace] = [
                _Worker(
                    lambda: open_engine(self._ledger, workspace=workspace, faults=self._faults),
                    self._tell,
                )
                for _ in range(self._count)
            ]
            for worker in self._workers[workspace]:
                worker.start()

    def _look(self) -> None:
        rest = REST
        while not self._ended.is_set():
            try:
                with open_engine(self._ledger) as engine:
                    while not self._ended.wait(LOOK_AGAIN):
                        self._serve_others(engine)
                        rest = REST
            except Exception as error:  # noqa: BLE001 - whatever it is, the server goes on
                self._tell(f"cannot see which workspaces need a worker: {error}")
                self._ended.wait(rest)
                rest = min(2 * rest, MOST_REST)

    def _serve_others(self, engine: Engine) -> None:
        for workspace in engine.access_tokens.workspaces_in_use():
            if workspace != engine.context.ledger.workspace:
                self._serve(workspace)


class _Worker(threading.Thread):
    """A worker in a thread of its own; one that dies is told, and started again."""

    def __init__(self, open_own: Callable[[], Engine], tell: Callable[[str], None]) -> None:
        super().__init__(name="worker beside the server")
        self._open, self._tell = open_own, tell
        self._ended = threading.Event()
        self._engine: Engine | None = None

    def run(self) -> None:
        rest = REST
        while not self._ended.is_set():
            try:
                self._work()
                rest = REST
            except Exception as error:  # noqa: BLE001 - whatever it is, the server goes on
                self._tell(f"a worker ended: {error}; another begins in {rest:g} s")
                self._ended.wait(rest)
                rest = min(2 * rest, MOST_REST)

    def _work(self) -> None:
        with self._open() as engine:
            self._engine = engine
            if not self._ended.is_set():
                engine.work(self._ended.is_set)

    def ask_to_end(self) -> None:
        """Let it finish what is out."""
        self._ended.set()
        if self._engine is not None:
            self._engine.stop()
