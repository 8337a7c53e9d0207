"""Probes: sampled blocks asked alone, alone again and packed; how answers differ, what follows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quire.domain.data import Json, stored_json
from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.pricing import to_usd
from quire.domain.reasons import HoldKind
from quire.domain.runs import Progress
from quire.domain.states import RunState
from quire.engine.engine import Engine
from quire.engine.kept_schemas import SchemaSource
from quire.engine.library import Documents
from quire.engine.orders import PROBE_SOURCE, store_probe_result
from quire.export.result_rows import run_block_rows
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.answers.progress import is_at_rest
from quire.pipeline.commands.start import BlockSample, Order, run_key
from quire.planning.job_forecasts import Variant, forecast
from quire.planning.pack_probe import (
    Answers,
    Comparison,
    DocumentBlocks,
    Parity,
    ProbeSpend,
    Recommendation,
    Trial,
    blocks_to_draw,
    compare_answers,
    draw_blocks,
    largest_content,
    recommend,
    untried_sizes,
)
from quire.planning.share_estimates import Excess, ShareEstimate
from quire.planning.sizing import LARGEST_PROBED_PACK, pack_cap


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
        """What the probe is known to have cost, in picodollars."""
        return sum(spend.cost for spend in self._spending_of_all) - self.presumed_cost

    @property
    def presumed_cost(self) -> int:
        """What may come on top: of calls whose outcome or usage is unknown."""
        return sum(spend.presumed for spend in self._spending_of_all)

    @property
    def _spending_of_all(self) -> list[ProbeSpend]:
        return [self.alone, self.again, *(trial.spend for trial in self.trials)]

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
            "cost_usd": to_usd(self.cost),
            "presumed_usd": to_usd(self.presumed_cost),
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
        schema=order.recipe.stages[0].record.label,
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
        cost=now.cost_pico + now.presumed_pico,
        presumed=now.presumed_pico,
    )


def _spent_json(spent: ProbeSpend) -> dict[str, Json]:
    return {
        "calls": spent.calls,
        "blocks_per_call": spent.blocks_per_call,
        "largest_call": spent.largest_call,
        "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens,
        "cost_usd": to_usd(spent.cost - spent.presumed),
        "presumed_usd": to_usd(spent.presumed),
        "usd_per_1000_blocks": to_usd(round(spent.cost_per_thousand)),
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


class ProbeTurn(NamedTuple):
    """One run of a probe, before it is made."""

    size: int
    turn: int  # 2: alone, once more
    forecast: Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """A probe before anything of it is spent."""

    spec: ProbeSpec
    order: Order
    inputs: tuple[tuple[DocumentId, str], ...]  # the documents of which blocks were drawn
    blocks: tuple[tuple[int, int], ...]  # ordinal of the document, index of the block
    available: int  # blocks that could have been drawn
    turns: tuple[ProbeTurn, ...]  # alone, alone again, then packed, from small to large

    def untried_sizes(self) -> dict[int, str]:
        """Sizes that were asked for and are not tried, each with the reason."""
        stage, policy = self.order.recipe.stages[0], self.order.policy.policy
        caps = {size: pack_cap(stage, replace(policy, pack_size=size)) for size in self.spec.sizes}
        return untried_sizes(caps, {turn.size for turn in self.turns}, len(self.blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOutcome:
    """What became of a probe: a report, or the run that it waits for."""

    report: ProbeReport | None
    stopped: Progress | None = None


class _SampledBlocks(NamedTuple):
    inputs: tuple[tuple[DocumentId, str], ...]
    blocks: tuple[tuple[int, int], ...]
    sizes: list[int]  # of the blocks' contents as JSON
    available: int


def probe(
    engine: Engine,
    spec: ProbeSpec,
    *,
    schema: SchemaSource,
    model: str | None = None,
    over: Documents | None = None,
    **policy: Json,
) -> ProbeReport:
    """Find out how many blocks may share a call; asked again, it pays nothing twice."""
    planned = plan_probe(engine, spec, schema=schema, model=model, over=over, **policy)
    probed = run_probe(engine, planned, lambda _turn, run: engine.drive(run))
    if probed.report is None:
        assert probed.stopped is not None
        raise Conflict(stop_reason(probed.stopped))
    return probed.report


def plan_probe(
    engine: Engine,
    spec: ProbeSpec,
    *,
    schema: SchemaSource,
    model: str | None = None,
    over: Documents | None = None,
    **policy: Json,
) -> ProbePlan:
    """Draw the sample and say what the probe will cost; spends nothing."""
    alone: dict[str, Json] = {**policy, "pack_size": 1, "packing": True, "reuse": False}
    order = engine.orders.resolve(schema=schema, model=model, over=over, policy=alone)
    with engine.ledger.snapshot() as tx:
        sampled = _sample(tx, order, spec)
    turns = _turns(order, sampled, spec.sizes)
    return ProbePlan(
        spec=spec,
        order=order,
        inputs=sampled.inputs,
        blocks=sampled.blocks,
        available=sampled.available,
        turns=turns,
    )


def run_probe(
    engine: Engine, planned: ProbePlan, drive: Callable[[ProbeTurn, RunId], Progress]
) -> ProbeOutcome:
    """Make the probe's runs one after the other, or go on with them, and compare their answers.

    A run that is held stops the probe, but for too many failures in packs: that is a finding.
    """
    finished: list[ProbeRun] = []
    for turn in planned.turns:
        run = _start_turn(engine, planned, turn)
        now = engine.progress(run)
        if not is_at_rest(now):
            now = drive(turn, run)
        if not _is_over(now, turn):
            return ProbeOutcome(report=None, stopped=now)
        finished.append(ProbeRun(turn.size, turn.turn, now))
    report = make_report(engine.ledger, planned.order, planned.spec, planned.available, finished)
    store_probe_result(
        engine.ledger, planned.order, report.size, report.as_json(), engine.runtime.now()
    )
    return ProbeOutcome(report=report)


def unfinished_turns(engine: Engine, planned: ProbePlan) -> list[ProbeTurn]:
    """The runs of a probe that still cost something; those that are done are not made again."""
    with engine.ledger.snapshot() as tx:
        known = [
            tx.runs.newest_run_of_key(run_key(_turn_order(planned, turn)), planned.order.person)
            for turn in planned.turns
        ]
        runs = [None if run is None else tx.runs.get_run(run) for run in known]
    return [
        turn
        for turn, run in zip(planned.turns, runs, strict=True)
        if run is None or run.state != RunState.FINISHED
    ]


def stop_reason(now: Progress) -> str:
    """Say which run a probe waits for, and how it goes on."""
    run = now.run_id
    if now.state == RunState.CANCELLED:
        return f"run {run} of the probe was cancelled; the same probe asks its questions again"
    for hold in now.holds:
        return (
            f"run {run} of the probe is held ({hold.kind.value}): {hold.detail};"
            f" then `quire resume {run}` and the same probe go on"
        )
    return f"run {run} of the probe is not at its end; the same probe goes on"


def _sample(tx: Transaction, order: Order, spec: ProbeSpec) -> _SampledBlocks:
    """Draw blocks of the documents; a block that fits no call cannot be asked about at all."""
    most = largest_content(order.recipe.stages[0], order.facts, order.policy.policy)
    uids = dict(order.inputs)
    counted = tx.documents.count_fitting_blocks([*uids], most)
    countable = [DocumentBlocks(uids[document], count) for document, count in counted]
    share = blocks_to_draw(countable, spec.sample, spec.seed)
    inputs: list[tuple[DocumentId, str]] = []
    blocks: list[tuple[int, int]] = []
    sizes: list[int] = []
    for document, _ in counted:
        uid = uids[document]
        if share[uid]:
            drawn = draw_blocks(
                uid, tx.documents.fitting_blocks(document, most), share[uid], spec.seed
            )
            blocks += [(len(inputs), block.block_index) for block in drawn]
            sizes += [block.json_bytes for block in drawn]
            inputs.append((document, uid))
    if not blocks:
        raise UsageError(f"there is nothing to probe: no block fits a call to {order.facts.name}")
    return _SampledBlocks(
        tuple(inputs),
        tuple(blocks),
        sizes,
        sum(document_blocks.blocks for document_blocks in countable),
    )


def _turns(order: Order, sampled: _SampledBlocks, sizes: Sequence[int]) -> tuple[ProbeTurn, ...]:
    """The runs of a probe; a size that makes no fewer calls than a smaller one is left out.

    It would be paid for and show nothing: the schema, the window or the sample bind first.
    """
    stage, facts, policy = order.recipe.stages[0], order.facts, order.policy.policy

    def forecast_of(size: int) -> Variant:
        return forecast(sampled.sizes, stage, facts, replace(policy, pack_size=size)).expected

    alone = forecast_of(1)
    turns = [ProbeTurn(1, 1, alone), ProbeTurn(1, 2, alone)]
    caps = {pack_cap(stage, replace(policy, pack_size=size)) for size in sizes}
    for size in sorted({min(cap, len(sampled.blocks)) for cap in caps} - {1}):
        packed = forecast_of(size)
        if packed.requests < turns[-1].forecast.requests:
            turns.append(ProbeTurn(size, 1, packed))
    if len(turns) == 2:
        raise UsageError(f"there is nothing to probe: {_no_turns_reason(order, sampled)}")
    return tuple(turns)


def _no_turns_reason(order: Order, sampled: _SampledBlocks) -> str:
    if len(sampled.blocks) == 1:
        return "there is only one block to ask about"
    if order.recipe.stages[0].max_batch_size == 1:
        return "the schema's max_batch_size is 1"
    return f"no two of these blocks fit one call to {order.facts.name}"


def _start_turn(engine: Engine, planned: ProbePlan, turn: ProbeTurn) -> RunId:
    return engine.orders.start(_turn_order(planned, turn)).run_id


def _turn_order(planned: ProbePlan, turn: ProbeTurn) -> Order:
    return replace(
        planned.order,
        policy=planned.order.policy.with_pack_size(turn.size, PROBE_SOURCE),
        inputs=planned.inputs,
        sample=BlockSample(planned.blocks, turn.turn),
    )


def _is_over(now: Progress, turn: ProbeTurn) -> bool:
    if now.state == RunState.RUNNING:
        held = {hold.kind for hold in now.holds}
        return turn.size > 1 and held == {HoldKind.FAILURES}
    return now.state == RunState.FINISHED
