"""CPU over loopback HTTP, file to rows: our adapters, vendors' clients, the engine, a bare loop.

As in life: a prefix of 8,000 characters, and on every answer headers that state limits.
"""

import asyncio
import gc
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import anthropic
import openai
import orjson

import quire
from benchmarks.bare import GROUP
from benchmarks.bare_http import KEY, BareHttp, PlainAnthropic, PlainOpenAI
from benchmarks.corpus import SCHEMA, blocks
from benchmarks.lean import lean_server
from quire.domain.accounts import Account, Secret
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.ledger.ledger import Ledger, Transaction
from quire.planning.rendering import BlockItem, render_prefix, user_text
from quire.providers.anthropic import Anthropic
from quire.providers.catalog import CATALOG
from quire.providers.http import HttpProvider
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat
from quire.providers.transport import Transport
from quire.recipes.user_schemas import extraction_recipe, load_schema

MOST = 2.0  # one call of ours may cost this many times the bare minimum
MOST_WHOLE = {1: 1.6, 10: 2.0}  # and a whole job, by blocks per call
MOST_PACED = 1.3  # times what a call costs when no limit binds
PACE = 500  # requests a second that the limit allows
ROUNDS = 3
CALLS = 1_500  # of each contestant, a round
TOGETHER = 16  # calls in flight
BLOCKS = 20_000
PACED_BLOCKS = 5_000  # a quarter of it: a limit takes its time
MODELS = {"openai": "openai/gpt-5.6-luna", "anthropic": "anthropic/claude-sonnet-5-5"}

Ask = Callable[[Call], Awaitable[str]]  # one call from its parts to the text of its answer
Contestant = Callable[[str, Sequence[Call]], Coroutine[None, None, float]]


def calls(provider: str, count: int) -> list[Call]:
    """Calls about one block each, under one long prefix."""
    stage = extraction_recipe(load_schema(SCHEMA, name="bench"), Params()).stages[0]
    head, facts = render_prefix(stage), CATALOG[MODELS[provider]]
    return [
        Call(
            attempt_id=AttemptId(block.index + 1),
            model=facts.name,
            system=head.system,
            user=user_text(
                stage.prompt, block.index, [BlockItem(block.index, "paragraph", block.content)]
            ),
            output_schema=head.output_schema,
            params=Params(max_tokens=4_096),
            wire=facts.wire,
        )
        for block in blocks(count)
    ]


async def time_calls(ask: Ask, asked: Sequence[Call]) -> float:
    """CPU seconds for all these calls, so many at a time; the first few only warm up."""
    queue = list(asked)

    async def carry() -> None:
        while queue:
            assert "word_count" in await ask(queue.pop())

    await asyncio.gather(*(ask(call) for call in asked[:TOGETHER]))
    began = process_time()
    await asyncio.gather(*(carry() for _ in range(TOGETHER)))
    return process_time() - began


async def time_bare(url: str, asked: Sequence[Call]) -> float:
    """Post, read, parse."""
    made = PlainOpenAI(url) if asked[0].model == MODELS["openai"] else PlainAnthropic(url)

    async def ask(call: Call) -> str:
        return made.decode((await made.send(call)).raw).text

    try:
        return await time_calls(ask, asked)
    finally:
        await made.close()


async def time_ours(url: str, asked: Sequence[Call]) -> float:
    """Send and decode as the engine does."""
    vendor: WireFormat = OpenAI() if asked[0].model == MODELS["openai"] else Anthropic()
    base = f"{url}/v1" if vendor.name == "openai" else url
    account = Account(provider=vendor.name, credential="bench", key=Secret(KEY), base_url=base)
    provider = HttpProvider(vendor, Transport())

    async def ask(call: Call) -> str:
        return provider.decode((await provider.send(call, account)).raw).text

    try:
        return await time_calls(ask, asked)
    finally:
        await provider.close()


async def time_vendor_client(url: str, asked: Sequence[Call]) -> float:
    """The client that the vendor publishes."""
    if asked[0].model == MODELS["openai"]:
        return await _openai_client(url, asked)
    return await _anthropic_client(url, asked)


async def _openai_client(url: str, asked: Sequence[Call]) -> float:
    plain = PlainOpenAI(url)
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:

        async def ask(call: Call) -> str:
            body: dict[str, Any] = plain.body(call)
            response = await client.responses.create(**body)
            return str(response.output_text)

        return await time_calls(ask, asked)


async def _anthropic_client(url: str, asked: Sequence[Call]) -> float:
    plain = PlainAnthropic(url)
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:

        async def ask(call: Call) -> str:
            body: dict[str, Any] = plain.body(call)
            message = await client.messages.create(**body)
            return str(message.content[0].text)

        return await time_calls(ask, asked)


def compare_adapters(url: str) -> int:
    """Print CPU per call of each contestant, turn about; returns how many targets were missed."""
    contestants: dict[str, Contestant] = {
        "bare": time_bare,
        "ours": time_ours,
        "client": time_vendor_client,
    }
    missed = 0
    print(f"{CALLS:,} calls, {TOGETHER} at a time, CPU µs per call, least of {ROUNDS} rounds")
    print("provider         bare     ours  vendor's client   ours/bare  client/ours")
    for provider in MODELS:
        asked = calls(provider, CALLS)
        rounds: dict[str, list[float]] = {name: [] for name in contestants}
        for _ in range(ROUNDS):
            for name, contestant in contestants.items():
                rounds[name].append(asyncio.run(contestant(url, asked)))
        least = {name: min(spent) / CALLS * 1e6 for name, spent in rounds.items()}
        ratio = least["ours"] / least["bare"]
        missed += ratio > MOST
        print(
            f"{provider:12s} {least['bare']:8.1f} {least['ours']:8.1f} {least['client']:16.1f}"
            f"   {ratio:9.2f}  {least['client'] / least['ours']:11.2f}  (at most {MOST:g})"
        )
    return missed


def write_source(folder: Path, count: int) -> Path:
    """The corpus as somebody has it: a file of JSON lines."""
    source = folder / "clauses.jsonl"
    with source.open("wb") as lines:
        for block in blocks(count):
            lines.write(orjson.dumps({"text": block.content}) + b"\n")
    return source


def bare_seconds(folder: Path, url: str, count: int, per_call: int) -> float:
    """CPU seconds of the bare loop, from an empty folder and a file to rows."""
    source = write_source(folder, count)
    began = process_time()
    loop = BareHttp(str(folder / "bare.db"), source, url)
    asyncio.run(loop.run(per_call))
    rows = loop.rows()
    spent = process_time() - began
    loop.close()
    assert len(rows) == count, len(rows)
    return spent


class Job(NamedTuple):
    """What the engine took for a whole job."""

    seconds: float
    transactions: int  # of the work alone


def engine_job(folder: Path, count: int, per_call: int) -> Job:
    """What the engine takes, from an empty folder and a file to rows."""
    source = write_source(folder, count)
    began = process_time()
    with quire.open(str(folder / "engine.db")) as engine:
        over = engine.ingest(source, text_column="text")
        run = engine.run(
            schema=SCHEMA,
            model=MODELS["openai"],
            over=over,
            pack_size=per_call,
            concurrency=GROUP,
        )
        with counted_transactions(engine.ledger) as counted:
            run.wait()
        rows = run.rows()
        spent = process_time() - began
    assert sum(row["status"] == "accepted" for row in rows) == count, len(rows)
    return Job(spent, counted["transactions"])


@contextmanager
def counted_transactions(ledger: Ledger) -> Iterator[Counter[str]]:
    """Count those that a ledger carries out."""
    counted: Counter[str] = Counter()
    begin = ledger.transaction

    def count_and_begin() -> AbstractContextManager[Transaction]:
        counted["transactions"] += 1
        return begin()

    with patch.object(ledger, "transaction", count_and_begin):
        yield counted


def compare_engine(url: str, count: int) -> int:
    """Print CPU per block of the engine and the bare loop; returns how many targets were missed."""
    missed = 0
    gc.collect()
    gc.freeze()  # what the vendors' clients left is walked through at neither's expense
    print(f"\n{count:,} blocks, file to rows, CPU µs per block, least of {ROUNDS} rounds")
    print("per call      bare    engine   ratio")
    for per_call, most in MOST_WHOLE.items():
        plain: list[float] = []
        engine: list[float] = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as name:
                plain.append(bare_seconds(Path(name), url, count, per_call))
                engine.append(engine_job(Path(name), count, per_call).seconds)
        times = min(engine) / min(plain)
        print(
            f"{per_call:8d} {min(plain) / count * 1e6:9.1f} {min(engine) / count * 1e6:9.1f}"
            f" {times:7.2f}  (at most {most:g})"
        )
        missed += times > most
    return missed


def compare_paces(url: str, count: int) -> int:
    """Print what the engine takes when a limit binds, beside what it takes when none does."""
    jobs: list[Job] = []
    with lean_server(PACE * 60, left=GROUP) as paced_url:
        for place in (url, paced_url):
            os.environ["OPENAI_BASE_URL"] = f"{place}/v1"
            rounds = []
            for _ in range(ROUNDS):
                with tempfile.TemporaryDirectory() as name:
                    rounds.append(engine_job(Path(name), count, 1))
            jobs.append(min(rounds))
    free, paced = jobs
    times = paced.seconds / free.seconds
    print(f"\n{count:,} blocks, one per call, CPU µs per block and transactions of the work")
    print(f"no limit binds {free.seconds / count * 1e6:9.1f} {free.transactions:9,d}")
    print(
        f"{PACE} a second   {paced.seconds / count * 1e6:9.1f} {paced.transactions:9,d}"
        f"  ratio {times:.2f}  (at most {MOST_PACED:g})"
    )
    return times > MOST_PACED


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS
    with lean_server() as url:
        os.environ |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "NO_PROXY": "*"}
        missed = (
            compare_adapters(url)
            + compare_engine(url, count)
            + compare_paces(url, min(count, PACED_BLOCKS))
        )
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
