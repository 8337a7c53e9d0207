"""Encryption of stored keys: AES-256-GCM, under a secret key from the environment or a file.

The library that does it is loaded with the first box: most processes open none.
"""

import hmac
import os
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from quire.domain.accounts import Secret
from quire.domain.errors import UsageError
from quire.domain.ids import WorkspaceId, fingerprint
from quire.settings import FILE

SHORTEST_SECRET = 16  # characters
DIGEST_BYTES = 8
ANY_BYTES = "surrogateescape"  # secrets that are no text are read and written back unchanged

_FORMAT = b"\x01"  # then 4 bytes that recognise the box, the nonce, the text with its tag
_MARK_BYTES, _NONCE_BYTES, _TAG_BYTES = 4, 12, 16
_SALT = b"quire: the key that seals stored credentials"
_DRAWN = re.compile(r"quire-random:([A-Za-z0-9+/]{43}=)")  # a secret that we drew by lot
_DIGEST_LABEL = b"quire: which key this is"
_MARK_LABEL = b"quire: which box this is"


class Unsealable(UsageError):
    """A stored key cannot be decrypted here."""


class Owner(NamedTuple):
    """Whose key it is: a sealed text opens for nobody else, so that rows cannot be swapped."""

    workspace: WorkspaceId
    provider: str
    name: str
    person: str = ""  # empty: the workspace's own

    @property
    def binding(self) -> bytes:
        """What a sealed text is bound to; keys of the workspace, as before there were others."""
        return fingerprint(*(self if self.person else self[:3]))


class Box:
    """Seals keys and opens them again, under one secret."""

    def __init__(self, secret: Secret) -> None:
        """Derive the encryption key from the secret, whatever text it is."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        key = _derive_key(secret)
        self._cipher = AESGCM(key)
        self._mark = hmac.digest(key, _MARK_LABEL, sha256)[:_MARK_BYTES]

    def seal(self, key: Secret, owner: Owner) -> bytes:
        """Encrypt a key; the same one twice gives two texts."""
        nonce = os.urandom(_NONCE_BYTES)
        head = _FORMAT + self._mark
        bound = head + owner.binding
        return head + nonce + self._cipher.encrypt(nonce, key.reveal().encode(), bound)

    def open(self, sealed: bytes, owner: Owner) -> Secret:
        """Decrypt a key, or say in one line why that cannot be."""
        head, rest = sealed[: 1 + _MARK_BYTES], sealed[1 + _MARK_BYTES :]
        if sealed[:1] != _FORMAT or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            raise _unreadable(owner, "its row is damaged")
        if head != _FORMAT + self._mark:
            raise Unsealable(
                f"the stored key {owner.provider} {owner.name} was encrypted with another secret"
                " key",
                "give Quire that one by QUIRE_SECRET_KEY or QUIRE_SECRET_KEY_FILE, or"
                f" {_add_again_hint(owner)}",
            )
        from cryptography.exceptions import InvalidTag

        nonce, text = rest[:_NONCE_BYTES], rest[_NONCE_BYTES:]
        try:
            return Secret(self._cipher.decrypt(nonce, text, head + owner.binding).decode())
        except InvalidTag:
            raise _unreadable(owner, "its row was changed, or moved here") from None


def digest_of(key: Secret) -> bytes:
    """Tell keys apart without showing them."""
    return hmac.digest(_DIGEST_LABEL, key.reveal().encode(), sha256)[:DIGEST_BYTES]


@lru_cache(maxsize=4)  # people's own words take a tenth of a second, once in a process
def _derive_key(secret: Secret) -> bytes:
    if drawn := _DRAWN.fullmatch(secret.reveal()):  # as many guesses as there are keys: no need
        return hmac.digest(_SALT, b64decode(drawn[1]), sha256)
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    # The salt is the same everywhere, because there is no safe place for another: what keeps
    # people's own words from being guessed is that each guess takes a tenth of a second.
    text = secret.reveal().encode(errors=ANY_BYTES)
    return Scrypt(salt=_SALT, length=32, n=2**15, r=8, p=1).derive(text)


def _unreadable(owner: Owner, why: str) -> Unsealable:
    name = f"{owner.provider} {owner.name}"
    return Unsealable(f"the stored key {name} cannot be read: {why}", _add_again_hint(owner))


def _add_again_hint(owner: Owner) -> str:
    return f"`quire keys remove {owner.provider} {owner.name}` and add it again"


KEY_FILE = "quire.key"
VARIABLE, FILE_VARIABLE = "QUIRE_SECRET_KEY", "QUIRE_SECRET_KEY_FILE"

_OTHERS = 0o077  # the rights of everybody but the owner
_MOST_BYTES = 65536


class SecretKeyPlace(NamedTuple):
    """Where the secret key is: in the environment, else in a file."""

    secret: Secret  # empty: nothing in the environment
    path: Path


def secret_key_place(environment: Mapping[str, str], folder: Path, ledger: str) -> SecretKeyPlace:
    """Find where the secret key is or would be: beside quire.toml, else beside the ledger."""
    secret = Secret(environment.get(VARIABLE, "").strip())
    if environment.get(FILE_VARIABLE):
        return SecretKeyPlace(secret, Path(environment[FILE_VARIABLE]).expanduser())
    return SecretKeyPlace(secret, settings_folder(folder, ledger) / KEY_FILE)


def settings_folder(folder: Path, ledger: str) -> Path:
    """The folder of the nearest quire.toml; without one, the ledger's; without a file, this one."""
    for path in (folder, *folder.parents):
        if (path / FILE).is_file():
            return path
    return folder if "://" in ledger else (folder / ledger).parent


def open_box(place: SecretKeyPlace) -> Box:
    """Take the secret key from where it is, or say what to do."""
    if place.secret:
        return Box(_check_length(place.secret, VARIABLE))
    try:
        if not place.path.is_file() and place.path.exists():
            hint = f"`quire init` writes one, {VARIABLE} too"
            raise UsageError(f"{place.path} is not a file", hint)
        with place.path.open("rb") as file:
            _refuse_readable_by_others(place.path, os.fstat(file.fileno()).st_mode)
            text = file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise UsageError(
            f"the secret key that stored keys are encrypted with is missing: put {place.path} back,"
            f" or set {VARIABLE}"
        ) from None
    except OSError as error:
        hint = f"{VARIABLE} would do as well"
        raise UsageError(f"{place.path}: {error.strerror}", hint) from None
    return Box(_check_length(Secret(text.decode(errors=ANY_BYTES).strip()), str(place.path)))


def make_secret_key(place: SecretKeyPlace) -> bool:
    """Write a new secret key for its owner alone; false if there is one, here or elsewhere."""
    if place.secret or place.path.exists():
        return False
    draft = place.path.with_name(f"{place.path.name}.{os.getpid()}")
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(b"quire-random:" + b64encode(os.urandom(32)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, place.path)  # whoever sees it sees all of it; of two who write, one wins
    except FileExistsError:
        return False
    except OSError:  # a disk without links
        draft.rename(place.path)
    finally:
        draft.unlink(missing_ok=True)
    return True


def _check_length(secret: Secret, where: str) -> Secret:
    if len(secret.reveal()) < SHORTEST_SECRET:
        raise UsageError(
            f"{where} holds no secret key: it needs at least {SHORTEST_SECRET} characters, such as"
            " `openssl rand -base64 32` prints"
        )
    return secret


def _refuse_readable_by_others(path: Path, mode: int) -> None:
    if os.name == "posix" and stat.S_IMODE(mode) & _OTHERS:
        raise UsageError(f"{path} can be read by others than its owner", f"`chmod 600 {path}`")
