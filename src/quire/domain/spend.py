"""Spend: what attempts took and cost, by what people group it by, and what became of them."""

from enum import StrEnum
from typing import NamedTuple

from quire.domain.accounts import KeySource, label_credential
from quire.domain.ids import RunId


class SpendBy(StrEnum):
    """What spend may be grouped by."""

    RUN = "run"
    STAGE = "stage"
    MODEL = "model"
    DAY = "day"
    KEY = "key"
    OUTCOME = "outcome"


class SpendOutcome(StrEnum):
    """What became of a call, by what its money bought."""

    ACCEPTED = "accepted"  # all its tasks have it for their result, or it is a part of that
    REPAIRED = "repaired"  # the same, where it was asked with the reasons why the last did not do
    SPLIT = "split"  # a pack, of which some were asked again
    RETRIED = "retried"  # it did not do, or was refused by a critic or a person: asked again
    REFUSED = "refused"  # the provider or the model declined
    REUSED = "reused"  # nothing was sent: the answer was there
    LOST = "lost"  # nobody knows whether it was carried out; its cost is presumed
    WASTED = "wasted"  # paid, and in no result: its task failed, or had an answer already
    EMBEDDED = "embedded"  # it ranked passages of prompts that were too large
    WAITING = "waiting"  # out, not judged yet, or about to be gone on with


class SpendGroup(NamedTuple):
    """Attempts that are alike in all that spend is grouped by, added up; money in picodollars."""

    run_id: RunId
    stage: str
    model: str
    key_provider: str | None  # None: without a key
    key_source: str | None
    key_name: str | None
    key_tail: str | None
    day: int  # since 1970, in UTC
    batched: int  # 1: inside a provider's batch
    outcome: str  # empty where nobody asked for it
    size: int  # input tokens of each, where that may change their price; else 0
    attempts: int  # sent
    calls: int  # answered
    tasks: int  # in the answered ones
    input: int  # tokens neither read from a cache nor written to one
    cached: int
    written_short: int
    written_long: int
    output: int
    reasoning: int
    cost: int
    presumed: int
    more_prefix: int  # tokens of prefixes that there would be more, were every task asked alone
    more_cached: int  # of these, read from the cache
    reused: int = 0  # tasks that took an answer instead of asking
    reuse_saved: int = 0  # what those answers had cost
    stage_id: int = 0  # stages are told in their order

    @property
    def input_total(self) -> int:
        """All input tokens, however they were billed."""
        return self.input + self.cached + self.written_short + self.written_long

    @property
    def simulated_cost(self) -> int:
        """What of the cost is no money at all."""
        return self.cost if self.model.startswith("simulated/") else 0

    @property
    def key_label(self) -> str:
        """What the key is called; empty without one."""
        if self.key_source is None:
            return ""
        label = label_credential(
            KeySource(self.key_source), self.key_name or "", self.key_tail or ""
        )
        return f"{self.key_provider} {label}"


class RunMoneySums(NamedTuple):
    """What a run spent, added up in every way that it is written down; in picodollars."""

    run_id: RunId
    wallet: str | None  # its name
    tallied: int  # known and presumed
    attempted: int  # the same, of the attempts themselves
    reserved: int  # for calls that are out
    free: int  # granted, and neither spent nor reserved
    paid: int  # by the wallet's entries, less what came back

    @property
    def amount_due(self) -> int:
        """What a wallet must have paid."""
        return self.attempted + self.reserved + self.free


class DaySpend(NamedTuple):
    """What calls of a day cost, in picodollars."""

    cost: int
    presumed: int
    simulated: int  # no money at all


class ForecastRow(NamedTuple):
    """What one stage was forecast to take of one model when its run began; in picodollars."""

    stage: str
    model: str
    tasks: int
    calls: int
    input_tokens: int
    output_tokens: int
    low: int
    cost: int
    high: int
