"""OpenAI's own client takes the server's files and batches for OpenAI's."""

from typing import Any

from tests.rehearsal.asking import GPT, counts
from tests.rehearsal.batching import (
    lines,
    names,
    order,
    read,
    rows,
    scene,
)


def _said(line: dict[str, Any]) -> str:
    return str(line["response"]["body"]["output"][0]["content"][0]["text"])


def test_a_batch_is_uploaded_made_and_collected() -> None:
    told = rows(40)
    with scene() as (_, client):
        made = order(client, lines(told))
        done = client.batches.retrieve(made.id)
        got = read(client, done.output_file_id)

    assert (made.object, made.status, made.metadata) == ("batch", "validating", {"quire": "qabc"})
    assert (done.status, done.error_file_id, done.model) == ("completed", None, GPT)
    assert (done.request_counts.total, done.request_counts.completed) == (40, 40)
    assert names(got) == names(told)
    assert [counts(_said(line)) for line in got] == [[each % 7 + 1] for each in range(40)]
    assert done.usage.total_tokens == sum(
        line["response"]["body"]["usage"]["total_tokens"] for line in got
    )
