"""The fault scripts of the server: those of the simulated model, and what only a server can do.

Besides the model's own words (see quire.simulated.fault_scripts) a script may say:

- spend: the account has spent what it may; 503 or 529: overloaded, in the vendor's own status;
- slow: the answer takes ten times as long as usual, and a second at least;
- batch_drop and others: what goes wrong with a whole batch (see BATCH_FAULTS)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from quire.domain.errors import SettingsInvalid
from quire.simulated.block_answers import AskedBlock
from quire.simulated.call_outcomes import UNANSWERED
from quire.simulated.fault_scripts import (
    BLOCK_FAULTS,
    CALL_FAULTS,
    CUT_FAULTS,
    GOING_ON_FAULTS,
    NO_FAULTS,
    Faults,
    parse_fault_script,
)

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
DOWNLOAD_FAULTS = ("batch_404", "batch_truncate")  # counted by downloads, the others by batches
_CREATION_FAULTS = tuple(name for name in BATCH_FAULTS if name not in DOWNLOAD_FAULTS)


class BatchScript:
    """Draws for batches; the same seed and the same number draw the same."""

    def __init__(self, faults: Faults = NO_FAULTS) -> None:
        """Take the entries of a script that are about batches: NAME=RATE, or NAME@N."""
        self._faults = faults
        self._left = {name: _first_count(name, words) for name, words in faults.words.items()}

    def draw(self, number: int) -> frozenset[str]:
        """What strikes the batch of that number."""
        return frozenset(
            name
            for name in BATCH_FAULTS
            if (name in _CREATION_FAULTS and self.take_first(name))
            or self._faults.strikes_call(name, number, [])
        )

    def take_first(self, name: str) -> bool:
        """Take one of the first N that a script says."""
        if not self._left.get(name):
            return False
        self._left[name] -= 1
        return True


def batch_entries(faults: Faults) -> tuple[dict[str, float], dict[str, tuple[str, ...]]]:
    """The rates and the counts of a script that are about batches; SettingsInvalid for a word."""
    rates = {name: rate for name, rate in faults.rates.items() if name in BATCH_FAULTS}
    words = {name: counts for name, counts in faults.words.items() if name in BATCH_FAULTS}
    for name, counts in words.items():
        _first_count(name, counts)
    return rates, words


def _first_count(name: str, counts: tuple[str, ...]) -> int:
    if not all(text.isascii() and text.isdecimal() for text in counts):
        raise SettingsInvalid(
            f"faults: {name}@{counts[0]} says nothing; write {name}@2 for the first two,"
            f" or {name}=0.1"
        )
    return sum(map(int, counts))


SERVER_FAULTS: Mapping[str, str] = {
    "spend": "says that the account has spent what it may",
    "503": "says that it is overloaded",
    "529": "says that it is overloaded",
    "slow": "takes ten times as long",
    **BATCH_FAULTS,
}
REFUSAL_FAULTS = ("spend", "503", "529")  # drawn before the model is asked; the first one counts
_TOLD_BY_OUTCOME = (*UNANSWERED, *GOING_ON_FAULTS, *CUT_FAULTS, "refuse", "empty")
_ANSWER_FAULTS = tuple(
    name for name in (*BLOCK_FAULTS, *CALL_FAULTS) if name not in _TOLD_BY_OUTCOME
)
_ENTRY_GAP = re.compile(r"\s+(?=\w+[=@])")


def parse_faults(script: str) -> Faults:
    """Read a script, its entries parted by commas or blanks, or raise SettingsInvalid."""
    faults = parse_fault_script(_ENTRY_GAP.sub(",", script.strip()), more=tuple(SERVER_FAULTS))
    if faults.log:
        raise SettingsInvalid(
            "faults: log= is for the simulated provider; the server has a log of its own (--log)"
        )
    batch_entries(faults)
    return faults


def only_batch_faults(faults: Faults) -> Faults:
    """The entries of a script that strike whole batches."""
    rates, words = batch_entries(faults)
    return replace(faults, rates=rates, words=words)


def without_faults(faults: Faults, names: Iterable[str]) -> Faults:
    """The same script without some of its entries."""
    return replace(
        faults,
        rates={name: rate for name, rate in faults.rates.items() if name not in names},
        words={name: words for name, words in faults.words.items() if name not in names},
    )


def without_unanswered(faults: Faults) -> Faults:
    """The same script without what leaves a call unanswered: what would have been said."""
    return without_faults(faults, UNANSWERED)


def first_strike(
    faults: Faults, names: Iterable[str], number: int, blocks: list[AskedBlock]
) -> str:
    """The first of these faults that strikes the call; "" where none does."""
    if faults.quiet:
        return ""
    contents = [block.content for block in blocks]
    return next((name for name in names if faults.strikes_call(name, number, contents)), "")


def disturbances(faults: Faults, number: int, blocks: list[AskedBlock]) -> str:
    """Name the faults that an answer has, by the same draws that the model makes."""
    named = [name for name in _ANSWER_FAULTS if name in faults.rates or name in faults.words]
    return ",".join(name for name in named if _disturbs(faults, name, number, blocks))


def _disturbs(faults: Faults, name: str, number: int, blocks: list[AskedBlock]) -> bool:
    if name in BLOCK_FAULTS:
        return any(faults.strikes_block(name, number, *block) for block in blocks)
    return bool(first_strike(faults, (name,), number, blocks))
