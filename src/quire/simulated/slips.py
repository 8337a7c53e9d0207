"""Slips of the simulated judge: what goes wrong with the form of an answer, on demand."""

from collections.abc import Callable, Mapping

from quire.simulated.judging import ABSTAIN, Spoken
from quire.simulated.prompting import Asked


def written(asked: Asked, spoken: Spoken) -> str:
    """Write an answer in the asked form."""
    return f"{spoken.reasons}\n\n{_ended(asked, spoken)}"


def slipped(slip: str, asked: Asked, spoken: Spoken, other: Spoken) -> str:
    """Write an answer with a slip; as asked where the slip cannot happen to it."""
    return _SLIPS[slip](asked, spoken, other)


def _ended(asked: Asked, spoken: Spoken, form: str = "{}:") -> str:
    between = "\n" if asked.marker == "RUBRIC" else " "
    return between.join([form.format(asked.marker), *spoken.said])


def _with(asked: Asked, spoken: Spoken, *said: str) -> str:
    return written(asked, spoken._replace(said=said))


def _missing_marker(_asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    return "\n".join([spoken.reasons, "", "So this is my answer:", *spoken.said])


def _two_markers(asked: Asked, spoken: Spoken, other: Spoken) -> str:
    return f"{written(asked, other)}\n\nOn reflection, rather:\n\n{_ended(asked, spoken)}"


def _bold(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker == "RUBRIC":
        parted = (line.partition(" :: ") for line in spoken.said)
        bold = tuple(f"**{label}**{sign}{criteria}" for label, sign, criteria in parted)
        spoken = spoken._replace(said=bold)
    return f"{spoken.reasons}\n\n{_ended(asked, spoken, '**{}:**')}"


def _bullets(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker == "RUBRIC":
        return _with(asked, spoken, *(f"- {line}" for line in spoken.said))
    return f"{spoken.reasons}\n\n{_ended(asked, spoken, '- {}:')}"


def _out_of_range(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    match asked.marker:
        case "RUBRIC":
            beyond = f"{len(spoken.said) + 1}) Beyond the scale :: all of it; all day; all over"
            return _with(asked, spoken, *spoken.said, beyond)
        case "VERDICT":
            letters = (each for each in "FGHIJKLMNOPQRSTUVWXYZ" if each not in asked.identifiers)
            return _with(asked, spoken, next(letters, "outside"))
        case _:
            return _with(asked, spoken, spoken.said[0].replace("0.", "1.", 1))


def _comma_decimal(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker == "RUBRIC":  # it parts criteria with commas, which others do, too
        return _with(asked, spoken, *(line.replace("; ", ", ") for line in spoken.said))
    return _with(asked, spoken, *(line.replace(".", ",") for line in spoken.said))


def _abstain_remark(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker != "VERDICT":
        return written(asked, spoken)
    return _with(asked, spoken, f"{ABSTAIN} (the evidence is weak)")


def _no_reasoning(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    return _ended(asked, spoken)


def _stage_number(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker != "VERDICT":
        return written(asked, spoken)
    return _with(asked, spoken, f"Stage {1 + len(spoken.said[0]) % len(asked.identifiers)}")


def _garbled_id(asked: Asked, spoken: Spoken, _other: Spoken) -> str:
    if asked.marker != "VERDICT":
        return written(asked, spoken)
    first, *rest = asked.identifiers[:1] if ABSTAIN in spoken.said else spoken.said[0].split(", ")
    garbled = first[:-1] or f"{first}q"
    while garbled in asked.identifiers:
        garbled += "q"
    return _with(asked, spoken, ", ".join([garbled, *rest]))


_SLIPS: Mapping[str, Callable[[Asked, Spoken, Spoken], str]] = {
    "missing_marker": _missing_marker,
    "two_markers": _two_markers,
    "bold": _bold,
    "bullets": _bullets,
    "out_of_range": _out_of_range,
    "comma_decimal": _comma_decimal,
    "abstain_remark": _abstain_remark,
    "no_reasoning": _no_reasoning,
    "stage_number": _stage_number,
    "garbled_id": _garbled_id,
}
