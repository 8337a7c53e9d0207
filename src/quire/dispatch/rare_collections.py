"""Fewer looks for cyclic garbage while many rows pass through this process."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Rows die by reference count; cycles are rare here. Looking for some after every 700 new objects,
# as Python does by itself, costs a few percent.
COLLECT_AFTER = 50_000

_lock = threading.Lock()
_found: list[tuple[int, int, int]] = []  # what stood before, once for each who wants fewer


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect rarely meanwhile; the last one to leave sets things back, in whichever thread."""
    with _lock:
        before = gc.get_threshold()
        _found.append(_found[0] if _found else before)
        gc.set_threshold(max(before[0], COLLECT_AFTER) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        with _lock:
            before = _found.pop()
            if not _found:
                gc.set_threshold(*before)
