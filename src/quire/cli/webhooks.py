"""Commands about webhooks: addresses that are told what happens to runs."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import moment, note, print_json, print_list, quantity, say
from quire.cli.session import engine_for, print_outcome, session
from quire.engine.json_views.webhook_views import webhook_json

if TYPE_CHECKING:
    from quire.engine import Engine, Webhook

app = typer.Typer(
    help="Tell other programs what happens to runs, by signed webhooks.",
    epilog="Example: quire webhooks add https://example.com/quire --events failed,paused",
    no_args_is_help=True,
)

Number = Annotated[int, argument("WEBHOOK", "Its number.")]


@app.command(epilog="Example: quire webhooks add https://example.com/quire --run 3")
def add(
    context: typer.Context,
    url: Annotated[str, argument("URL", "Where notifications are sent to.")],
    events: Annotated[
        str | None, option("NAMES", "Only these, by commas; by default all.", "--events")
    ] = None,
    run: Annotated[int | None, option("RUN", "Only of this run.", "--run")] = None,
    as_json: AsJson = False,
) -> None:
    """Tell an address what happens; the secret that signs it is printed this once."""
    names = [name.strip() for name in (events or "").split(",") if name.strip()]
    with engine_for(context, make=True) as engine:
        added = engine.webhooks.add(url, names, run)
    if added.made_key:
        note(
            f"quire: {added.made_key} is new, and guards secrets; keep it, and keep it to yourself"
        )
    if as_json:
        print_json({"webhook": added.id, "url": url, "secret": added.secret})
        return
    if not session(context).quiet:
        say(f"webhook {added.id} is told from now on; its secret, which is not shown again:")
    say(added.secret)


@app.command("list", epilog="Example: quire webhooks list --json")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the webhooks, with what waits for them and what went wrong."""
    with engine_for(context) as engine:
        found = engine.webhooks.list()
    rows = (
        (
            webhook.id,
            webhook.url,
            ", ".join(webhook.notifications) or "all",
            webhook.run_id or "every",
            webhook.delivered,
            webhook.waiting,
            webhook.given_up,
            _standing(webhook),
        )
        for webhook in found
    )
    columns = (">id", "~url", "events", "run", ">delivered", ">waiting", ">given up", "*problem")
    nothing = "no webhooks yet; `quire webhooks add URL` adds one"
    print_list(as_json, [webhook_json(webhook) for webhook in found], nothing, columns, rows)


@app.command(epilog="Example: quire webhooks remove 2")
def remove(context: typer.Context, webhook: Number, as_json: AsJson = False) -> None:
    """Tell an address nothing more; what waits for it is dropped."""
    with engine_for(context) as engine:
        removed = engine.webhooks.remove(webhook)
    said = f"webhook {webhook} is told nothing more: {removed.url}"
    print_outcome(context, as_json, {"webhook": webhook, "dropped": removed.waiting}, said)


@app.command("test", epilog="Example: quire webhooks test 2")
def try_webhook(context: typer.Context, webhook: Number, as_json: AsJson = False) -> None:
    """Send a webhook a notification that says it is a test."""
    with engine_for(context) as engine:
        status = engine.webhooks.test(webhook)
    said = f"webhook {webhook} took it, and answered {status}"
    print_outcome(context, as_json, {"webhook": webhook, "status": status}, said)


def tell_waiting(engine: "Engine") -> None:
    """Say, when the work is over, what webhooks could not be told."""
    for webhook in engine.webhooks.list():
        if webhook.failures and webhook.waiting:
            waits = quantity(webhook.waiting, "notification waits", "notifications wait")
            it = "it" if webhook.waiting == 1 else "them"
            note(
                f"{waits} for webhook {webhook.id}: {_standing(webhook)};"
                f" `quire work`, or the next run, sends {it}"
            )


def _standing(webhook: "Webhook") -> str:
    if not webhook.failures:
        return ""
    times = "once" if webhook.failures == 1 else f"{webhook.failures:,} times"
    return f"{webhook.problem} ({times}; next try {moment(webhook.next_at)})"
