"""Rules for single settings: what a value may be, said so that a refusal can be understood."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from quire.domain.data import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one setting may be."""

    wanted: str  # follows "must be"
    allows: Callable[[Json], bool]


def is_whole(value: Json) -> bool:
    """Tell integers from booleans, which Python counts among them."""
    return isinstance(value, int) and not isinstance(value, bool)


def whole_number_rule(least: int, most: int | None = None) -> Rule:
    """Allow integers in a range."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    return Rule(
        wanted=f"a whole number {bounds}",
        allows=lambda value: (
            isinstance(value, int)
            and is_whole(value)
            and least <= value
            and (most is None or value <= most)
        ),
    )


def number_rule(least: float, most: float) -> Rule:
    """Allow integers and fractions in a range."""
    return Rule(
        wanted=f"a number from {least:g} to {most:g}",
        allows=lambda value: (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and least <= value <= most
        ),
    )


def one_of(*choices: Json) -> Rule:
    """Allow a few values; true is not 1."""
    shown = [str(choice).lower() if isinstance(choice, bool) else str(choice) for choice in choices]
    return Rule(
        wanted=", ".join(shown[:-1]) + f" or {shown[-1]}",
        allows=lambda value: any(type(value) is type(item) and value == item for item in choices),
    )


def or_word(rule: Rule, word: str) -> Rule:
    """Allow one word in the place of a value."""
    return Rule(
        wanted=f'{rule.wanted} or "{word}"',
        allows=lambda value: value == word or rule.allows(value),
    )


def or_true(rule: Rule) -> Rule:
    """Allow true or false in the place of a value."""
    return Rule(
        wanted=f"true, false or {rule.wanted}",
        allows=lambda value: isinstance(value, bool) or rule.allows(value),
    )


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"([0-9]{1,9}(?:[.][0-9]{1,3})?)\s*([smhd])")


def parse_seconds(value: Json) -> float | None:
    """Read a time such as 90, "90s", "30m" or "2h"; None where it is none, or no length of time."""
    if isinstance(value, str):
        found = _DURATION.fullmatch(value.strip().lower())
        value = float(found[1]) * _UNITS[found[2]] if found else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= 30 * _UNITS["d"] else None


TEXT = Rule(
    wanted="text that is not empty",
    allows=lambda value: isinstance(value, str) and bool(value.strip()),
)

POLICY_ALIASES = {
    "batching_enabled": "packing",
    "max_attempts": "max_tries",
    "reuse_answers": "reuse",  # where `reuse` is a run whose results are kept
}
PROBED = "probed"  # the pack size that a probe recommends
POLICY_RULES = {
    "pack_size": or_word(whole_number_rule(1, 25), PROBED),
    "packing": one_of(True, False, "on", "off", "auto"),
    "estimated_output_per_task": whole_number_rule(1, 1_000_000),
    "max_tries": whole_number_rule(1, 100),
    "max_calls": whole_number_rule(1, 1_000),
    "max_continuations": whole_number_rule(0, 100),
    "concurrency": whole_number_rule(1, 10_000),
    "call_timeout": number_rule(0.001, 86_400),
    "temperature": number_rule(0, 2),
    "effort": one_of("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    "caching": one_of("auto", "off", True, False),
    "route": one_of("direct", "batch", "auto", "paced"),
    "deadline": Rule(
        wanted="a time such as 90s, 30m or 2h, of 30 days at most",
        allows=lambda value: parse_seconds(value) is not None,
    ),
    "min_batch_size": whole_number_rule(1, 1_000_000),
    "limits": Rule(
        wanted="the name of a limit profile, of 60 characters at most",
        allows=lambda value: isinstance(value, str) and 0 < len(value.strip()) <= 60,
    ),
    "batch_wait": number_rule(0, 86_400),
    "completion_mode": one_of("exact", "best_effort", "throughput"),
    "lenient": one_of(True, False),
    "repair_after_failures": whole_number_rule(0, 100),
    "hold_failed_percent": whole_number_rule(0, 100),
    "hold_cost_percent": whole_number_rule(100, 1_000_000),
    "embedder": Rule(
        wanted="auto, local, words or PROVIDER/MODEL",
        allows=lambda value: isinstance(value, str) and bool(value.strip()),
    ),
    "reuse": one_of(True, False, "on", "off"),
    "review": one_of("optional", "required"),
    "ledger": one_of("lean", "full"),
}

_STOP_RULE = Rule(
    wanted="a list of at most 16 texts",
    allows=lambda value: (
        isinstance(value, list | tuple)
        and len(value) <= 16
        and all(isinstance(item, str) and item for item in value)
    ),
)
PARAM_RULES = {
    "temperature": POLICY_RULES["temperature"],
    "top_p": number_rule(0, 1),
    "seed": whole_number_rule(0, 2**63 - 1),
    "max_tokens": whole_number_rule(1, 10_000_000),
    "effort": POLICY_RULES["effort"],
    "stop": _STOP_RULE,
}

_PROMPT_POLICIES = (
    *("pack_size", "packing", "estimated_output_per_task", "max_tries", "max_calls", "lenient"),
)
PROMPT_RULES = {
    "system_instructions": TEXT,
    "per_block_prompt": TEXT,
    "model": TEXT,
    "temperature": POLICY_RULES["temperature"],
    "effort": POLICY_RULES["effort"],
    "caching": POLICY_RULES["caching"],
    "max_tokens_per_block": whole_number_rule(1),
    "max_batch_size": whole_number_rule(1),
    "concurrency": POLICY_RULES["concurrency"],
    **{name: POLICY_RULES[name] for name in _PROMPT_POLICIES},
    **{alias: POLICY_RULES[name] for alias, name in POLICY_ALIASES.items()},
}


def unknown_message(name: str, known: Iterable[str]) -> str:
    """Say that a name means nothing here, and which one may have been meant."""
    return f"is not known; {nearest_name(name, known)}"


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Which name may have been meant, else all that there are."""
    names = sorted(known)
    longer = [other for other in names if name and other.startswith(name)]  # each_doc…ument
    near = longer if len(longer) == 1 else get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
