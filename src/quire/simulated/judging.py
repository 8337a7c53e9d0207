"""The simulated judge: rubrics, verdicts and scores with reasons, drawn by a stable hash.

The same model answers the same prompt in the same attempt alike. Other attempts differ, so that
draws of one prompt do, unless the temperature is 0. Where a scale is shown in order, the material
leans to one of its stages, whoever reads it.
"""

from typing import NamedTuple

from quire.domain.ids import fingerprint
from quire.domain.requests import Call
from quire.simulated.prompting import Asked

MIDDLE = "Ambiguous / Mixed Evidence."
ABSTAIN = "ABSTAIN"
_QUOTED_WORDS = 12
_WEAKER = ("Absent", "Faint", "Slight", "Limited", "Tentative")
_STRONGER = ("Moderate", "Marked", "Strong", "Pervasive", "Unmistakable")
_DEGREES = ("no", "hardly any", "a few", "some", "several", "many", "most")
_SIGNS = (
    "statements by officials",
    "acts that were carried out",
    "rules that were changed",
    "witnesses who agree",
    "figures that are given",
    "sources that can be checked",
    "effects on daily life",
    "warnings by observers",
)
_FINDINGS = (
    "The wording is plain in some places and vague in others.",
    "Single statements point the other way, without outweighing the rest.",
    "Most of what is said can be checked in the text itself.",
    "Little of it can be told apart from its neighbours at first reading.",
    "The strongest points are named early and repeated later.",
    "What is missing is as telling as what is there.",
)


class Spoken(NamedTuple):
    """An answer in parts: the reasons, and what the marker says, one line or several."""

    reasons: str
    said: tuple[str, ...]


class Draws:
    """A stable source of choices for one answer; every choice has a name of its own."""

    def __init__(self, *seed: str | int) -> None:
        """Take everything that an answer depends on."""
        encoded = (str(each).encode("utf-8", "surrogatepass") for each in seed)
        self._seed = fingerprint(*encoded)

    def below(self, most: int, *name: str | int) -> int:
        """Choose a whole number from 0 up to but not including `most`."""
        return int.from_bytes(fingerprint(self._seed, *name)[:8], "big") % most

    def share(self, low: float, high: float, name: str) -> str:
        """Choose a number with two decimals."""
        return f"{low + (high - low) * self.below(101, name) / 100:.2f}"


def draws_of(call: Call, again: int = 0) -> Draws:
    """Draw for one call; `again` draws otherwise."""
    attempt = 0 if call.params.temperature == 0 else call.attempt_id
    return Draws(call.model, call.system, call.user, attempt, again)


def speak(asked: Asked, draws: Draws, model: str) -> Spoken:
    """Answer as a judge; the reasons quote the material and hold no marker."""
    said: tuple[str, ...]
    match asked.marker:
        case "RUBRIC":
            said = _rubric(asked, draws)
        case "VERDICT":
            said = (_verdict(asked, draws, model),)
        case "QUALITY":
            observed, told_apart = (draws.share(0.3, 0.95, each) for each in ("one", "other"))
            said = (f"observability={observed}, discriminability={told_apart}",)
        case _:
            said = (draws.share(0.2, 0.95, "agreement"),)
    return Spoken(_reasons(asked, draws), said)


def _reasons(asked: Asked, draws: Draws) -> str:
    quoted = " ".join(asked.material.split()[:_QUOTED_WORDS])
    first = draws.below(len(_FINDINGS), "finding")
    second = (first + 1 + draws.below(len(_FINDINGS) - 1, "further")) % len(_FINDINGS)
    return (
        f"simulated: I read what begins with “{quoted}” for {asked.concept}."
        f" {_FINDINGS[first]} {_FINDINGS[second]}"
    )


def _verdict(asked: Asked, draws: Draws, model: str) -> str:
    shown = asked.identifiers
    # some models abstain more often than others, by 8 to 23 in a hundred
    if asked.abstain and draws.below(100, "abstain") < 8 + Draws(model).below(16, "timid"):
        return ABSTAIN
    lean = Draws(asked.material).below(len(shown), "lean")
    place = min(max(lean + draws.below(3, "place") - 1, 0), len(shown) - 1)
    if draws.below(4, "own mind") == 0:
        place = draws.below(len(shown), "own place")
    wanted = (1, 1, 1, 2, 2, 3)[draws.below(6, "size")] if asked.several else 1
    begin = max(0, min(place, len(shown) - wanted))
    return ", ".join(shown[begin : begin + wanted])


def _rubric(asked: Asked, draws: Draws) -> tuple[str, ...]:
    size = asked.stages
    return tuple(
        f"{number}) {_label(number, size, draws)} :: {'; '.join(_criteria(number, size, draws))}"
        for number in range(1, size + 1)
    )


def _label(number: int, size: int, draws: Draws) -> str:
    """A label that no other stage of the same size has."""
    if size % 2 and number == size // 2 + 1:
        return MIDDLE
    half = size // 2
    if half > len(_WEAKER):
        return f"Level {number} of {size}"
    if number <= half:
        return _WEAKER[number - 1 + draws.below(len(_WEAKER) - half + 1, "weaker")]
    place = number - (size - half) - 1
    return _STRONGER[place + draws.below(len(_STRONGER) - half + 1, "stronger")]


def _criteria(number: int, size: int, draws: Draws) -> list[str]:
    degree = _DEGREES[(number - 1) * (len(_DEGREES) - 1) // max(1, size - 1)]
    count = 3 + draws.below(3, "criteria", number)
    first = draws.below(len(_SIGNS), "signs")
    return [f"{degree} {_SIGNS[(first + each) % len(_SIGNS)]}" for each in range(count)]
