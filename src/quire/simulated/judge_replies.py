"""The simulated judge: rubrics, verdicts and scores with reasons, and slips of form on demand.

The same model answers the same prompt in the same attempt alike. Other attempts differ, so that
draws of one prompt do, unless the temperature is 0. Where a scale is shown in order, the material
leans to one of its stages, whoever reads it."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from quire.domain.ids import fingerprint
from quire.domain.requests import Call
from quire.simulated.judge_prompts import JudgePrompt

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
_REMARKS = (
    "The wording is plain in some places and vague in others.",
    "Single statements point the other way, without outweighing the rest.",
    "Most of what is said can be checked in the text itself.",
    "Little of it can be told apart from its neighbours at first reading.",
    "The strongest points are named early and repeated later.",
    "What is missing is as telling as what is there.",
)


class JudgeReply(NamedTuple):
    """An answer in parts: the reasons, and what the marker says, one line or several."""

    reasons: str
    lines: tuple[str, ...]


class Draws:
    """A stable source of choices for one answer; every choice has a name of its own."""

    def __init__(self, *seed: str | int) -> None:
        """Take everything that an answer depends on."""
        encoded = (str(item).encode("utf-8", "surrogatepass") for item in seed)
        self._seed = fingerprint(*encoded)

    def number_below(self, most: int, *name: str | int) -> int:
        """Choose a whole number from 0 up to but not including `most`."""
        return int.from_bytes(fingerprint(self._seed, *name)[:8], "big") % most

    def decimal_between(self, low: float, high: float, name: str) -> str:
        """Choose a number with two decimals."""
        return f"{low + (high - low) * self.number_below(101, name) / 100:.2f}"


def draws_of(call: Call, again: int = 0) -> Draws:
    """Draw for one call; `again` draws otherwise. A seed in its parameters decides the draw."""
    seed = call.params.seed
    drawn = str(call.attempt_id) if seed is None else f"seed {seed}"
    if call.params.temperature == 0:
        drawn = "0"
    return Draws(call.model, call.system, call.user, drawn, again)


def reply_as_judge(prompt: JudgePrompt, draws: Draws, model: str) -> JudgeReply:
    """Answer as a judge; the reasons quote the material and hold no marker."""
    lines: tuple[str, ...]
    match prompt.marker:
        case "RUBRIC":
            lines = _rubric(prompt, draws)
        case "VERDICT":
            lines = (_verdict(prompt, draws, model),)
        case "QUALITY":
            observability, discriminability = (
                draws.decimal_between(0.3, 0.95, item) for item in ("one", "other")
            )
            lines = (f"observability={observability}, discriminability={discriminability}",)
        case _:
            lines = (draws.decimal_between(0.2, 0.95, "agreement"),)
    return JudgeReply(_reasons(prompt, draws), lines)


def _reasons(prompt: JudgePrompt, draws: Draws) -> str:
    quoted = " ".join(prompt.material.split()[:_QUOTED_WORDS])
    first = draws.number_below(len(_REMARKS), "finding")
    second = (first + 1 + draws.number_below(len(_REMARKS) - 1, "further")) % len(_REMARKS)
    return (
        f"simulated: I read what begins with “{quoted}” for {prompt.concept}."
        f" {_REMARKS[first]} {_REMARKS[second]}"
    )


def _verdict(prompt: JudgePrompt, draws: Draws, model: str) -> str:
    shown = prompt.identifiers
    # some models abstain more often than others, by 8 to 23 in a hundred
    if prompt.abstain and draws.number_below(100, "abstain") < 8 + Draws(model).number_below(
        16, "timid"
    ):
        return ABSTAIN
    lean = Draws(prompt.material).number_below(len(shown), "lean")
    place = min(max(lean + draws.number_below(3, "place") - 1, 0), len(shown) - 1)
    if draws.number_below(4, "own mind") == 0:
        place = draws.number_below(len(shown), "own place")
    wanted = (1, 1, 1, 2, 2, 3)[draws.number_below(6, "size")] if prompt.several else 1
    begin = max(0, min(place, len(shown) - wanted))
    return ", ".join(shown[begin : begin + wanted])


def _rubric(prompt: JudgePrompt, draws: Draws) -> tuple[str, ...]:
    size = prompt.stages
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
        return _WEAKER[number - 1 + draws.number_below(len(_WEAKER) - half + 1, "weaker")]
    place = number - (size - half) - 1
    return _STRONGER[place + draws.number_below(len(_STRONGER) - half + 1, "stronger")]


def _criteria(number: int, size: int, draws: Draws) -> list[str]:
    degree = _DEGREES[(number - 1) * (len(_DEGREES) - 1) // max(1, size - 1)]
    count = 3 + draws.number_below(3, "criteria", number)
    first = draws.number_below(len(_SIGNS), "signs")
    return [f"{degree} {_SIGNS[(first + value) % len(_SIGNS)]}" for value in range(count)]


def write_reply(prompt: JudgePrompt, reply: JudgeReply) -> str:
    """Write an answer in the asked form."""
    return f"{reply.reasons}\n\n{_ending(prompt, reply)}"


def write_reply_with_slip(
    slip: str, prompt: JudgePrompt, reply: JudgeReply, other: JudgeReply
) -> str:
    """Write an answer with a slip; as asked where the slip cannot happen to it."""
    if slip in _SLIPS_OF_VERDICTS and prompt.marker != "VERDICT":
        return write_reply(prompt, reply)
    if slip == "two_markers":
        first, ending = write_reply(prompt, other), _ending(prompt, reply)
        return f"{first}\n\nOn reflection, rather:\n\n{ending}"
    return _SLIPS[slip](prompt, reply)


def _ending(prompt: JudgePrompt, reply: JudgeReply, form: str = "{}:") -> str:
    between = "\n" if prompt.marker == "RUBRIC" else " "
    return between.join([form.format(prompt.marker), *reply.lines])


def _reply_with_lines(prompt: JudgePrompt, reply: JudgeReply, *lines: str) -> str:
    return write_reply(prompt, reply._replace(lines=lines))


def _missing_marker(_prompt: JudgePrompt, reply: JudgeReply) -> str:
    return "\n".join([reply.reasons, "", "So this is my answer:", *reply.lines])


def _bold(prompt: JudgePrompt, reply: JudgeReply) -> str:
    if prompt.marker == "RUBRIC":
        parted = (line.partition(" :: ") for line in reply.lines)
        bold = tuple(f"**{label}**{sign}{criteria}" for label, sign, criteria in parted)
        reply = reply._replace(lines=bold)
    return f"{reply.reasons}\n\n{_ending(prompt, reply, '**{}:**')}"


def _bullets(prompt: JudgePrompt, reply: JudgeReply) -> str:
    if prompt.marker == "RUBRIC":
        return _reply_with_lines(prompt, reply, *(f"- {line}" for line in reply.lines))
    return f"{reply.reasons}\n\n{_ending(prompt, reply, '- {}:')}"


def _out_of_range(prompt: JudgePrompt, reply: JudgeReply) -> str:
    match prompt.marker:
        case "RUBRIC":
            beyond = f"{len(reply.lines) + 1}) Beyond the scale :: all of it; all day; all over"
            return _reply_with_lines(prompt, reply, *reply.lines, beyond)
        case "VERDICT":
            letters = (name for name in "FGHIJKLMNOPQRSTUVWXYZ" if name not in prompt.identifiers)
            return _reply_with_lines(prompt, reply, next(letters, "outside"))
        case _:
            return _reply_with_lines(prompt, reply, reply.lines[0].replace("0.", "1.", 1))


def _comma_decimal(prompt: JudgePrompt, reply: JudgeReply) -> str:
    # a rubric parts criteria with commas, which others do, too
    signs = ("; ", ", ") if prompt.marker == "RUBRIC" else (".", ",")
    return _reply_with_lines(prompt, reply, *(line.replace(*signs) for line in reply.lines))


def _abstain_remark(prompt: JudgePrompt, reply: JudgeReply) -> str:
    return _reply_with_lines(prompt, reply, f"{ABSTAIN} (the evidence is weak)")


def _stage_number(prompt: JudgePrompt, reply: JudgeReply) -> str:
    number = 1 + len(reply.lines[0]) % len(prompt.identifiers)
    return _reply_with_lines(prompt, reply, f"Stage {number}")


def _garbled_id(prompt: JudgePrompt, reply: JudgeReply) -> str:
    first, *rest = prompt.identifiers[:1] if ABSTAIN in reply.lines else reply.lines[0].split(", ")
    garbled = first[:-1] or f"{first}q"
    while garbled in prompt.identifiers:
        garbled += "q"
    return _reply_with_lines(prompt, reply, ", ".join([garbled, *rest]))


_SLIPS: Mapping[str, Callable[[JudgePrompt, JudgeReply], str]] = {
    "missing_marker": _missing_marker,
    "bold": _bold,
    "bullets": _bullets,
    "out_of_range": _out_of_range,
    "comma_decimal": _comma_decimal,
    "abstain_remark": _abstain_remark,
    "no_reasoning": _ending,
    "stage_number": _stage_number,
    "garbled_id": _garbled_id,
}
_SLIPS_OF_VERDICTS = ("abstain_remark", "stage_number", "garbled_id")
