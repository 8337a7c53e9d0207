"""Policy words: what each value of the policy does and what it takes, for people who set it."""

from collections.abc import Mapping
from typing import NamedTuple


class PolicyWords(NamedTuple):
    """One value in words."""

    does: str
    takes: str
    choices: tuple[str, ...] = ()  # where it takes only these


YES_OR_NO = ("true", "false")


def _choose(does: str, *choices: str) -> PolicyWords:
    return PolicyWords(does, ", ".join(choices), choices)


POLICY_WORDS: Mapping[str, PolicyWords] = {
    "pack_size": PolicyWords("The most blocks in one call", "1 to 25, or probed"),
    "packing": _choose("Several blocks in a call; false: one", *YES_OR_NO),
    "estimated_output_per_task": PolicyWords(
        "The least output to expect of a block, in tokens", "1 to 1,000,000"
    ),
    "max_tries": PolicyWords("Wrong answers before a block fails", "1 to 100"),
    "max_calls": PolicyWords("Answered calls before a block fails", "1 to 1,000"),
    "max_continuations": PolicyWords(
        "Calls that go on with one unfinished answer; 0: it is asked for again", "0 to 100"
    ),
    "concurrency": PolicyWords("The most calls in flight", "1 to 10,000"),
    "call_timeout": PolicyWords("Seconds until a call counts as lost", "0.001 to 86,400"),
    "temperature": PolicyWords(
        "Passed on to models that take it; without one the provider decides", "0 to 2"
    ),
    "effort": _choose(
        "How hard a reasoning model thinks; each takes some of these",
        *("none", "minimal", "low", "medium", "high", "xhigh", "max"),
    ),
    "caching": _choose("Let the provider keep what all calls begin with", "auto", "off"),
    "route": _choose(
        "How calls travel: at once, in batches for about half, whichever is cheaper, or steadily",
        *("direct", "batch", "auto", "paced"),
    ),
    "deadline": PolicyWords(
        "After the start; what batches still owe then goes at once", "90s, 30m, 2h, 1d, up to 30d"
    ),
    "min_batch_size": PolicyWords("Fewer calls than this go at once", "1 to 1,000,000"),
    "limits": PolicyWords("Which profile of limits calls keep to", "the name of a profile"),
    "batch_wait": PolicyWords(
        "Seconds that calls wait for others to share their batch", "0 to 86,400"
    ),
    "completion_mode": _choose(
        "What failures hold up in recipes", "exact", "best_effort", "throughput"
    ),
    "lenient": _choose(
        'Convert what loses nothing, such as "12" to 12; unset: where no schema binds answers',
        *YES_OR_NO,
    ),
    "repair_after_failures": PolicyWords(
        "Wrong answers before a block is asked alone, with the reasons; 0: never", "0 to 100"
    ),
    "hold_failed_percent": PolicyWords(
        "A run is held if more of its last tasks fail; 100: never", "0 to 100"
    ),
    "hold_cost_percent": PolicyWords(
        "A run is held if its last answers cost more than this part of the forecast",
        "100 to 1,000,000",
    ),
    "embedder": PolicyWords(
        "Who ranks the passages of prompts that are too large",
        "auto, local, words, PROVIDER/MODEL",
    ),
    "reuse": _choose("Do not ask again what was answered before", *YES_OR_NO),
    "review": _choose("required: only what a person confirmed is exported", "optional", "required"),
    "ledger": _choose("Render prompts again when needed, or store them", "lean", "full"),
}
FUND_WORDS: Mapping[str, PolicyWords] = {
    "wallet": PolicyWords("What runs spend from that name no wallet", "the name of a wallet"),
    "budget": PolicyWords(
        "The most that a run spends, in dollars, where it says none", "5, 5.00 or $5"
    ),
}
