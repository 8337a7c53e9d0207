"""Rehearsals: the real documents, schema and model, with a server that costs nothing."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, NamedTuple

from quire.accounts.key_search import variables_of
from quire.dispatch.runtime import Runtime
from quire.domain.data import Json
from quire.domain.documents import Block
from quire.domain.errors import UsageError
from quire.domain.ids import DocumentId, RunId, WorkspaceId
from quire.domain.models import ModelFacts, Usage
from quire.domain.pricing import price_call
from quire.domain.recipes import Schema
from quire.domain.runs import BATCH, Progress
from quire.engine.context import make_context
from quire.engine.engine import Engine
from quire.engine.kept_schemas import find_same_schema, read_schema_source
from quire.engine.orders import PROBE_SOURCE, resolve_order, store_probe_result, with_probed_size
from quire.engine.queries import FailureGroup, RunHead
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.commands.corpus import ingest
from quire.pipeline.commands.start import Order
from quire.planning.variants import Forecast
from quire.providers.catalog import CATALOG
from quire.providers.provider_registry import Providers
from quire.providers.vendors import vendor_facts
from quire.recipes.user_schemas import EVERY_BLOCK, Per, parse_per
from quire.rehearsal.request_log import LogEntry
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from quire.settings import Settings

POLL = 0.25  # seconds between looks at a batch: this server does not mind
ANY_KEY = "rehearsal-0000-0000"  # made up: a real one is never used
OF_MODEL = "model"  # as a limit: what is known of the model's own

_REPLACED = ("base_url", "key_env", "key_file")  # of a provider's table

Drive = Callable[[Engine, RunId], bool]  # works until the run is at rest; true: interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalSpec:
    """What is to be rehearsed, and what is to go wrong."""

    schema: str  # a kept schema's name, or a file
    model: str | None = None
    documents: Sequence[DocumentId] | None = None  # None: all of them
    sample: int | None = None  # blocks, spread evenly; None: all of them
    per: str | None = None  # what one record is of; None: a block
    policy: Mapping[str, Json] = field(default_factory=dict)
    server_config: Mapping[str, Any] = field(
        default_factory=dict
    )  # the server's: faults, latency, limit…


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalResult:
    """What a job came to."""

    model: str
    schema: str
    all_blocks: int  # of the documents, sampled or not
    seconds: float
    interrupted: bool
    head: RunHead
    progress: Progress
    forecast: Forecast
    usage: Usage  # all that the server would bill
    billed: int  # picodollars, by the catalog
    failures: tuple[FailureGroup, ...]
    server_stats: Mapping[str, Any]  # what the server counted

    @property
    def projected_cost(self) -> int:
        """What all blocks would cost at the price of those that were rehearsed."""
        ended = self.progress.done + self.progress.failed
        return self.billed * self.all_blocks // ended if ended else 0


def rehearse(
    engine: Engine, spec: RehearsalSpec, drive: Drive, runtime: Runtime | None = None
) -> RehearsalResult:
    """Carry a job out in a throw-away copy, before a server in this process.

    The engine's own ledger is only read; neither the provider's keys nor proxies are used.
    """
    schema = _find_schema_source(engine, spec.schema)
    order = with_probed_size(
        engine.ledger,
        resolve_order(engine.settings, schema, spec.model, spec.policy, per=_unit(spec)),
    )
    facts = order.facts
    _refuse_senseless(facts)
    server_config = {
        **spec.server_config,
        "limit": _limit_profile(str(spec.server_config.get("limit", "")), facts),
    }
    with (
        TemporaryDirectory(prefix="quire-rehearsal-") as folder,
        rehearsal_server(models={**CATALOG, facts.name: facts}, **server_config) as server,
        _sandbox_engine(engine, facts, server.url, Path(folder), runtime) as sandbox,
    ):
        copied = copy_inputs(engine.ledger, sandbox.ledger, spec, schema)
        _copy_probe_result(sandbox.ledger, order)
        result = _run_job(sandbox, server, order, spec, drive)
        return result if spec.per else replace(result, all_blocks=copied.found)


def _unit(spec: RehearsalSpec) -> Per:
    """What one record is of; single blocks are no sample of documents."""
    if spec.per is None:
        return EVERY_BLOCK
    if spec.sample is not None:
        raise UsageError("--sample takes blocks; with --per, --document takes some documents")
    return parse_per(spec.per)


def _run_job(
    sandbox: Engine, server: RehearsalThread, order: Order, spec: RehearsalSpec, drive: Drive
) -> RehearsalResult:
    facts, schema = order.facts, order.recipe.stages[0].record
    resolved = sandbox.orders.resolve(
        schema=schema, model=facts.name, per=spec.per, policy=spec.policy
    )
    forecast = sandbox.forecasts.plan(resolved).forecast
    run = sandbox.start(resolved)
    began = monotonic()
    interrupted = drive(sandbox, run.id)
    seconds = monotonic() - began
    bill = _bill(server.entries(), facts)
    return RehearsalResult(
        model=facts.name,
        schema=schema.label,
        all_blocks=forecast.tasks,
        seconds=seconds,
        interrupted=interrupted,
        head=sandbox.queries.head(run.id),
        progress=run.progress(),
        forecast=forecast,
        usage=bill.usage,
        billed=bill.cost,
        failures=tuple(sandbox.queries.failures(run.id)),
        server_stats=server.stats(),
    )


def redirect_settings(settings: Settings, facts: ModelFacts, url: str, folder: Path) -> Settings:
    """The same settings, but a provider is found at another place, and a made-up key is used."""
    key = folder / "key"
    key.write_text(ANY_KEY)
    given = settings.providers.get(facts.provider, {})
    table: dict[str, Json] = {
        **({"project": "rehearsal"} if facts.provider == "vertex" else {}),
        **{name: value for name, value in given.items() if name not in _REPLACED},
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


class CopyCounts(NamedTuple):
    """How much there was, and how much of it was taken."""

    found: int  # blocks
    taken: int


def copy_inputs(source: Ledger, target: Ledger, spec: RehearsalSpec, schema: Schema) -> CopyCounts:
    """Take documents and a schema into another ledger, under the same names."""
    now = Runtime().now()
    with target.transaction() as tx:
        if tx.schemas.schema_by_uid(schema.uid) is None:
            tx.schemas.add_schema(schema, now)
    with source.snapshot() as read:
        chosen = read.documents.usual_documents() if spec.documents is None else spec.documents
        wanted = [item for item in read.documents.list_documents() if item.id in chosen]
        found = sum(item.conv_total_blocks for item in wanted)
        sample = found if spec.sample is None else min(spec.sample, found)
        if not found:
            raise UsageError("there is nothing to rehearse: `quire ingest` documents first")
        first = 0
        for document in wanted:
            parsed = read.documents.copy_document(document)
            last = first + document.conv_total_blocks
            if _sample_share(last, sample, found) > _sample_share(first, sample, found):
                blocks = _thin_blocks(parsed.blocks, first, sample, found)
                with target.transaction() as tx:
                    ingest(tx, replace(parsed, blocks=blocks), now, keep=True)
            first = last
    return CopyCounts(found, sample)


def _copy_probe_result(target: Ledger, order: Order) -> None:
    """Let the rehearsed run take the pack size that a probe found for the real one."""
    size = order.policy.policy.pack_size
    if size is not None and order.policy.sources.get("pack_size") == PROBE_SOURCE:
        store_probe_result(target, order, size, {}, Runtime().now())


def _sample_share(blocks: int, sample: int, found: int) -> int:
    """How many of the first so many blocks are in the sample; rounded up, so the first one is."""
    return -(-blocks * sample // found)


def _thin_blocks(blocks: Iterable[Block], first: int, sample: int, found: int) -> Iterator[Block]:
    """Every so many-th block, counted over all documents."""
    for number, block in zip(count(first), blocks):
        if _sample_share(number + 1, sample, found) > _sample_share(number, sample, found):
            yield block


def _find_schema_source(engine: Engine, name: str) -> Schema:
    """A kept schema, or one in a file, which is not kept on the way."""
    if Path(name).is_file():
        schema = read_schema_source(name, None)
        with engine.ledger.snapshot() as tx:
            return find_same_schema(tx, schema, named=False) or schema
    return engine.library.schema(name)


def _refuse_senseless(facts: ModelFacts) -> None:
    if facts.provider == "simulated":
        raise UsageError(
            f"{facts.name} is a rehearsal already: `quire run` with it costs nothing; give --model"
            " the model that the real run is for"
        )
    if vendor_facts(facts.provider).keyless:
        raise UsageError(
            f"{facts.name} answers on this machine and costs nothing: `quire run --limit 20` tries"
            " the real one"
        )


def _limit_profile(profile: str, facts: ModelFacts) -> str:
    if profile != OF_MODEL:
        return profile
    known = {name: size for name, size in asdict(facts.limits).items() if size is not None}
    if not known:
        raise UsageError(
            f"nothing is known of the limits of {facts.name}; write them, for example"
            " --limit-profile requests=500,input=200000"
        )
    return ",".join(f"{name}={size}" for name, size in known.items())


@contextmanager
def _sandbox_engine(
    engine: Engine, facts: ModelFacts, url: str, folder: Path, runtime: Runtime | None
) -> Iterator[Engine]:
    """An engine like this one that knows nothing of the real world but its settings."""
    settings = redirect_settings(engine.settings, facts, url, folder)
    workspace = WorkspaceId(settings.workspace)
    ledger = open_ledger(settings.ledger, workspace=workspace, durable=False)
    environment = _environment_without_keys(engine, facts.provider)
    providers = Providers(settings.faults, proxied=False)  # no proxy could reach our server
    with Engine(make_context(settings, ledger, runtime, environment, providers)) as made:
        yield made


def _environment_without_keys(engine: Engine, provider: str) -> dict[str, str]:
    """An engine's environment as if nobody had put a key of this provider into it."""
    named = engine.settings.providers.get(provider, {}).get("key_env")
    hidden = {*variables_of(provider), *([named] if isinstance(named, str) else [])}
    return {name: value for name, value in engine.environment.items() if name not in hidden}


class _Bill(NamedTuple):
    usage: Usage
    cost: int


def _bill(entries: Iterable[LogEntry], facts: ModelFacts) -> _Bill:
    """What all calls that were carried out add up to, also those whose answers got lost."""
    sums = Usage()._asdict()
    total = 0
    for log_entry in (entry for entry in entries if entry.usage is not None):
        usage = log_entry.usage or Usage()
        total += price_call(facts, usage, batched=log_entry.route == BATCH)
        for name, tokens in usage._asdict().items():
            sums[name] += tokens
    return _Bill(Usage(**sums), total)
