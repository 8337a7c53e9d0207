"""Refused calls: whether a refusal is about one call, or about the key or address of them all.

A 403 or 404 reads like a wrong key or a wrong address, but who moderates what passes, and many a
firewall, say the same of a single text. Where calls are answered, a refusal is about what the call
carries: it is halved until the culprit stands alone. That a key was taken back meanwhile shows by
several fresh calls in a row that are refused with nothing answered between.
"""

from collections.abc import Collection

from quire.domain.ids import TaskId

REFUSALS_TO_HOLD = 3  # of calls that have nothing in common, in a row
MOST_REMEMBERED = 10_000  # tasks


class RefusedCalls:
    """What was refused of the calls to one model with one key, from one worker."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self.has_answered = False
        self._in_a_row = 0  # fresh calls that were refused since the last answer
        self._refused: dict[TaskId, None] = {}  # tasks of calls that were, in this order

    def note_answer(self) -> None:
        """A call was answered: the key and the address are good."""
        self.has_answered = True
        self._in_a_row = 0

    def is_about_one(self, tasks: Collection[TaskId]) -> bool:
        """Whether a refused call with these tasks is to blame itself; notes that it was refused.

        What is left of a call that was refused before says nothing new, so a call that a person let
        go again is halved, and nothing is held for the same tasks twice.
        """
        fresh = not any(task in self._refused for task in tasks)
        self._refused.update(dict.fromkeys(tasks))
        for task in list(self._refused)[:-MOST_REMEMBERED]:
            del self._refused[task]
        self._in_a_row += fresh
        if self._in_a_row < REFUSALS_TO_HOLD:
            return True
        self._in_a_row = 0  # a person looks: then it begins anew
        return False
