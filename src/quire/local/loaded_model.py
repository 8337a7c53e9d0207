"""The small model in memory, answering on a port of this machine."""

import secrets
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from quire.domain.errors import Error
from quire.local.install import MODEL, RUNTIME_PACKAGE

WINDOW = 4_096  # tokens, as the catalog says; the model was trained on twice as many, read slowly
_PROMPT_CACHE_MB = 64  # MB of prompts that need not be read again


class LoadedModel:
    """The model in memory; it answers in OpenAI's words to whoever has its pass."""

    def __init__(self, weights: Path, threads: int = 1) -> None:
        """Read the weights, which takes seconds; Error says that they cannot be read."""
        self._api_key = secrets.token_hex(16)
        runtime = import_module(RUNTIME_PACKAGE)
        try:
            self._server: Any = runtime.Server(self._params(runtime, weights, threads))
        except RuntimeError as error:
            raise Error(
                f"{weights} could not be loaded ({error}); delete it, and `quire local install`"
                " fetches it again"
            ) from None
        self.url: str = self._server.listening_address
        self.headers = {"Authorization": f"Bearer {self._api_key}"}

    def __enter__(self) -> "LoadedModel":
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

    def _params(self, runtime: Any, weights: Path, threads: int) -> Any:
        params = runtime.CommonParams()
        params.model.path = str(weights)
        params.model_alias = {MODEL}
        params.n_ctx = WINDOW
        params.n_parallel = 1  # one call at a time: two at once would only make both slow
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.cache_ram_mib = _PROMPT_CACHE_MB
        params.api_keys = [self._api_key]
        params.ui = False
        params.verbosity = 0
        return params
