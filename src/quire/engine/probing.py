"""Probing: a sample of blocks asked alone, alone again and packed, and what that showed."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from quire.dispatch.outside import Outside
from quire.domain.data import Json
from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import DocumentId, RunId
from quire.domain.runs import HoldKind, Progress
from quire.engine.ordering import Ask
from quire.engine.probed import SOURCE, keep_finding
from quire.engine.reporting import Carried, Probing, Report, make_report
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.progress import at_rest
from quire.pipeline.start import Order, Sample, run_key, start
from quire.plan.forecasting import Variant, forecast
from quire.plan.sampling import Countable, draw, largest_content, shares
from quire.plan.sizing import pack_cap


class Planned(Protocol):
    """What a plan tells a probe."""

    @property
    def ask(self) -> Ask: ...


class Host(Protocol):
    """What a probe needs of its engine."""

    ledger: Ledger
    _outside: Outside

    def plan(self, *, schema: Any, model: str | None, over: Any, **policy: Json) -> Planned: ...
    def progress(self, run: RunId, /) -> Progress: ...
    def drive(self, run: RunId, watch: Callable[[Progress], None] | None = None, /) -> Progress: ...


class Turn(NamedTuple):
    """One run of a probe, before it is made."""

    size: int
    turn: int  # 2: alone, once more
    forecast: Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedProbe:
    """A probe before anything of it is spent."""

    probing: Probing
    ask: Ask
    inputs: tuple[tuple[DocumentId, str], ...]  # the documents of which blocks were drawn
    blocks: tuple[tuple[int, int], ...]  # ordinal of the document, index of the block
    available: int  # blocks that could have been drawn
    turns: tuple[Turn, ...]  # alone, alone again, then packed, from small to large


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What became of a probe: a report, or the run that it waits for."""

    report: Report | None
    stopped: Progress | None = None


class _Sampled(NamedTuple):
    inputs: tuple[tuple[DocumentId, str], ...]
    blocks: tuple[tuple[int, int], ...]
    sizes: list[int]  # of the blocks' contents as JSON
    available: int


def probe(
    engine: Host,
    probing: Probing,
    *,
    schema: Any,
    model: str | None = None,
    over: Iterable[DocumentId] | None = None,
    **policy: Json,
) -> Report:
    """Find out how many blocks may share a call; asked again, it pays nothing twice."""
    planned = plan_probe(engine, probing, schema=schema, model=model, over=over, **policy)
    probed = carry_out(engine, planned, lambda _turn, run: engine.drive(run))
    if probed.report is None:
        assert probed.stopped is not None
        raise Conflict(why_stopped(probed.stopped))
    return probed.report


def plan_probe(
    engine: Host,
    probing: Probing,
    *,
    schema: Any,
    model: str | None = None,
    over: Iterable[DocumentId] | None = None,
    **policy: Json,
) -> PlannedProbe:
    """Draw the sample and say what the probe will cost; spends nothing."""
    wanted = None if over is None else list(over)
    alone: dict[str, Json] = {**policy, "pack_size": 1, "packing": True}
    asked = engine.plan(schema=schema, model=model, over=wanted, **alone).ask
    with engine.ledger.snapshot() as tx:
        names = [each for each in tx.documents.names() if wanted is None or each[0] in wanted]
        sampled = _sample(tx, names, asked, probing)
    turns = _turns(asked, sampled, probing.sizes)
    return PlannedProbe(
        probing=probing,
        ask=asked,
        inputs=sampled.inputs,
        blocks=sampled.blocks,
        available=sampled.available,
        turns=turns,
    )


def carry_out(
    engine: Host, planned: PlannedProbe, drive: Callable[[Turn, RunId], Progress]
) -> Probed:
    """Make the probe's runs one after the other, or go on with them, and compare their answers.

    A run that is held stops the probe, but for too many failures in packs: that is a finding.
    """
    carried: list[Carried] = []
    for turn in planned.turns:
        run = _start(engine, planned, turn)
        now = engine.progress(run)
        if not at_rest(now):
            now = drive(turn, run)
        if not _over(now, turn):
            return Probed(report=None, stopped=now)
        carried.append(Carried(turn.size, turn.turn, now))
    report = make_report(engine.ledger, planned.ask, planned.probing, planned.available, carried)
    keep_finding(engine.ledger, planned.ask, report.size, report.as_json(), engine._outside.now())
    return Probed(report=report)


def owed(engine: Host, planned: PlannedProbe) -> list[Turn]:
    """The runs of a probe that still cost something; those that are done are not made again."""
    with engine.ledger.snapshot() as tx:
        known = [tx.runs.newest_of(run_key(_order(planned, turn))) for turn in planned.turns]
        runs = [None if run is None else tx.runs.get(run) for run in known]
    return [
        turn
        for turn, run in zip(planned.turns, runs, strict=True)
        if run is None or run.state != "finished"
    ]


def why_stopped(now: Progress) -> str:
    """Say which run a probe waits for, and how it goes on."""
    run = now.run_id
    if now.state == "cancelled":
        return f"run {run} of the probe was cancelled; the same probe asks its questions again"
    for hold in now.holds:
        return (
            f"run {run} of the probe is held ({hold.kind.value}): {hold.detail};"
            f" then `quire resume {run}` and the same probe go on"
        )
    return f"run {run} of the probe is not at its end; the same probe goes on"


def _sample(
    tx: Transaction, names: Sequence[tuple[DocumentId, str]], asked: Ask, probing: Probing
) -> _Sampled:
    """Draw blocks of the documents; a block that fits no call cannot be asked about at all."""
    most = largest_content(asked.recipe.stages[0], asked.facts, asked.policy.policy)
    uids = dict(names)
    counted = tx.documents.count_fitting([*uids], most)
    countable = [Countable(uids[document], count) for document, count in counted]
    share = shares(countable, probing.sample, probing.seed)
    inputs: list[tuple[DocumentId, str]] = []
    blocks: list[tuple[int, int]] = []
    sizes: list[int] = []
    for document, _ in counted:
        uid = uids[document]
        if share[uid]:
            drawn = draw(uid, tx.documents.fitting(document, most), share[uid], probing.seed)
            blocks += [(len(inputs), each.block_index) for each in drawn]
            sizes += [each.json_bytes for each in drawn]
            inputs.append((document, uid))
    if not blocks:
        raise UsageError(f"there is nothing to probe: no block fits a call to {asked.facts.name}")
    return _Sampled(tuple(inputs), tuple(blocks), sizes, sum(each.blocks for each in countable))


def _turns(asked: Ask, sampled: _Sampled, sizes: Sequence[int]) -> tuple[Turn, ...]:
    """The runs of a probe; a size that makes no fewer calls than a smaller one is left out.

    It would be paid for and show nothing: the schema, the window or the sample bind first.
    """
    stage, facts, policy = asked.recipe.stages[0], asked.facts, asked.policy.policy

    def forecast_of(size: int) -> Variant:
        return forecast(sampled.sizes, stage, facts, replace(policy, pack_size=size)).expected

    alone = forecast_of(1)
    turns = [Turn(1, 1, alone), Turn(1, 2, alone)]
    caps = {pack_cap(stage, replace(policy, pack_size=size)) for size in sizes}
    for size in sorted({min(cap, len(sampled.blocks)) for cap in caps} - {1}):
        packed = forecast_of(size)
        if packed.requests < turns[-1].forecast.requests:
            turns.append(Turn(size, 1, packed))
    if len(turns) == 2:
        raise UsageError(f"there is nothing to probe: {_why_not(asked, sampled)}")
    return tuple(turns)


def _why_not(asked: Ask, sampled: _Sampled) -> str:
    if len(sampled.blocks) == 1:
        return "there is only one block to ask about"
    if asked.recipe.stages[0].max_batch_size == 1:
        return "the schema's max_batch_size is 1"
    return f"no two of these blocks fit one call to {asked.facts.name}"


def _start(engine: Host, planned: PlannedProbe, turn: Turn) -> RunId:
    with engine.ledger.transaction() as tx:
        return start(tx, _order(planned, turn), engine._outside.now()).run_id


def _order(planned: PlannedProbe, turn: Turn) -> Order:
    return Order(
        recipe=planned.ask.recipe,
        facts=planned.ask.facts,
        policy=planned.ask.policy.with_pack_size(turn.size, SOURCE),
        inputs=planned.inputs,
        sample=Sample(planned.blocks, turn.turn),
    )


def _over(now: Progress, turn: Turn) -> bool:
    if now.state == "running":
        held = {hold.kind for hold in now.holds}
        return turn.size > 1 and held == {HoldKind.FAILURES}
    return now.state == "finished"
