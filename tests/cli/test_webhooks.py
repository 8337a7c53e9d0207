"""Webhooks from the shell."""

import json

from tests.cli.conftest import SCHEMA, Quire
from tests.dispatch.webhook_server import webhook_server


def test_a_webhook_is_added_tried_listed_and_removed(ready: Quire) -> None:
    with webhook_server() as server:
        said = ready("webhooks", "add", server.url, "--events", "completed, failed")
        assert said.stdout.splitlines()[1].startswith("whsec_")
        assert ready("webhooks", "test", 1).stdout == "webhook 1 took it, and answered 200\n"
        ready("run", "--schema", SCHEMA, "--model", "simulated/small")
        heard = [json.loads(post.body)["type"] for post in server.heard]
        server.answers = [500]
        assert "it answered 500" in ready("webhooks", "test", 1, code=1).stderr

    assert heard == ["test", "completed"]
    (listed,) = ready.json("webhooks", "list")
    assert (listed["notifications"], listed["delivered"]) == (["completed", "failed"], 1)
    assert "sealed" not in listed
    assert server.url in ready("webhooks", "list").stdout
    assert "told nothing more" in ready("webhooks", "remove", 1).stdout
    assert "no webhooks yet" in ready("webhooks", "list").stdout


def test_a_run_says_what_could_not_be_told_and_how_it_will_be(ready: Quire) -> None:
    with webhook_server() as server:
        ready("webhooks", "add", server.url, "--events", "completed")
        server.answers = [500]
        said = ready("run", "--schema", SCHEMA, "--model", "simulated/small").stderr

    assert "1 notification waits for webhook 1: it answered 500 (once; next try " in said
    assert "`quire work`, or the next run, sends it" in said


def test_what_is_no_webhook_is_refused_in_a_line(ready: Quire) -> None:
    assert "is no address" in ready("webhooks", "add", "ftp://example.com", code=2).stderr
    assert "is no address" in ready("webhooks", "add", "https://", code=2).stderr
    secret = ready("webhooks", "add", "https://me:word@example.com/", code=2).stderr
    assert "leave it out" in secret
    assert (
        "events: started, progress"
        in ready("webhooks", "add", "https://example.com/", "--events", "nope", code=2).stderr
    )
    assert (
        "there is no run 9"
        in ready("webhooks", "add", "https://example.com/", "--run", 9, code=2).stderr
    )
    assert "there is no webhook 3" in ready("webhooks", "test", 3, code=2).stderr
