"""Refused calls: whether a refusal is about one call, or about the key or address of them all.

A 403 or 404 reads like a wrong key or a wrong address, but who moderates what passes, and many a
firewall, say the same of a single text. Where calls are answered, a refusal is about what the call
carries: it is halved until the culprit stands alone. That a key was taken back meanwhile shows by
several fresh calls in a row that are refused with nothing answered between.

Where a server refuses calls in words that nobody knows, and has never answered any, either may be
true, and all first packs halved to the last task would cost hundreds of calls and blame blocks. So
one task of the first such pack goes alone, and the other packs wait: if it is answered, what is in
the packs is to blame; if it is refused like all others, a person looks, and no task has failed.
"""

from collections.abc import Collection

from quire.domain.ids import TaskId
from quire.domain.reasons import HoldCause
from quire.planning.packing import half_of
from quire.planning.retrying import HoldRun, Resend, Split

REFUSALS_TO_HOLD = 3  # of calls that have nothing in common, in a row
MOST_REMEMBERED = 10_000  # tasks
FEW_SENDINGS = 3  # of the same call: then it has waited long enough for another
# calls with nothing in common that were refused before any was answered, and show that all will be:
FEW_REFUSED, MOST_REFUSED_WITH_ONE_ALONE, MOST_REFUSED = 3, 5, 12


class RefusedCalls:
    """What was refused of the calls to one model with one key, from one worker."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.has_answered = False
        self._in_a_row = 0  # fresh calls that were refused since the last answer
        self._refused: dict[TaskId, None] = {}  # tasks of calls that were, in this order
        self._unexplained = 0  # fresh calls that were, for no known reason and before any answer
        self._is_one_alone = False  # a task was parted from its pack, to see

    def note_answer(self) -> None:
        """A call was answered: the key and the address are good."""
        self.has_answered = True
        self._in_a_row = 0

    def is_about_one(self, tasks: Collection[TaskId]) -> bool:
        """Whether a refused call with these tasks is to blame itself; notes that it was refused.

        What is left of a call that was refused before says nothing new, so a call that a person let
        go again is halved, and nothing is held for the same tasks twice.
        """
        self._in_a_row += self._note_refused(tasks)
        if self._in_a_row < REFUSALS_TO_HOLD:
            return True
        self._in_a_row = 0  # a person looks: then it begins anew
        return False

    def after_unexplained(
        self, tasks: Collection[TaskId], times: int, delay: float, *, awaited: bool
    ) -> Resend | Split | HoldRun:
        """What follows where nothing was ever answered and a call is refused, nobody knows why.

        `times` is how often it was sent, and `awaited` whether others are out for the first time.
        """
        self._unexplained += self._note_refused(tasks)
        waited, lone = times >= FEW_SENDINGS, len(tasks) == 1
        if self._unexplained >= (MOST_REFUSED_WITH_ONE_ALONE if lone else MOST_REFUSED):
            return HoldRun(cause=HoldCause.CALLS_REFUSED)
        if lone and not awaited and (waited or self._unexplained >= FEW_REFUSED):
            return HoldRun(cause=HoldCause.CALLS_REFUSED)
        if lone or (self._is_one_alone and not waited):
            return Resend(delay=delay)
        self._is_one_alone = True
        return Split(pack_cap=half_of(len(tasks)), one_alone=True)

    def _note_refused(self, tasks: Collection[TaskId]) -> bool:
        """Remember a refused call; whether it has nothing in common with those before."""
        fresh = not any(task in self._refused for task in tasks)
        self._refused.update(dict.fromkeys(tasks))
        for task in list(self._refused)[:-MOST_REMEMBERED]:
            del self._refused[task]
        return fresh
