"""Shared answers: what many viewers ask at once is found out once, and again when it is old.

The idea. Who asks while an answer is being made waits for it. An answer is good for a second, and
for ten times as long as making it took, so that a large run takes a tenth of one thread at most,
however many look at it.
"""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, TypeVar

Answer = TypeVar("Answer")

FRESH = 1.0  # seconds that an answer is good for, at least
TIMES_ITS_COST = 10.0  # and so many times as long as it took
MOST_KEPT = 200  # answers


@dataclass(slots=True)
class _Kept:
    """One answer, and a lock for who makes it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None
    made_at: float = float("-inf")
    cost: float = 0.0  # seconds
    maker: threading.Thread | None = None  # that makes it behind whoever asked
    problem: Exception | None = None  # why that came to nothing

    def is_fresh(self, now: float) -> bool:
        return now - self.made_at < max(FRESH, TIMES_ITS_COST * self.cost)


class SharedAnswers:
    """Answers by what was asked; safe to use from any thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Know how old they are by a clock of seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[Hashable, _Kept] = {}

    def get(
        self,
        asked: Hashable,
        make: Callable[[], Answer],
        still_holds: Callable[[Answer], bool] = lambda answer: False,
        *,
        anew: bool = False,
    ) -> Answer:
        """The answer to a question, made anew where it is old, unless it is known still to hold.

        `anew`: whoever asks has just changed something.
        """
        kept = self._find(asked)
        with kept.lock:
            now = self._clock()
            if kept.is_fresh(now) and not anew:
                return kept.value  # type: ignore[no-any-return]  # as it was made
            if not anew and kept.made_at > float("-inf") and still_holds(kept.value):
                kept.made_at = now
                return kept.value  # type: ignore[no-any-return]
            kept.value = answer = make()
            kept.made_at = self._clock()
            kept.cost = kept.made_at - now
            return answer

    def get_behind(
        self,
        asked: Hashable,
        make: Callable[[], Answer],
        still_holds: Callable[[Answer], bool] = lambda answer: False,
    ) -> Answer | None:
        """The last answer, also an old one, and None before the first; nobody waits for it.

        Where it is old it is made anew in a thread of its own, one at a time for each question.
        """
        kept = self._find(asked)

        def make_behind() -> None:
            try:
                self.get(asked, make, still_holds)
            except Exception as error:  # noqa: BLE001 - whoever asks next is told
                kept.problem = error

        with self._lock:
            problem, kept.problem, last = kept.problem, None, kept.value
            is_made = kept.maker is not None and kept.maker.is_alive()
            if not problem and not is_made and not kept.is_fresh(self._clock()):
                kept.maker = threading.Thread(target=make_behind, name="an answer", daemon=True)
                kept.maker.start()
        if problem:
            raise problem
        return last  # type: ignore[no-any-return]  # as it was made

    def forget(self) -> None:
        """Make every answer anew: something was erased that they may hold."""
        with self._lock:
            self._kept.clear()

    def _find(self, asked: Hashable) -> _Kept:
        with self._lock:
            kept = self._kept.pop(asked, None) or _Kept()
            self._kept[asked] = kept  # the last one to be forgotten
            while len(self._kept) > MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            return kept
