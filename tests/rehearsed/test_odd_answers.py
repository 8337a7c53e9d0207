"""Bodies that are no answer: kept as they came, asked for again once; many of them hold the run."""

import pytest

from quire.domain.reasons import HoldCause, HoldKind
from quire.rehearsal.exchange import GARBAGE
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.front_proxy import Answer, Say, front_proxy
from tests.rehearsed.rehearsed import Rehearsed
from tests.world import sentences

JSON = {"Content-Type": "application/json"}
EMPTY = Answer(200, b"", JSON)
PAGE = Answer(200, GARBAGE, JSON)
PACKED = Answer(200, b"\x0b\x02\x80not really brotli\x03", {**JSON, "Content-Encoding": "br"})
NONSENSE = Answer(200, b"whatever", {**JSON, "Content-Encoding": "zip9"})
NO_GZIP = Answer(200, b"whatever", {**JSON, "Content-Encoding": "gzip"})
CUT = Answer(200, b'{"id": "a-1", "output": [', JSON | {"Content-Length": "900"})
ODD = {
    "empty": EMPTY,
    "page": PAGE,
    "br": PACKED,
    "zip9": NONSENSE,
    "no gzip": NO_GZIP,
    "cut": CUT,
}


class Front:
    """What stands before the server: answers some calls itself, and counts all of them."""

    def __init__(self, says: Say) -> None:
        """Say this."""
        self.calls = 0
        self.says = says

    def __call__(self, number: int, key: str) -> Answer | None:
        """Count, and answer or let through."""
        self.calls += 1
        return self.says(number, key)


def behind(monkeypatch: pytest.MonkeyPatch, here: Rehearsed, url: str) -> Rehearsed:
    """The engine, with a front before its server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    return here


@pytest.mark.parametrize("name", ODD)
def test_a_body_that_is_no_answer_is_kept_and_asked_for_once_more(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = rehearse()
    front = Front(lambda number, key: ODD[name] if number == 2 else None)
    here.ingest(sentences(20))
    with front_proxy(front, here.server.url) as url:
        run = behind(monkeypatch, here, url).run(pack_size=5, concurrency=1)

    ended = run.progress()
    assert (ended.state, ended.done, ended.holds) == ("finished", 20, ())
    assert (front.calls, here.server.stats()["requests"]) == (5, 4)
    (odd,) = [attempt for attempt in here.attempts(run.id) if attempt.error]
    assert odd.raw == ODD[name].body.decode(errors="replace")
    assert (ended.presumed_pico == 0) == (name == "page")  # nobody bills for a page
    assert ended.cost_pico == here.bill()


def test_what_a_gateway_adds_to_an_answer_costs_neither_the_answer_nor_the_run(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse()

    def add_junk(answer: Answer) -> Answer:
        length = {"Content-Length": str(len(answer.body))}
        return Answer(answer.status, answer.body + b"<!-- gw7 -->", answer.headers | length)

    here.ingest(sentences(20))
    with front_proxy(lambda number, key: None, here.server.url, add_junk) as url:
        run = behind(monkeypatch, here, url).run(pack_size=5, concurrency=1)

    ended = run.progress()
    assert (ended.state, ended.done, ended.holds) == ("finished", 20, ())
    assert (ended.cost_pico, ended.presumed_pico) == (here.bill(), 0)
    assert here.server.stats()["requests"] == 4


@pytest.mark.parametrize(
    ("name", "said"),
    [("page", "check the base URL"), ("br", "packed as 'br'"), ("cut", "broke off")],
)
def test_the_third_of_them_holds_the_run_and_says_what_came(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    here = rehearse()
    front = Front(lambda number, key: ODD[name])
    here.ingest(sentences(20))
    with front_proxy(front, here.server.url) as url:
        run = behind(monkeypatch, here, url).run(pack_size=5, concurrency=1)
        (hold,) = run.progress().holds
        assert (hold.kind, hold.cause) == (HoldKind.REFUSED, HoldCause.ANSWERS_ODD)
        assert hold.detail.startswith("3 of the last 50 answers were none")
        assert said in hold.detail
        assert front.calls == 3
        front.says = lambda number, key: ODD[name] if number == 4 else None
        here.engine.commands.resume(run.id)
        here.engine.drive(run.id)

    ended = run.progress()
    assert (ended.state, ended.done) == ("finished", 20)


def test_a_task_that_gets_no_answer_twice_fails_alone(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse()
    front = Front(lambda number, key: EMPTY if number <= 2 else None)
    here.ingest(sentences(1))
    with front_proxy(front, here.server.url) as url:
        run = behind(monkeypatch, here, url).run()

    ended = run.progress()
    assert (ended.state, ended.failed, front.calls) == ("finished", 1, 2)
    (failure,) = here.engine.queries.failures(run.id)
    assert "the answer is empty (asked 2 times)" in str(failure)
    (line,) = here.engine.queries.requests(run.id)
    (member,) = here.engine.queries.exchange(line.id).members
    assert (line.accepted, member.verdict, member.reasons) == (0, None, "the answer is empty")


@pytest.mark.parametrize("name", ["empty", "page"])
def test_a_block_that_gets_no_answer_in_any_company_is_halved_and_fails_alone(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    here = rehearse()
    blocks = sentences(40)
    blocks[17] = "This is the odd sentence."
    here.ingest(blocks)
    odd: list[bytes] = []

    def refuse(body: bytes) -> Answer | None:
        if b"the odd sentence" not in body:
            return None
        odd.append(body)
        return ODD[name]

    with front_proxy(lambda number, key: None, here.server.url, refuse=refuse) as url:
        run = behind(monkeypatch, here, url).run(pack_size=8, concurrency=2)

    ended = run.progress()
    assert (ended.state, ended.done, ended.failed, ended.holds) == ("finished", 39, 1, ())
    assert len(odd) == 8  # packs of 8, 4, 2 and 1, each asked once more


def test_a_whole_answer_with_a_wrong_length_is_read(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse()
    here.ingest(sentences(5))
    calls = []

    def longer(answer: Answer) -> Answer:
        calls.append(answer)
        return answer._replace(headers={**answer.headers, "Content-Length": "99999"})

    with front_proxy(lambda number, key: None, here.server.url, longer) as url:
        run = behind(monkeypatch, here, url).run()

    assert (run.progress().done, run.progress().presumed_pico, len(calls)) == (5, 0, 1)
