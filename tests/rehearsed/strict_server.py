"""A server of one's own that answers in words, and refuses whatever a test lets it refuse."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import orjson

from quire.engine import Engine, RunHandle
from quire.engine.context import make_context
from quire.ledger.ledger import open_ledger
from quire.settings import Settings
from tests.world import METADATA, World

Body = dict[str, Any]
Complaint = tuple[int, Any]  # a status, and what is said with it
Refuse = Callable[[Body], Complaint | None]  # by what a call holds; None lets it through


class StrictServer(NamedTuple):
    """Where it is, and what it was sent."""

    url: str
    refused: list[Body]
    answered: list[Body]


@contextmanager
def strict_server(*rules: Refuse) -> Iterator[StrictServer]:
    """Serve Chat Completions until the end; the first rule that complains is heard."""
    refused: list[Body] = []
    answered: list[Body] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = orjson.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = next((found for rule in rules if (found := rule(body))), None)
            (refused if said else answered).append(body)
            status, answer = said or (200, _answer(body))
            raw = orjson.dumps(answer)
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield StrictServer(f"http://127.0.0.1:{server.server_port}/v1", refused, answered)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(body: Body) -> Any:
    """What a small model says: JSON with some words around it."""
    blocks = orjson.loads(body["messages"][-1]["content"].splitlines()[-1])["blocks"]
    results = [
        {
            "block_uid": block["block_uid"],
            "word_count": len(block["block_content"].split()),
            "first_40_chars": block["block_content"][:40],
            "has_question": "?" in block["block_content"],
        }
        for block in blocks
    ]
    text = f"Sure:\n```json\n{orjson.dumps({'results': results}).decode()}\n```"
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}


class OwnServer(World):
    """A world whose model is a server of one's own."""

    def __post_init__(self) -> None:
        """Open the ledger."""
        settings = Settings(ledger=self.url, lease=self.lease, grace=self.grace)
        self.engine = Engine(make_context(settings, open_ledger(self.url), self.runtime))

    def start(self, schema: Any = None, **policy: Any) -> RunHandle:
        """Order a run over everything."""
        model = policy.pop("model", "vllm/odd")
        return self.engine.run(schema=schema or METADATA, model=model, **policy)
