"""Rehearsing a job: the real documents, schema and model, before a server that costs nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

from quire.accounts.vendors import IN_THIS_PROCESS, variables_of
from quire.dispatch.outside import Outside
from quire.domain.data import Json
from quire.domain.documents import Block, Document
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId, RunId, WorkspaceId
from quire.domain.models import ModelFacts, Usage
from quire.domain.money import cost
from quire.domain.recipes import Schema
from quire.domain.runs import Progress
from quire.engine.engine import Engine
from quire.engine.looking import FailureGroup
from quire.engine.ordering import Ask, ask, find_schema, keep_schema, read_schema_source
from quire.engine.probed import SOURCE, keep_finding, with_probed_size
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.ingest import ingest
from quire.plan.forecasting import Forecast
from quire.providers.catalog import CATALOG
from quire.providers.registry import Providers
from quire.rehearsal.counting import Entry
from quire.rehearsal.thread import Rehearsing, rehearsing
from quire.settings import Settings

POLL = 0.25  # seconds between looks at a batch: this server does not mind
ANY_KEY = "rehearsal-0000-0000"  # made up: a real one is never used
OF_MODEL = "model"  # as a limit: what is known of the model's own

_REPLACED = ("base_url", "key_env", "key_file")  # of a provider's table

Drive = Callable[[Engine, RunId], bool]  # works until the run is at rest; true: interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What is to be rehearsed, and what is to go wrong."""

    schema: str  # a kept schema's name, or a file
    model: str | None = None
    documents: Sequence[DocumentId] | None = None  # None: all of them
    sample: int | None = None  # blocks, spread evenly; None: all of them
    policy: Mapping[str, Json] = field(default_factory=dict)
    scene: Mapping[str, Any] = field(default_factory=dict)  # the server's: faults, latency, limit…


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What a job came to."""

    model: str
    schema: str
    all_blocks: int  # of the documents, sampled or not
    seconds: float
    interrupted: bool
    progress: Progress
    forecast: Forecast
    usage: Usage  # all that the server would bill
    billed: int  # micro-dollars, by the catalog
    failures: tuple[FailureGroup, ...]
    seen: Mapping[str, Any]  # what the server counted

    @property
    def whole(self) -> int:
        """What all blocks would cost at the price of those that were rehearsed."""
        ended = self.progress.done + self.progress.failed
        return self.billed * self.all_blocks // ended if ended else 0


def rehearse(engine: Engine, part: Part, drive: Drive, outside: Outside | None = None) -> Rehearsed:
    """Carry a job out in a throw-away copy, before a server in this process.

    The engine's own ledger is only read; neither the provider's keys nor proxies are used.
    """
    schema = _schema(engine, part.schema)
    asked = with_probed_size(engine.ledger, ask(engine.settings, schema, part.model, part.policy))
    facts = asked.facts
    _refuse_senseless(facts)
    scene = {**part.scene, "limit": _limit(str(part.scene.get("limit", "")), facts)}
    with (
        TemporaryDirectory(prefix="quire-rehearsal-") as folder,
        rehearsing(models={**CATALOG, facts.name: facts}, **scene) as server,
        _stage(engine, facts, server.url, Path(folder), outside) as stage,
    ):
        copied = copy(engine.ledger, stage.ledger, part, schema)
        _copy_finding(stage.ledger, asked)
        told = _carry_out(stage, server, asked, part, drive)
        return replace(told, all_blocks=copied.found)


def _carry_out(
    stage: Engine, server: Rehearsing, asked: Ask, part: Part, drive: Drive
) -> Rehearsed:
    facts, schema = asked.facts, asked.recipe.stages[0].record
    order: dict[str, Any] = {"schema": schema, "model": facts.name, **part.policy}
    forecast = stage.plan(**order).forecast
    run = stage.run(**order)
    began = monotonic()
    interrupted = drive(stage, run.id)
    seconds = monotonic() - began
    bill = _bill(server.entries(), facts)
    return Rehearsed(
        model=facts.name,
        schema=schema.ref,
        all_blocks=forecast.tasks,
        seconds=seconds,
        interrupted=interrupted,
        progress=run.progress(),
        forecast=forecast,
        usage=bill.usage,
        billed=bill.cost,
        failures=tuple(stage.look.failures(run.id)),
        seen=server.stats(),
    )


def redirected(settings: Settings, facts: ModelFacts, url: str, folder: Path) -> Settings:
    """The same settings, but a provider is found at another place, and a made-up key is used."""
    key = folder / "key"
    key.write_text(ANY_KEY)
    told = settings.providers.get(facts.provider, {})
    table: dict[str, Json] = {
        **({"project": "rehearsal"} if facts.provider == "vertex" else {}),
        **{name: value for name, value in told.items() if name not in _REPLACED},
        "base_url": url,
        "key_file": str(key),
    }
    models = dict(settings.models)
    if facts.wire.url:  # it has a place of its own, which would win
        models[facts.name] = {**models.get(facts.name, {}), "url": url}
    return replace(
        settings,
        ledger=str(folder / "rehearsal.db"),
        durable=False,
        poll=POLL,
        providers={**settings.providers, facts.provider: table},
        models=models,
    )


class Copied(NamedTuple):
    """How much there was, and how much of it was taken."""

    found: int  # blocks
    taken: int


def copy(source: Ledger, target: Ledger, part: Part, schema: Schema) -> Copied:
    """Take documents and a schema into another ledger, under the same names."""
    now = Outside().now()
    with target.transaction() as tx:
        if keep_schema(tx, schema) is None:
            tx.schemas.add(schema, now)
    with source.snapshot() as read:
        wanted = _wanted(read.documents.all(), part.documents)
        found = sum(each.conv_total_blocks for each in wanted)
        sample = found if part.sample is None else min(part.sample, found)
        if not found:
            raise UsageError("there is nothing to rehearse: `quire ingest` documents first")
        first = 0
        for document in wanted:
            parsed = read.copies.parsed(document)
            last = first + document.conv_total_blocks
            if _share(last, sample, found) > _share(first, sample, found):
                blocks = _thinned(parsed.blocks, first, sample, found)
                with target.transaction() as tx:
                    ingest(tx, replace(parsed, blocks=blocks), now)
            first = last
    return Copied(found, sample)


def _copy_finding(target: Ledger, asked: Ask) -> None:
    """Let the rehearsed run take the pack size that a probe found for the real one."""
    size = asked.policy.policy.pack_size
    if size is not None and asked.policy.sources.get("pack_size") == SOURCE:
        keep_finding(target, asked, size, {}, Outside().now())


def _share(blocks: int, sample: int, found: int) -> int:
    """How many of the first so many blocks are in the sample; rounded up, so the first one is."""
    return -(-blocks * sample // found)


def _thinned(blocks: Iterable[Block], first: int, sample: int, found: int) -> Iterator[Block]:
    """Every so many-th block, counted over all documents."""
    for number, block in zip(count(first), blocks):
        if _share(number + 1, sample, found) > _share(number, sample, found):
            yield block


def _wanted(documents: list[Document], chosen: Sequence[DocumentId] | None) -> list[Document]:
    return [each for each in documents if chosen is None or each.id in chosen]


def _schema(engine: Engine, name: str) -> Schema:
    """A kept schema, or one in a file, which is not kept on the way."""
    if Path(name).is_file():
        return read_schema_source(name, None)
    with engine.ledger.snapshot() as tx:
        return find_schema(tx, name)


def _refuse_senseless(facts: ModelFacts) -> None:
    if facts.provider == "simulated":
        raise UsageError(
            f"{facts.name} is a rehearsal already: `quire run` with it costs nothing; give --model"
            " the model that the real run is for"
        )
    if facts.provider in IN_THIS_PROCESS:
        raise UsageError(
            f"{facts.name} answers on this machine and costs nothing: `quire run --limit 20` tries"
            " the real one"
        )


def _limit(told: str, facts: ModelFacts) -> str:
    if told != OF_MODEL:
        return told
    known = {name: size for name, size in asdict(facts.limits).items() if size is not None}
    if not known:
        raise UsageError(
            f"nothing is known of the limits of {facts.name}; write them, for example"
            " --limit-profile requests=500,input=200000"
        )
    return ",".join(f"{name}={size}" for name, size in known.items())


@contextmanager
def _stage(
    engine: Engine, facts: ModelFacts, url: str, folder: Path, outside: Outside | None
) -> Iterator[Engine]:
    """An engine like this one that knows nothing of the real world but its settings."""
    settings = redirected(engine.settings, facts, url, folder)
    workspace = WorkspaceId(settings.workspace)
    ledger = open_ledger(settings.ledger, workspace=workspace, durable=False)
    with Engine(settings, ledger, outside, _without_keys(engine, facts.provider)) as made:
        made.providers = Providers(settings.faults, proxied=False)  # none could reach our server
        yield made


def _without_keys(engine: Engine, provider: str) -> dict[str, str]:
    """An engine's environment as if nobody had put a key of this provider into it."""
    named = engine.settings.providers.get(provider, {}).get("key_env")
    hidden = {*variables_of(provider), *([named] if isinstance(named, str) else [])}
    return {name: value for name, value in engine.environment.items() if name not in hidden}


class _Bill(NamedTuple):
    usage: Usage
    cost: int


def _bill(entries: Iterable[Entry], facts: ModelFacts) -> _Bill:
    """What all calls that were carried out add up to, also those whose answers got lost."""
    sums = Usage()._asdict()
    total = 0
    for each in (entry for entry in entries if entry.usage is not None):
        usage = each.usage or Usage()
        batch = facts.batch_price_at(usage.input_total) if each.route == "batch" else None
        total += cost(usage, batch or facts.price_at(usage.input_total))
        for name, tokens in usage._asdict().items():
            sums[name] += tokens
    return _Bill(Usage(**sums), total)
