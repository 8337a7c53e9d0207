"""The secret key that guards stored keys: from the environment, or from a file of one's own."""

import os
import stat
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quire.accounts.sealing import ANY_BYTES, SHORTEST_SECRET, Box
from quire.domain.accounts import Secret
from quire.domain.errors import UsageError
from quire.settings import FILE

KEY_FILE = "quire.key"
VARIABLE, FILE_VARIABLE = "QUIRE_SECRET_KEY", "QUIRE_SECRET_KEY_FILE"

_OTHERS = 0o077  # the rights of everybody but the owner
_MOST_BYTES = 65536


class KeyPlace(NamedTuple):
    """Where the secret key is: in the environment, else in a file."""

    told: Secret  # empty: nothing in the environment
    path: Path


def key_place(environment: Mapping[str, str], folder: Path, ledger: str) -> KeyPlace:
    """Find where the secret key is or would be: beside quire.toml, else beside the ledger."""
    told = Secret(environment.get(VARIABLE, "").strip())
    if environment.get(FILE_VARIABLE):
        return KeyPlace(told, Path(environment[FILE_VARIABLE]).expanduser())
    return KeyPlace(told, settings_folder(folder, ledger) / KEY_FILE)


def settings_folder(folder: Path, ledger: str) -> Path:
    """The folder of the nearest quire.toml; without one, the ledger's; without a file, this one."""
    for each in (folder, *folder.parents):
        if (each / FILE).is_file():
            return each
    return folder if "://" in ledger else (folder / ledger).parent


def open_box(place: KeyPlace) -> Box:
    """Take the secret key from where it is, or say what to do."""
    if place.told:
        return Box(_long_enough(place.told, VARIABLE))
    try:
        if not place.path.is_file() and place.path.exists():
            raise UsageError(f"{place.path} is not a file; `quire init` writes one, {VARIABLE} too")
        with place.path.open("rb") as file:
            _refuse_open_doors(place.path, os.fstat(file.fileno()).st_mode)
            text = file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise UsageError(
            f"the secret key that stored keys are encrypted with is missing: put {place.path} back,"
            f" or set {VARIABLE}"
        ) from None
    except OSError as error:
        raise UsageError(f"{place.path}: {error.strerror}; {VARIABLE} would do as well") from None
    return Box(_long_enough(Secret(text.decode(errors=ANY_BYTES).strip()), str(place.path)))


def make_key(place: KeyPlace) -> bool:
    """Write a new secret key for its owner alone; false if there is one, here or elsewhere."""
    if place.told or place.path.exists():
        return False
    draft = place.path.with_name(f"{place.path.name}.{os.getpid()}")
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(b64encode(os.urandom(32)) + b"\n")
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


def _long_enough(secret: Secret, where: str) -> Secret:
    if len(secret.reveal()) < SHORTEST_SECRET:
        raise UsageError(
            f"{where} holds no secret key: it needs at least {SHORTEST_SECRET} characters, such as"
            " `openssl rand -base64 32` prints"
        )
    return secret


def _refuse_open_doors(path: Path, mode: int) -> None:
    if os.name == "posix" and stat.S_IMODE(mode) & _OTHERS:
        raise UsageError(f"{path} can be read by others than its owner; `chmod 600 {path}`")
