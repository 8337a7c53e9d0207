"""A probe's report: what was asked, what it took, how the answers differ, what is recommended."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.engine.ordering import Ask
from quire.export.rows import rows
from quire.ledger.ledger import Ledger
from quire.plan.comparing import Answers, Comparison, compare
from quire.plan.estimating import Excess, Rate
from quire.plan.probing import Finding, Recommendation, Spent, Trial, recommend
from quire.plan.sizing import LARGEST_PROBED_PACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Probing:
    """What a probe is to find out."""

    sample: int = 50  # blocks
    sizes: tuple[int, ...] = (5, 10, 25, 50)  # blocks per call
    tolerance: float = 0.02  # of all fields that packing may change
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no probe can be made of."""
        if self.sample < 2:
            raise UsageError(f"a sample of {self.sample} shows nothing; take 50 blocks, or more")
        if not self.sizes or not all(2 <= each <= LARGEST_PROBED_PACK for each in self.sizes):
            told = ",".join(map(str, self.sizes)) or "none"
            raise UsageError(f"sizes must be from 2 to {LARGEST_PROBED_PACK}, not {told}")
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"the tolerance is a share from 0 to 1, not {self.tolerance:g}")


LOOKED_AT = 1000  # requests of a run


class Carried(NamedTuple):
    """One run of a probe that has been made."""

    size: int
    turn: int
    now: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that a probe showed."""

    schema: str
    model: str
    simulated: bool
    probing: Probing
    blocks: int
    available: int  # blocks that could have been drawn
    alone: Spent
    again: Spent
    noise: Comparison  # alone once more, against alone
    trials: tuple[Trial, ...]
    recommended: Recommendation
    runs: tuple[RunId, ...]  # in the order of alone, again, trials

    @property
    def size(self) -> int:
        """The recommended number of blocks per call."""
        return self.recommended.size

    @property
    def cost(self) -> int:
        """What the probe cost, in micro-dollars."""
        spent = [self.alone, self.again, *(each.spent for each in self.trials)]
        return sum(each.cost for each in spent)

    def finding(self, trial: Trial) -> Finding:
        """What the sample says about one size."""
        return trial.finding(self.probing.tolerance)

    def as_json(self) -> dict[str, Json]:
        """All of it, for programs and for the ledger; shares are of 1."""
        alone, again, *packed = self.runs
        return {
            "schema": self.schema,
            "model": self.model,
            "simulated": self.simulated,
            "blocks": self.blocks,
            "available": self.available,
            "seed": self.probing.seed,
            "tolerance": self.probing.tolerance,
            "cost_micro_dollars": self.cost,
            "alone": {"run": alone, **_spent(self.alone)},
            "again": {"run": again, **_spent(self.again), **_compared(self.noise)},
            "sizes": [
                {
                    "size": trial.size,
                    "run": run,
                    **_spent(trial.spent),
                    **_compared(trial.compared),
                    "noise": _rate(trial.compared.noise),
                    "excess": _excess(trial.compared.excess),
                    "finding": self.finding(trial).value,
                }
                for run, trial in zip(packed, self.trials, strict=True)
            ],
            "recommended": self.size,
            "finding": self.recommended.finding.value,
            "blocks_to_be_sure": self.recommended.blocks_to_be_sure,
        }


def make_report(
    ledger: Ledger, asked: Ask, probing: Probing, available: int, carried: Sequence[Carried]
) -> Report:
    """Compare the answers of a probe's runs: alone, alone again, then packed."""
    answers = [_answers(ledger, each.now.run_id) for each in carried]
    spent = [_spending(each.now, _largest(ledger, each.now.run_id)) for each in carried]
    trials = tuple(
        Trial(size=each.size, spent=took, compared=compare(answers[0], answers[1], said))
        for each, took, said in zip(carried[2:], spent[2:], answers[2:], strict=True)
    )
    return Report(
        schema=asked.recipe.stages[0].record.ref,
        model=asked.facts.name,
        simulated=asked.facts.provider == "simulated",
        probing=probing,
        blocks=len(answers[0]),
        available=available,
        alone=spent[0],
        again=spent[1],
        noise=compare(answers[0], answers[1], answers[1]),
        trials=trials,
        recommended=recommend(spent[0], trials, probing.tolerance),
        runs=tuple(each.now.run_id for each in carried),
    )


def _answers(ledger: Ledger, run: RunId) -> Answers:
    with ledger.snapshot() as tx:
        # not orjson, which reads an integer beyond 64 bits as a float
        return {
            each.block_uid: None if each.data is None else json.loads(each.data)
            for each in rows(tx, run)
        }


def _largest(ledger: Ledger, run: RunId) -> int:
    """Blocks in the fullest of a run's first calls; those that go again are never fuller."""
    with ledger.snapshot() as tx:
        return max((each.tasks for each in tx.views.requests(run, 0, LOOKED_AT)), default=0)


def _spending(now: Progress, largest: int) -> Spent:
    return Spent(
        blocks=now.total,
        calls=now.calls,
        blocks_per_call=round(now.packed_tasks / now.packs, 2) if now.packs else 0.0,
        largest_call=largest,
        input_tokens=now.input_tokens,
        output_tokens=now.output_tokens,
        cost=now.cost + now.presumed,
    )


def _spent(spent: Spent) -> dict[str, Json]:
    return {
        "calls": spent.calls,
        "blocks_per_call": spent.blocks_per_call,
        "largest_call": spent.largest_call,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_micro_dollars": spent.cost,
        "micro_dollars_per_1000_blocks": round(spent.cost_per_thousand),
    }


def _compared(compared: Comparison) -> dict[str, Json]:
    return {
        "mismatched_fields": _rate(compared.fields),
        "mismatched_blocks": _rate(compared.blocks),
        "unanswered": compared.unanswered,
        "by_field": dict(compared.by_field),
    }


def _rate(rate: Rate) -> dict[str, Json]:
    return {"of": rate.of, "count": rate.hits, **_interval(rate.share, rate.low, rate.high)}


def _excess(excess: Excess) -> dict[str, Json]:
    return _interval(*excess)


def _interval(share: float, low: float, high: float) -> dict[str, Json]:
    return {"share": round(share, 6), "low": round(low, 6), "high": round(high, 6)}
