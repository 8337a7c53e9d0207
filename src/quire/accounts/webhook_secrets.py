"""Secrets of webhooks: made here, shown once, and kept sealed as keys are."""

import secrets

from quire.accounts.credentials import check_box, stored_credentials
from quire.accounts.encryption import Box, Owner, Unsealable
from quire.domain.accounts import Secret
from quire.ledger.ledger import Transaction

PREFIX = "whsec_"
PROVIDER = "webhook"  # in the place of a provider, in the name that a secret is sealed for


def make_secret() -> Secret:
    """A secret that nobody can guess."""
    return Secret(PREFIX + secrets.token_urlsafe(32))


def make_uid() -> str:
    """A name for a webhook that no other has, in any ledger."""
    return secrets.token_hex(16)


def check_secrets(tx: Transaction, box: Box) -> None:
    """Refuse a secret key other than the one that keys and secrets here are sealed with."""
    check_box(tx, box)
    for webhook in tx.webhooks.list_webhooks()[:1]:
        open_secret(tx, box, webhook.uid, webhook.sealed)


def seal_secret(tx: Transaction, box: Box, uid: str, secret: Secret) -> bytes:
    """Seal a secret for one webhook."""
    check_secrets(tx, box)
    return box.seal(secret, Owner(tx.workspace, PROVIDER, uid))


def open_secret(tx: Transaction, box: Box, uid: str, sealed: bytes) -> Secret:
    """The secret of a webhook."""
    try:
        return box.open(sealed, Owner(tx.workspace, PROVIDER, uid))
    except Unsealable:
        raise Unsealable(
            "the secret of a webhook cannot be opened with the secret key that is here",
            "give Quire the other one by QUIRE_SECRET_KEY, or remove the webhook and add it again",
        ) from None


def is_anything_sealed(tx: Transaction) -> bool:
    """Whether something here needs the secret key that there is, or was."""
    kept = stored_credentials(tx.credentials.list_credentials())
    return bool(kept) or bool(tx.webhooks.list_webhooks())
