"""JSON views of money and of what bounds it: spend, wallets, limits."""

from typing import TYPE_CHECKING

from quire.domain.data import Json
from quire.domain.pricing import to_usd

if TYPE_CHECKING:
    from quire.domain.wallets import WalletEntry, WalletView
    from quire.engine.spend import SpendView
    from quire.ledger.tables.limit_profiles import ProfileVersion


def wallet_json(wallet: "WalletView") -> dict[str, object]:
    return {
        "wallet": wallet.name,
        "balance_usd": to_usd(wallet.balance),
        "balance_pico": wallet.balance,
        "granted_usd": to_usd(wallet.granted),
        "used_usd": to_usd(wallet.used),
    }


def entry_json(entry: "WalletEntry") -> dict[str, object]:
    return {
        "entry": entry.id,
        "key": entry.key,
        "kind": entry.kind.value,
        "amount_usd": to_usd(entry.amount),
        "amount_pico": entry.amount,
        "run": entry.run_id,
        "at": entry.at,
        "note": entry.note,
    }


def spend_json(view: "SpendView") -> dict[str, object]:
    from quire.engine.spend import spend_row, sums_json

    total = view.total
    return {
        "by": view.by.value,
        "run": view.run_id,
        "rows": [spend_row(line) for line in view.lines],
        "total": sums_json(total),
        "simulated_usd": to_usd(total.simulated),
    }


def limit_version_json(item: "ProfileVersion") -> dict[str, Json]:
    limits = item.limits
    return {
        "profile": item.profile,
        "model": item.model,
        "version": item.version,
        "requests": limits.requests,
        "input": limits.input,
        "output": limits.output,
        "total": limits.total,
        "batch_tokens": limits.enqueued,
        "batch_jobs": limits.jobs,
        "set_at": item.set_at.isoformat(),
    }
