"""The fault scripts of the server: those of the simulated model, and what only a server can do.

Besides the model's own words (see quire.simulated.faults) a script may say:

- spend: the account has spent what it may; 503 or 529: overloaded, in the vendor's own status;
- slow: the answer takes ten times as long as usual, and a second at least;
- batch_drop and others: what goes wrong with a whole batch (see quire.rehearsal.batches.scripting).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from quire.domain.errors import SettingsInvalid
from quire.rehearsal.batches.scripting import BATCH_FAULTS, parted
from quire.simulated.answering import AskedBlock
from quire.simulated.faults import BLOCK_FAULTS, CALL_FAULTS, Faults, parse
from quire.simulated.responding import UNANSWERED

SERVER_FAULTS: Mapping[str, str] = {
    "spend": "says that the account has spent what it may",
    "503": "says that it is overloaded",
    "529": "says that it is overloaded",
    "slow": "takes ten times as long",
    **BATCH_FAULTS,
}
REFUSING = ("spend", "503", "529")  # drawn before the model is asked; the first one counts
_DISTURBING = tuple(
    name
    for name in (*BLOCK_FAULTS, *CALL_FAULTS)
    if name not in UNANSWERED and name not in ("refuse", "empty")
)
_BETWEEN = re.compile(r"\s+(?=\w+[=@])")


def parse_faults(script: str) -> Faults:
    """Read a script, its entries parted by commas or blanks, or raise SettingsInvalid."""
    faults = parse(_BETWEEN.sub(",", script.strip()), more=tuple(SERVER_FAULTS))
    if faults.log:
        raise SettingsInvalid(
            "faults: log= is for the simulated provider; the server has a log of its own (--log)"
        )
    parted(faults)
    return faults


def about_batches(faults: Faults) -> Faults:
    """The entries of a script that strike whole batches."""
    rates, words = parted(faults)
    return replace(faults, rates=rates, words=words)


def without(faults: Faults, names: Iterable[str]) -> Faults:
    """The same script without some of its entries."""
    return replace(
        faults,
        rates={name: rate for name, rate in faults.rates.items() if name not in names},
        words={name: words for name, words in faults.words.items() if name not in names},
    )


def answering(faults: Faults) -> Faults:
    """The same script without what leaves a call unanswered: what would have been said."""
    return without(faults, UNANSWERED)


def struck(faults: Faults, names: Iterable[str], number: int, blocks: list[AskedBlock]) -> str:
    """The first of these faults that strikes the call; "" where none does."""
    contents = [block.content for block in blocks]
    return next((name for name in names if faults.strikes_call(name, number, contents)), "")


def disturbances(faults: Faults, number: int, blocks: list[AskedBlock]) -> str:
    """Name the faults that an answer has, by the same draws that the model makes."""
    named = [name for name in _DISTURBING if name in faults.rates or name in faults.words]
    return ",".join(name for name in named if _disturbs(faults, name, number, blocks))


def _disturbs(faults: Faults, name: str, number: int, blocks: list[AskedBlock]) -> bool:
    if name in BLOCK_FAULTS:
        return any(faults.strikes_block(name, number, *block) for block in blocks)
    return bool(struck(faults, (name,), number, blocks))
