"""Loading the small model: its weights into memory, behind a door on this machine."""

import secrets
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from quire.domain.errors import Error
from quire.local.finding import MODEL, RUNTIME

WINDOW = 4_096  # tokens, as the catalog says; the model was trained on twice as many, read slowly
_PROMPTS_KEPT = 64  # MB of prompts that need not be read again


class Loaded:
    """The model in memory; it answers in OpenAI's words to whoever has its pass."""

    def __init__(self, weights: Path, threads: int = 1) -> None:
        """Read the weights, which takes seconds; Error says that they cannot be read."""
        self._pass = secrets.token_hex(16)
        runtime = import_module(RUNTIME)
        try:
            self._server: Any = runtime.Server(self._wishes(runtime, weights, threads))
        except RuntimeError as error:
            raise Error(
                f"{weights} could not be loaded ({error}); delete it, and `quire local install`"
                " fetches it again"
            ) from None
        self.url: str = self._server.listening_address
        self.headers = {"Authorization": f"Bearer {self._pass}"}

    def __enter__(self) -> "Loaded":
        """Use as a context, closed at its end."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Give the memory back; the runtime ends when nobody refers to it."""
        self._server = None

    def _wishes(self, runtime: Any, weights: Path, threads: int) -> Any:
        wishes = runtime.CommonParams()
        wishes.model.path = str(weights)
        wishes.model_alias = {MODEL}
        wishes.n_ctx = WINDOW
        wishes.n_parallel = 1  # one call at a time: two at once would only make both slow
        wishes.cpuparams.n_threads = threads
        wishes.cpuparams_batch.n_threads = threads
        wishes.cache_ram_mib = _PROMPTS_KEPT
        wishes.api_keys = [self._pass]
        wishes.ui = False
        wishes.verbosity = 0
        return wishes
