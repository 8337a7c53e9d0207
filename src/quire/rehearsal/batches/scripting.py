"""What goes wrong with batches: names for the fault script, and what strikes which batch."""

from collections.abc import Mapping

from quire.domain.errors import SettingsInvalid
from quire.simulated.faults import NO_FAULTS, Faults

BATCH_FAULTS: Mapping[str, str] = {
    "batch_drop": "makes the batch, then loses the connection",
    "batch_500": "makes the batch, and says that it broke down",
    "batch_full": "says that the queue is full: token_limit_exceeded",
    "batch_stuck": "stays in progress until its window has passed, with nothing done",
    "batch_expire": "ends expired with half of the rows",
    "batch_cancel": "ends cancelled, by the provider, with half of the rows",
    "batch_errors": "ends completed, with nothing but errors",
    "batch_shuffle": "gives the rows in another order",
    "batch_duplicate": "gives every other row twice",
    "batch_missing": "gives nothing for every fourth row, and bills nothing for it",
    "batch_404": "does not find a result when it is first fetched",
    "batch_truncate": "breaks a result off when it is first fetched",
}
FETCHING = ("batch_404", "batch_truncate")  # counted by downloads, the others by batches
_CREATING = tuple(name for name in BATCH_FAULTS if name not in FETCHING)


class BatchScript:
    """Draws for batches; the same seed and the same number draw the same."""

    def __init__(self, faults: Faults = NO_FAULTS) -> None:
        """Take the entries of a script that are about batches: NAME=RATE, or NAME@N."""
        self._faults = faults
        self._left = {name: _firsts(name, words) for name, words in faults.words.items()}

    def draw(self, number: int) -> frozenset[str]:
        """What strikes the batch of that number."""
        return frozenset(
            name
            for name in BATCH_FAULTS
            if (name in _CREATING and self.first(name))
            or self._faults.strikes_call(name, number, [])
        )

    def first(self, name: str) -> bool:
        """Take one of the first N that a script says."""
        if not self._left.get(name):
            return False
        self._left[name] -= 1
        return True


def parted(faults: Faults) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """The rates and the counts of a script that are about batches; SettingsInvalid for a word."""
    rates = {name: rate for name, rate in faults.rates.items() if name in BATCH_FAULTS}
    words = {name: told for name, told in faults.words.items() if name in BATCH_FAULTS}
    for name, told in words.items():
        _firsts(name, told)
    return rates, words


def _firsts(name: str, told: tuple[str, ...]) -> int:
    if not all(each.isascii() and each.isdecimal() for each in told):
        raise SettingsInvalid(
            f"faults: {name}@{told[0]} says nothing; write {name}@2 for the first two,"
            f" or {name}=0.1"
        )
    return sum(map(int, told))
