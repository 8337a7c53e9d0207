"""Commands about wallets: money that runs may spend."""

from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import moment, print_list
from quire.cli.session import engine_for, print_outcome
from quire.domain.pricing import dollars
from quire.engine.json_views.money_views import entry_json, wallet_json

if TYPE_CHECKING:
    pass

app = typer.Typer(
    help="Wallets: money that runs may spend, with every change of it.",
    epilog="Example: quire wallet create team --credit 20",
    no_args_is_help=True,
)

Name = Annotated[str, argument("WALLET", "Its name.")]
Amount = Annotated[str, argument("AMOUNT", "Dollars: 5, 5.00 or $5.")]
Key = Annotated[
    str | None,
    option("KEY", "Of your own: the same key again changes nothing.", "--key"),
]
Note = Annotated[str, option("TEXT", "What it is for.", "--note")]


@app.command(epilog="Example: quire wallet create team --credit 20")
def create(
    context: typer.Context,
    name: Name,
    paid: Annotated[str | None, option("AMOUNT", "Pay in so much at once.", "--credit")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a wallet."""
    with engine_for(context, make=True) as engine:
        made = engine.wallets.create(name, paid)
    said = f"wallet {name} holds {dollars(made.balance)}; `quire run … --wallet {name}` spends it"
    print_outcome(context, as_json, wallet_json(made), said)


@app.command(epilog="Example: quire wallet credit team 20 --key invoice-17")
def credit(
    context: typer.Context,
    name: Name,
    amount: Amount,
    key: Key = None,
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Pay into a wallet; runs that are held for want of money go on."""
    with engine_for(context) as engine:
        entry = engine.wallets.credit(name, amount, key=key, note=note)
        now = engine.wallets.get(name)
    said = f"{dollars(entry.amount)} paid in; wallet {name} holds {dollars(now.balance)}"
    print_outcome(context, as_json, entry_json(entry) | wallet_json(now), said)


@app.command(epilog="Example: quire wallet transfer team lab 5")
def transfer(
    context: typer.Context,
    source: Annotated[str, argument("FROM", "The wallet that gives.")],
    target: Annotated[str, argument("TO", "The wallet that receives.")],
    amount: Amount,
    *,
    key: Key = None,
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Move money from one wallet to another; never more than there is."""
    with engine_for(context) as engine:
        entry = engine.wallets.transfer(source, target, amount, key=key, note=note)
        now = engine.wallets.get(target)
    said = f"{dollars(entry.amount)} moved; wallet {target} holds {dollars(now.balance)}"
    print_outcome(context, as_json, entry_json(entry) | wallet_json(now), said)


@app.command(epilog="Example: quire wallet show team")
def show(
    context: typer.Context,
    name: Annotated[str | None, argument("WALLET", "Only this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what wallets hold, and what their runs have of it."""
    with engine_for(context) as engine:
        found = engine.wallets.list() if name is None else [engine.wallets.get(name)]
    rows = (
        (wallet.name, *map(dollars, (wallet.balance, wallet.granted, wallet.used)))
        for wallet in found
    )
    columns = ("wallet", ">holds", ">given to runs", ">of that used")
    nothing = "no wallets yet; `quire wallet create NAME` makes one"
    print_list(as_json, [wallet_json(wallet) for wallet in found], nothing, columns, rows)


@app.command(epilog="Example: quire wallet entries team --limit 20")
def entries(
    context: typer.Context,
    name: Name,
    limit: Annotated[int, option("N", "The newest so many.", "--limit", min=1)] = 50,
    as_json: AsJson = False,
) -> None:
    """List a wallet's entries, the newest first: all that ever changed what it holds."""
    with engine_for(context) as engine:
        found = engine.wallets.entries(name, limit)
    rows = (
        (moment(entry.at), entry.kind.value, dollars(entry.amount), entry.run_id or "", entry.key,
         entry.note)
        for entry in found
    )  # fmt: skip
    columns = ("at", "kind", ">amount", ">run", "key", "*note")
    print_list(as_json, [entry_json(entry) for entry in found], "no entries yet", columns, rows)
