"""A small world to run in: an engine on either database, blocks to ask about, a scripted model."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from quire.dispatch.runtime import Runtime
from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.data import Json
from quire.domain.documents import Block, BlockType, ParsedDocument
from quire.domain.ids import RunId, conv_uid, source_uid
from quire.domain.requests import Call
from quire.domain.runs import HeldError, Progress
from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.pipeline.commands.corpus import ingest
from quire.providers.protocol import RawResponse
from quire.providers.provider_registry import Providers
from quire.providers.simulated import SimulatedProvider
from quire.settings import Settings
from quire.simulated.fault_scripts import NO_FAULTS, Faults, parse_fault_script

NOW = datetime(2026, 1, 1, tzinfo=UTC)

HOLD_TICK = 0.005  # seconds between two looks whether an answer may go

METADATA: dict[str, Json] = {
    "title": "metadata",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "word_count": {"type": "integer", "minimum": 0},
        "first_40_chars": {"type": "string"},
        "has_question": {"type": "boolean"},
    },
    "required": ["word_count", "first_40_chars", "has_question"],
}


class Calm(Runtime):
    """The real world without chance: whoever must wait waits the shortest time."""

    def jitter(self) -> float:
        """Always the least."""
        return 0.0


class Scripted(SimulatedProvider):
    """The simulated model, with one fault script for each of the first calls, then the usual."""

    def __init__(self, faults: Faults = NO_FAULTS) -> None:
        """Follow `faults` once the script is used up."""
        super().__init__(faults)
        self.script: list[str] = []
        # whether the answer to a call, by its number, is still kept back
        self.hold: Callable[[int], bool] = lambda number: False
        self.packs: list[int] = []  # blocks in each call, in the order they came

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer with the next script."""
        usual = self.faults
        self.packs.append(call.user.count('"block_uid"'))
        with suppress(IndexError):
            self.faults = parse_fault_script(self.script.pop(0))
        number = self.calls + 1
        try:
            answer = await super().send(call, account)
        finally:
            self.faults = usual
        while self.hold(number):  # noqa: ASYNC110 - released from any thread
            await asyncio.sleep(HOLD_TICK)
        return answer


class OneProvider(Providers):
    """Who answers in a test: always the same provider, whatever is asked for."""

    def __init__(self, provider: SimulatedProvider) -> None:
        """Hold the provider; the test looks at it afterwards."""
        super().__init__()
        self.provider = provider

    def get(self, name: str) -> SimulatedProvider:
        """The provider."""
        assert name == "simulated"
        return self.provider

    async def close(self) -> None:
        """Nothing to let go of: the test is not finished with it."""


@dataclass
class World:
    """An engine, its model, and shortcuts that tests read well with."""

    url: str
    faults: str = ""
    runtime: Runtime = field(default_factory=Calm)
    lease: float = 600.0  # real seconds, where the runtime is: nobody is slow on a busy machine
    grace: float = 600.0

    def __post_init__(self) -> None:
        """Open the ledger."""
        settings = Settings(ledger=self.url, lease=self.lease, grace=self.grace)
        self.engine = Engine(make_context(settings, open_ledger(self.url), self.runtime))
        self.model = Scripted(parse_fault_script(self.faults))
        self.engine.context.providers = OneProvider(self.model)

    def ingest(self, texts: Sequence[str], name: str = "doc") -> None:
        """Put one document of these blocks into the ledger."""
        raw = "\n\n".join(texts).encode() + name.encode()
        blocks = [
            Block(index=i, type=BlockType.PARAGRAPH, content=text, locator={"type": "row"})
            for i, text in enumerate(texts)
        ]
        parsed = ParsedDocument(
            source_uid=source_uid("txt", raw),
            source_type="txt",
            source_filesize=len(raw),
            source_total_characters=None,
            source_locator=f"{name}.txt",
            title=name,
            conv_uid=conv_uid("test", "text", raw),
            parsing_tool="test",
            representation_type="text",
            blocks=blocks,
        )
        with self.engine.ledger.transaction() as tx:
            ingest(tx, parsed, NOW)

    def start(self, schema: dict[str, Json] | None = None, **policy: Json) -> RunHandle:
        """Order a run over everything, paid from a wallet where one is named."""
        limit, new = policy.pop("limit", None), bool(policy.pop("new", False))
        assert limit is None or isinstance(limit, int)
        wallet = policy.pop("wallet", None)
        assert wallet is None or isinstance(wallet, str)
        order = self.engine.orders.resolve(
            schema=schema or METADATA,
            model="simulated/small",
            limit=limit,
            new=new,
            policy=policy,
        )
        return self.engine.start(self.engine.orders.with_funds(order, wallet, None))

    def run(self, schema: dict[str, Json] | None = None, **policy: Json) -> RunHandle:
        """Order a run over everything and wait for it."""
        run = self.start(schema, **policy)
        until_rest(run)
        return run

    def task_tries(self, run: RunId) -> list[tuple[str, int, str]]:
        """State, tries and error of every task, in subject order."""
        with self.engine.ledger.snapshot() as tx:
            stage = tx.runs.stages_of_run(run)[0].id
            return [
                (row.state or "", row.tries or 0, row.error or "")
                for row in tx.results.export_rows(run, stage)
            ]

    def close(self) -> None:
        """Close the ledger."""
        self.engine.close()


def until_rest(run: RunHandle, watch: Callable[[Progress], None] | None = None) -> Progress:
    """Work on a run until nothing more can be done, also where that is because it is held."""
    try:
        return run.wait(watch)
    except HeldError as held:
        return held.progress


def sentences(count: int, mark: int | None = None, word: str = "MARK") -> list[str]:
    """Blocks that differ; the one at `mark` contains a word that fault scripts look for."""
    return [
        f"Block {i} says {'something ' * (i % 5 + 1)}{word if i == mark else 'plain'}."
        + (" Is it so?" if i % 3 == 0 else "")
        for i in range(count)
    ]


def without_costs(rows: Iterable[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Rows without what a late bill changes: what they cost, and when that was."""
    return [
        {name: value for name, value in row.items() if name not in ("cost", "changed_at")}
        for row in rows
    ]
