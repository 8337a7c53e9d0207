"""The log holds every request, and the figures are what the log adds up to."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import openai

from quire.domain.models import Usage
from quire.rehearsal.request_log import WINDOW, LogEntry, RequestLog
from quire.rehearsal.server import RehearsalServer, RehearsalThread, rehearsal_server
from quire.rehearsal.server_state import ServerConfig
from quire.rehearsal.timing import Clock
from tests.rehearsal.clients import GPT, KEY, MODELS, message, openai_client, respond
from tests.rehearsal.plain_http import BEARER, ask


def _storm(url: str, calls: int) -> None:
    async def storm() -> None:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:
            asked = (
                client.responses.create(model=GPT, input=message(*["word"] * (i % 5 + 1)))
                for i in range(calls)
            )
            await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(storm())


def _everything(server: RehearsalThread) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return server.stats(), server.log()


def _span(log: list[dict[str, Any]]) -> float:
    """Seconds from the first request to the last: more than a minute on a busy machine."""
    moments: list[float] = [entry["at"] for entry in log]
    return max(moments) - min(moments)


def test_the_figures_are_what_the_log_adds_up_to() -> None:
    script = "429=0.1,500=0.1,drop=0.1,garbage=0.1,refuse=0.05,skip=0.05"
    with rehearsal_server(models=MODELS, faults=script, latency="uniform:0.01s-0.05s") as server:
        _storm(server.url, 150)
        stats, log = _everything(server)
    usages = [entry["usage"] for entry in log if entry["usage"]]
    model = stats["models"][f"openai/{GPT}"]
    faults = Counter(name for entry in log for name in entry["fault"].split(",") if name)

    assert [entry["number"] for entry in log] == list(range(1, 151))
    assert stats["requests"] == stats["ended"] == model["requests"] == 150
    assert stats["in_flight"] == 0
    assert stats["delivered"] == sum(entry["delivered"] for entry in log)
    assert stats["statuses"] == Counter(str(entry["status"] or "none") for entry in log)
    assert stats["faults"] == faults
    assert faults.keys() >= {"429", "500", "drop", "garbage"}
    assert model["answered"] == len(usages)
    assert model["blocks"] == sum(entry["blocks"] for entry in log if entry["usage"])
    for kind, total in model["tokens"].items():
        assert total == sum(usage[kind] for usage in usages)
    assert 1 < stats["most_in_flight"] <= 150
    assert model["most_in_a_minute"]["requests"] == 150 or _span(log) >= WINDOW


def test_a_window_slides(server: RehearsalThread) -> None:
    witness, model = RequestLog(), "m"
    for second in (0, 30, 59, 61, 100, 200):
        entry = witness.add_request(float(second), "POST", "/")
        entry.model = model
        witness.bill(entry, Usage(input=10, output=5), counted=10)
        witness.end_request(entry)

    stats: Any = witness.as_json()["models"]

    assert stats[model]["most_in_a_minute"] == {
        "requests": 3,
        "input": 30,
        "output": 15,
        "total": 45,
    }


def test_the_log_never_shows_a_key(server: RehearsalThread, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with rehearsal_server(log=str(path)) as logged:
        ask(logged.url, "/v1/responses", {"model": "gpt-x", "input": "a"}, BEARER)
        text = json.dumps(logged.log()) + ask(logged.url, "/_rehearsal/log").body.decode()
    written = path.read_text()

    assert KEY[-4:] in text
    assert KEY[:-4] not in text + written
    assert json.loads(written)["key"] == KEY[-4:]


def test_a_short_key_is_not_shown_either() -> None:
    with rehearsal_server() as server:
        ask(server.url, "/v1/models", headers={"authorization": "Bearer abcd"})

        assert server.log()[0]["key"] == ""


def test_the_log_goes_on_after_a_number() -> None:
    with rehearsal_server() as server:
        for _ in range(3):
            ask(server.url, "/v1/models", headers=BEARER)
        rest = ask(server.url, "/_rehearsal/log?after=1").json
        wrong = ask(server.url, "/_rehearsal/log?after=x")

    assert [entry["number"] for entry in rest["requests"]] == [2, 3]
    assert rest["next"] is None
    assert wrong.status == 400


def test_a_log_of_many_is_told_in_parts() -> None:
    witness = RequestLog()
    for second in range(25):
        witness.add_request(float(second), "GET", "/")

    assert [entry.number for entry in witness.entries_after(0, 10)] == list(range(1, 11))
    assert [entry.number for entry in witness.entries_after(20, 10)] == list(range(21, 26))
    witness.clear()
    witness.add_request(0.0, "GET", "/")
    assert [entry.number for entry in witness.entries_after(0, 10)] == [26]


def test_the_course_of_a_rehearsal_is_changed_over_http() -> None:
    with rehearsal_server() as server, openai_client(server.url) as client:
        respond(client)
        changed = ask(server.url, "/_rehearsal/faults", {"faults": "500=1"})
        failing = ask(server.url, "/v1/responses", {"model": "g", "input": "a"}, BEARER)
        before = server.stats()["requests"]
        ask(server.url, "/_rehearsal/reset", b"")
        after = ask(server.url, "/_rehearsal/stats").json["requests"]
        moved = ask(server.url, "/_rehearsal/clock", {"advance": 3600}).json["now"]
        refused = [
            ask(server.url, "/_rehearsal/faults", {"faults": "nonsense=1"}),
            ask(server.url, "/_rehearsal/faults", b"half {"),
            ask(server.url, "/_rehearsal/clock", {"advance": -5}),
            ask(server.url, "/_rehearsal/clock", {"advance": "soon"}),
        ]

    assert (changed.status, failing.status) == (200, 500)
    assert (before, after) == (2, 0)
    assert moved > Clock().now() + 3_500
    assert [answer.status for answer in refused] == [400] * 4
    assert "is not a fault" in refused[0].json["error"]


def test_a_server_runs_in_its_own_loop_too() -> None:
    async def play() -> tuple[str, list[LogEntry], dict[str, Any]]:
        rehearsal = RehearsalServer(ServerConfig(models=MODELS))
        url = await rehearsal.start("127.0.0.1")
        try:
            await asyncio.to_thread(ask, url, "/v1/models", None, BEARER)
            return url, rehearsal.log, rehearsal.stats
        finally:
            await rehearsal.stop()

    url, log, stats = asyncio.run(play())

    assert url.startswith("http://127.0.0.1:")
    assert (log[0].endpoint, stats["requests"]) == ("models", 1)
