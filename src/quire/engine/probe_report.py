"""A probe's report: what was asked, what it took, how the answers differ, what is recommended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json, stored_json
from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.export.result_rows import run_block_rows
from quire.ledger.ledger import Ledger
from quire.pipeline.commands.start import Order
from quire.plan.pack_probe import (
    Answers,
    Comparison,
    Excess,
    Parity,
    ProbeSpend,
    Recommendation,
    ShareEstimate,
    Trial,
    compare_answers,
    recommend,
)
from quire.plan.sizing import LARGEST_PROBED_PACK


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSpec:
    """What a probe is to find out."""

    sample: int = 50  # blocks
    sizes: tuple[int, ...] = (5, 10, 25, 50)  # blocks per call
    tolerance: float = 0.02  # of all fields that packing may change
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no probe can be made of."""
        if self.sample < 2:
            raise UsageError(f"a sample of {self.sample} shows nothing; take 50 blocks, or more")
        if not self.sizes or not all(2 <= size <= LARGEST_PROBED_PACK for size in self.sizes):
            given = ",".join(map(str, self.sizes)) or "none"
            raise UsageError(f"sizes must be from 2 to {LARGEST_PROBED_PACK}, not {given}")
        if not 0 <= self.tolerance < 1:
            raise UsageError(f"the tolerance is a share from 0 to 1, not {self.tolerance:g}")


MOST_REQUESTS = 1000  # requests of a run


class ProbeRun(NamedTuple):
    """One run of a probe that has been made."""

    size: int
    turn: int
    progress: Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeReport:
    """All that a probe showed."""

    schema: str
    model: str
    simulated: bool
    spec: ProbeSpec
    blocks: int
    available: int  # blocks that could have been drawn
    alone: ProbeSpend
    again: ProbeSpend
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
        spent = [self.alone, self.again, *(trial.spend for trial in self.trials)]
        return sum(spend.cost for spend in spent)

    def verdict(self, trial: Trial) -> Parity:
        """What the sample says about one size."""
        return trial.parity(self.spec.tolerance)

    def as_json(self) -> dict[str, Json]:
        """All of it, for programs and for the ledger; shares are of 1."""
        alone, again, *packed = self.runs
        return {
            "schema": self.schema,
            "model": self.model,
            "simulated": self.simulated,
            "blocks": self.blocks,
            "available": self.available,
            "seed": self.spec.seed,
            "tolerance": self.spec.tolerance,
            "cost_micro_dollars": self.cost,
            "alone": {"run": alone, **_spent_json(self.alone)},
            "again": {"run": again, **_spent_json(self.again), **_comparison_json(self.noise)},
            "sizes": [
                {
                    "size": trial.size,
                    "run": run,
                    **_spent_json(trial.spend),
                    **_comparison_json(trial.comparison),
                    "noise": _rate_json(trial.comparison.noise),
                    "excess": _excess_json(trial.comparison.excess),
                    "finding": self.verdict(trial).value,
                }
                for run, trial in zip(packed, self.trials, strict=True)
            ],
            "recommended": self.size,
            "finding": self.recommended.parity.value,
            "blocks_to_be_sure": self.recommended.blocks_to_be_sure,
        }


def make_report(
    ledger: Ledger, order: Order, spec: ProbeSpec, available: int, finished: Sequence[ProbeRun]
) -> ProbeReport:
    """Compare the answers of a probe's runs: alone, alone again, then packed."""
    answers = [_answers(ledger, run.progress.run_id) for run in finished]
    spent = [
        _spending(run.progress, _largest_call(ledger, run.progress.run_id)) for run in finished
    ]
    trials = tuple(
        Trial(size=run.size, spend=took, comparison=compare_answers(answers[0], answers[1], said))
        for run, took, said in zip(finished[2:], spent[2:], answers[2:], strict=True)
    )
    return ProbeReport(
        schema=order.recipe.stages[0].record.ref,
        model=order.facts.name,
        simulated=order.facts.provider == "simulated",
        spec=spec,
        blocks=len(answers[0]),
        available=available,
        alone=spent[0],
        again=spent[1],
        noise=compare_answers(answers[0], answers[1], answers[1]),
        trials=trials,
        recommended=recommend(spent[0], trials, spec.tolerance),
        runs=tuple(run.progress.run_id for run in finished),
    )


def _answers(ledger: Ledger, run: RunId) -> Answers:
    with ledger.snapshot() as tx:
        return {row.block_uid: stored_json(row.data) for row in run_block_rows(tx, run)}


def _largest_call(ledger: Ledger, run: RunId) -> int:
    """Blocks in the fullest of a run's first calls; those that go again are never fuller."""
    with ledger.snapshot() as tx:
        return max(
            (request.tasks for request in tx.views.list_requests(run, 0, MOST_REQUESTS)), default=0
        )


def _spending(now: Progress, largest: int) -> ProbeSpend:
    return ProbeSpend(
        blocks=now.total,
        calls=now.calls,
        blocks_per_call=round(now.packed_tasks / now.packs, 2) if now.packs else 0.0,
        largest_call=largest,
        input_tokens=now.input_tokens,
        output_tokens=now.output_tokens,
        cost=now.cost + now.presumed,
    )


def _spent_json(spent: ProbeSpend) -> dict[str, Json]:
    return {
        "calls": spent.calls,
        "blocks_per_call": spent.blocks_per_call,
        "largest_call": spent.largest_call,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_micro_dollars": spent.cost,
        "micro_dollars_per_1000_blocks": round(spent.cost_per_thousand),
    }


def _comparison_json(compared: Comparison) -> dict[str, Json]:
    return {
        "mismatched_fields": _rate_json(compared.fields),
        "mismatched_blocks": _rate_json(compared.blocks),
        "unanswered": compared.unanswered,
        "by_field": dict(compared.by_field),
    }


def _rate_json(rate: ShareEstimate) -> dict[str, Json]:
    return {"of": rate.of, "count": rate.hits, **_interval_json(rate.share, rate.low, rate.high)}


def _excess_json(excess: Excess) -> dict[str, Json]:
    return _interval_json(*excess)


def _interval_json(share: float, low: float, high: float) -> dict[str, Json]:
    return {"share": round(share, 6), "low": round(low, 6), "high": round(high, 6)}
