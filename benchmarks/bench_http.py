"""CPU per call over loopback HTTP: our adapters, the vendors' clients, the engine, a bare loop."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import anthropic
import openai

from benchmarks.bare import GROUP
from benchmarks.bare_http import KEY, BareHttp, PlainAnthropic, PlainOpenAI
from benchmarks.corpus import SCHEMA, blocks, fill
from benchmarks.lean import lean_server
from quire.domain.accounts import Account, Secret
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.plan.rendering import BlockItem, render_prefix, user_text
from quire.providers.anthropic import Anthropic
from quire.providers.catalog import CATALOG
from quire.providers.http import HttpProvider
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat
from quire.providers.transport import Transport
from quire.recipes.user_schemas import extraction_recipe, load_schema
from quire.settings import Settings

MOST = 2.0  # ours may cost this many times the bare minimum
ROUNDS = 3
CALLS = 1_500  # of each contestant, a round
TOGETHER = 16  # calls in flight
BLOCKS = 5_000
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


def bare_seconds(folder: Path, url: str, count: int, per_call: int) -> float:
    """CPU seconds of the bare loop, from the first block it reads to the last result."""
    loop = BareHttp(str(folder / "bare.db"), count, url)
    began = process_time()
    stored = asyncio.run(loop.run(per_call))
    spent = process_time() - began
    loop.close()
    assert stored == count, stored
    return spent


def engine_seconds(folder: Path, count: int, per_call: int) -> float:
    """CPU seconds of the engine, from the order to the last result; ingesting apart."""
    path = str(folder / "engine.db")
    ledger = open_ledger(path)
    fill(ledger, count)
    with Engine(make_context(Settings(ledger=path), ledger)) as engine:
        began = process_time()
        run = engine.run(
            schema=SCHEMA, model=MODELS["openai"], pack_size=per_call, concurrency=GROUP
        )
        done = run.wait().done
        spent = process_time() - began
    assert done == count, done
    return spent


def compare_engine(url: str, count: int) -> int:
    """Print CPU per block of the engine and the bare loop; returns how many targets were missed."""
    missed = 0
    print(f"\n{count:,} blocks over HTTP, CPU µs per block, least of {ROUNDS} rounds")
    print("per call      bare    engine   ratio")
    for per_call in (1, 10):
        plain: list[float] = []
        engine: list[float] = []
        for _ in range(ROUNDS):
            with tempfile.TemporaryDirectory() as name:
                plain.append(bare_seconds(Path(name), url, count, per_call))
                engine.append(engine_seconds(Path(name), count, per_call))
        times = min(engine) / min(plain)
        print(
            f"{per_call:8d} {min(plain) / count * 1e6:9.1f} {min(engine) / count * 1e6:9.1f}"
            f" {times:7.2f}  (at most {MOST:g})"
        )
        missed += times > MOST
    return missed


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else BLOCKS
    with lean_server() as url:
        os.environ |= {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "NO_PROXY": "*"}
        missed = compare_adapters(url) + compare_engine(url, count)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
