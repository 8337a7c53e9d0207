"""Scripted faults: what goes wrong, how often, and for which blocks.

A script is a comma-separated list, for example `skip=0.1,refuse@FORBIDDEN,429=0.05,seed=7`:

- `name=rate` strikes by chance, drawn anew for every attempt; `name@WORD` strikes always where a
  block's content contains WORD. One name may have both, and several words.
- For one block: skip, duplicate, conflict, wrong, misquote, noise, drift, refuse.
- For the whole call (a WORD in any of its blocks will do): stranger, malformed, truncate, empty,
  garbage, hang, drop, key, 400, 413, 429, 500.
- For the answer of a judge (a WORD anywhere in the message): missing_marker, two_markers, bold,
  bullets, out_of_range, comma_decimal, abstain_remark, no_reasoning, stage_number, garbled_id.
- For a call that goes on with an answer (a WORD in what was asked first): repeat_tail, start_again,
  preamble, claim_complete; and for any call stop_silently.
- Settings: `seed`, `latency` and `retry_after` in seconds, `longer` (0.28 makes packed answers 28 %
  longer), `truncate_at` (tokens after which every answer is cut), `drift_above` (blocks that a call
  may carry before any of them drifts; 1 unless told), `log` (a file for the call log).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import inf

from quire.domain.errors import SettingsInvalid
from quire.domain.ids import fingerprint

BLOCK_FAULTS: Mapping[str, str] = {
    "skip": "leaves the block out of the answer",
    "duplicate": "answers the block twice, alike",
    "conflict": "answers the block twice, differently",
    "wrong": "answers the block with values of the wrong types",
    "misquote": "answers the block with quotes that do not stand in it",
    "noise": "answers the block with another valid value in one field",
    "drift": "does the same, but only where several blocks share the call",
    "refuse": "declines the whole call that carries the block",
}
_CALL_FAULTS: Mapping[str, str] = {
    "stranger": "adds a record with an id that was never sent",
    "malformed": "writes JSON that does not parse",
    "truncate": "stops in the middle, as if the output limit were reached",
    "empty": "answers with no text at all",
    "garbage": "sends a body that nobody can decode",
    "hang": "never answers",
    "drop": "carries the call out, then loses the connection",
    "key": "says that the key is not valid",
    "400": "says that the request is not valid",
    "413": "says that the request is too large",
    "429": "says that there are too many requests",
    "500": "breaks down",
}
JUDGE_FAULTS: Mapping[str, str] = {
    "missing_marker": "ends without the marker",
    "two_markers": "has two that differ",
    "bold": "writes the marker in bold",
    "bullets": "writes the marker as a bullet",
    "out_of_range": "gives a score above 1, an identifier not shown, a stage too many",
    "comma_decimal": "writes 0,8, or parts criteria with commas",
    "abstain_remark": "abstains with a remark",
    "no_reasoning": "gives no reasons",
    "stage_number": "gives the number of a stage for its identifier",
    "garbled_id": "misspells an identifier",
}
GOING_ON_FAULTS: Mapping[str, str] = {
    "repeat_tail": "says the last lines of what is there again before it goes on",
    "start_again": "begins the whole answer again",
    "preamble": "says that it goes on before it does so, and puts JSON into fences",
    "claim_complete": "says that nothing is missing, and adds nothing",
}
CUT_FAULTS: Mapping[str, str] = {
    "stop_silently": "stops in the middle, as if that were the end",
}
CALL_FAULTS: Mapping[str, str] = {
    **_CALL_FAULTS,
    **JUDGE_FAULTS,
    **GOING_ON_FAULTS,
    **CUT_FAULTS,
}
NAMES = (*BLOCK_FAULTS, *CALL_FAULTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """A fault script; the default has no faults."""

    rates: Mapping[str, float] = field(default_factory=dict)  # name -> chance
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> what to look for
    seed: int = 0
    latency: float = 0.0
    longer: float = 0.0
    truncate_at: int | None = None
    drift_above: int = 1  # blocks in a call
    retry_after: float | None = None  # None: a 429 does not say how long to wait
    log: str = ""

    @property
    def quiet(self) -> bool:
        """Say whether every answer will be right."""
        return not self.rates and not self.words

    def strikes_block(self, name: str, attempt_id: int, uid: str, content: str) -> bool:
        """Draw for one block of one attempt; the same draw comes out the same."""
        if any(word in content for word in self.words.get(name, ())):
            return True
        rate = self.rates.get(name)
        if not rate:
            return False
        drawn = int.from_bytes(fingerprint(self.seed, name, attempt_id, uid)[:8], "big")
        return drawn < rate * 2**64

    def strikes_call(self, name: str, attempt_id: int, contents: list[str]) -> bool:
        """Draw for one attempt as a whole."""
        words = self.words.get(name, ())
        if any(word in content for word in words for content in contents):
            return True
        return self.strikes_block(name, attempt_id, "", "")


NO_FAULTS = Faults()


def parse_fault_script(script: str, more: tuple[str, ...] = ()) -> Faults:
    """Read a fault script, or raise SettingsInvalid with everything that is wrong with it.

    Who carries calls in another way may name `more` faults; the model itself knows nothing of them.
    """
    names = (*NAMES, *more)
    rates: dict[str, float] = {}
    words: dict[str, tuple[str, ...]] = {}
    settings: dict[str, float | int | str] = {}
    mistakes: list[str] = []
    for entry in filter(None, (name.strip() for name in script.split(","))):
        try:
            _read_entry(entry, rates, words, settings, names)
        except ValueError as error:
            mistakes += error.args  # what is wrong, and for some of it what helps
    if mistakes:
        raise SettingsInvalid(f"simulated faults: {mistakes[0]}", fix="; ".join(mistakes[1:]))
    return Faults(rates=rates, words=words, **settings)  # type: ignore[arg-type]  # by _SETTINGS


def _read_entry(
    entry: str,
    rates: dict[str, float],
    words: dict[str, tuple[str, ...]],
    settings: dict[str, float | int | str],
    names: tuple[str, ...],
) -> None:
    name, sign, value = _split_entry(entry)
    if not sign or not value:
        raise ValueError(f"{entry!r} says nothing", f"write {name or 'name'}=0.1 or name@WORD")
    if sign == "@":
        if name not in names:
            raise _unknown_fault(name, names)
        words[name] = (*words.get(name, ()), value)
        return
    if name in rates or name in settings:
        raise ValueError(f"{name} is given twice")
    if name in names:
        rates[name] = _parse_number(name, value, most=1.0)
    elif name in _SETTINGS:
        settings[name] = _SETTINGS[name](name, value)
    else:
        raise _unknown_fault(name, (*names, *_SETTINGS))


def _split_entry(entry: str) -> tuple[str, str, str]:
    """Split at whichever sign comes first, so that a word or a path may contain the other."""
    sign = min("=@", key=lambda text: entry.find(text) % (len(entry) + 1))
    name, found, value = entry.partition(sign)
    return name.strip(), found, value.strip()


def _unknown_fault(name: str, known: tuple[str, ...]) -> ValueError:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the names are {', '.join(known)}"
    return ValueError(f"{name!r} is not a fault", hint)


def _parse_number(name: str, value: str, most: float = inf) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= most or number == inf:
        wanted = "a number from 0 to 1" if most == 1 else "a number of at least 0"
        raise ValueError(f"{name}={value} must be {wanted}")
    return number


def _parse_whole(name: str, value: str) -> int:
    if not value.isdecimal():
        raise ValueError(f"{name}={value} must be a whole number of at least 0")
    return int(value)


_SETTINGS: dict[str, Callable[[str, str], float | int | str]] = {
    "seed": _parse_whole,
    "latency": _parse_number,
    "longer": _parse_number,
    "truncate_at": _parse_whole,
    "drift_above": _parse_whole,
    "retry_after": _parse_number,
    "log": lambda _name, value: value,
}
assert set(_SETTINGS) == {item.name for item in fields(Faults)} - {"rates", "words"}
