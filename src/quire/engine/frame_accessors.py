"""Frame accessors: `df.quire.extract(…)` of pandas and polars, once both they and we are imported.

Neither is ever imported from here. Where one is imported later than we are, its own loading ends
with the registration; until then a name is looked up once more for each import, and that is all.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quire.engine.forecasts import Plan
    from quire.engine.foreign_values import Cell, ForeignFrame, Said
    from quire.engine.kept_schemas import SchemaSource

NAME = "quire"


class FrameAccessor:
    """What can be done with a frame's rows; arguments are those of `quire.extract`."""

    def __init__(self, frame: "ForeignFrame") -> None:
        """Be the accessor of one frame."""
        self._frame = frame

    def extract(self, schema: "SchemaSource", **said: "Said") -> "ForeignFrame":
        """The frame with typed answers beside its own columns."""
        from quire.engine.one_call import extract

        return extract(self._frame, schema, **said)

    def plan(self, schema: "SchemaSource", **said: "Said") -> "Plan":
        """What that would cost; sends nothing."""
        from quire.engine.one_call import plan

        return plan(self._frame, schema, **said)

    def stream(self, schema: "SchemaSource", **said: "Said") -> "Iterator[dict[str, Cell]]":
        """Its rows, as they are accepted or fail."""
        from quire.engine.one_call import stream

        return stream(self._frame, schema, **said)


def _register_in_pandas(pandas: Any) -> None:
    pandas.api.extensions.register_dataframe_accessor(NAME)(FrameAccessor)


def _register_in_polars(polars: Any) -> None:
    polars.api.register_dataframe_namespace(NAME)(FrameAccessor)


_REGISTRARS: dict[str, Callable[[ModuleType], None]] = {
    "pandas": _register_in_pandas,
    "polars": _register_in_polars,
}


def offer_accessors() -> None:
    """Register with whoever is imported, and with the others when they are."""
    for name, register in _REGISTRARS.items():
        module = sys.modules.get(name)
        if module is None:
            sys.meta_path.insert(0, _ImportWatcher(name, register))
        elif not hasattr(getattr(module, "DataFrame", None), NAME):
            register(module)


class _ImportWatcher:
    """Waits for one package, lets others find it, and has it registered when it is loaded."""

    def __init__(self, name: str, register: Callable[[ModuleType], None]) -> None:
        self._name, self._register = name, register
        self._asking = False  # others, so that we are not asked in turn

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Nothing for any other package; whoever only asks whether it is there changes nothing."""
        if name != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = find_spec(name)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            self._wrap(spec.loader)
        return spec

    def _wrap(self, loader: Any) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            load(module)
            sys.meta_path.remove(self)
            self._register(module)

        loader.exec_module = exec_module
