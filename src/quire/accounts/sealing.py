"""Sealing: a key is encrypted with AES-256-GCM, bound to whose it is and what it is called."""

import hmac
import os
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from quire.domain.accounts import Secret
from quire.domain.errors import UsageError
from quire.domain.ids import WorkspaceId, fingerprint

SHORTEST_SECRET = 16  # characters
DIGEST_BYTES = 8
ANY_BYTES = "surrogateescape"  # secrets that are no text are read and written back unchanged

_FORMAT = b"\x01"  # then 4 bytes that recognise the box, the nonce, the text with its tag
_MARK_BYTES, _NONCE_BYTES, _TAG_BYTES = 4, 12, 16
_SALT = b"quire: the key that seals stored credentials"
_DIGEST_LABEL = b"quire: which key this is"
_MARK_LABEL = b"quire: which box this is"


class Unsealable(UsageError):
    """A stored key cannot be decrypted here."""


class Owner(NamedTuple):
    """Whose key it is: a sealed text opens for nobody else, so that rows cannot be swapped."""

    workspace: WorkspaceId
    provider: str
    name: str


class Box:
    """Seals keys and opens them again, under one secret."""

    def __init__(self, secret: Secret) -> None:
        """Derive the encryption key by scrypt, from whatever text the secret is."""
        key = _derived(secret)
        self._cipher = AESGCM(key)
        self._mark = hmac.digest(key, _MARK_LABEL, sha256)[:_MARK_BYTES]

    def seal(self, key: Secret, owner: Owner) -> bytes:
        """Encrypt a key; the same one twice gives two texts."""
        nonce = os.urandom(_NONCE_BYTES)
        head = _FORMAT + self._mark
        bound = head + fingerprint(*owner)
        return head + nonce + self._cipher.encrypt(nonce, key.reveal().encode(), bound)

    def open(self, sealed: bytes, owner: Owner) -> Secret:
        """Decrypt a key, or say in one line why that cannot be."""
        head, rest = sealed[: 1 + _MARK_BYTES], sealed[1 + _MARK_BYTES :]
        if sealed[:1] != _FORMAT or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            raise Unsealable(_told(owner, "its row is damaged"))
        if head != _FORMAT + self._mark:
            raise Unsealable(
                f"the stored key {owner.provider} {owner.name} was encrypted with another secret"
                " key; give Quire that one by QUIRE_SECRET_KEY or QUIRE_SECRET_KEY_FILE, or"
                f" {_anew(owner)}"
            )
        nonce, text = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        try:
            return Secret(self._cipher.decrypt(nonce, text, head + fingerprint(*owner)).decode())
        except InvalidTag:
            raise Unsealable(_told(owner, "its row was changed, or moved here")) from None


def digest_of(key: Secret) -> bytes:
    """Tell keys apart without showing them."""
    return hmac.digest(_DIGEST_LABEL, key.reveal().encode(), sha256)[:DIGEST_BYTES]


@lru_cache(maxsize=4)  # a tenth of a second, once in a process
def _derived(secret: Secret) -> bytes:
    # The salt is the same everywhere, because there is no safe place for another: what keeps
    # people's own words from being guessed is that each guess takes a tenth of a second.
    text = secret.reveal().encode(errors=ANY_BYTES)
    return Scrypt(salt=_SALT, length=32, n=2**15, r=8, p=1).derive(text)


def _told(owner: Owner, why: str) -> str:
    return f"the stored key {owner.provider} {owner.name} cannot be read: {why}; {_anew(owner)}"


def _anew(owner: Owner) -> str:
    return f"`quire keys remove {owner.provider} {owner.name}` and add it again"
