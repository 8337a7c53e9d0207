"""A sealed key opens with the right secret, for its owner, unchanged; else one line says why."""

import pytest
from cryptography.hazmat.primitives.kdf import scrypt
from hypothesis import given
from hypothesis import strategies as st

from quire.accounts.encryption import Box, Owner, Unsealable, digest_of
from quire.domain.accounts import Secret
from quire.domain.ids import LOCAL, WorkspaceId

KEY = Secret("sk-ant-a-key-that-is-worth-money-1234")
MINE = Owner(LOCAL, "anthropic", "work")
OTHERS = (
    Owner(WorkspaceId("theirs"), "anthropic", "work"),
    Owner(LOCAL, "openai", "work"),
    Owner(LOCAL, "anthropic", "home"),
    Owner(LOCAL, "anthropicw", "ork"),
)
SEALED_IN_2026 = (
    "0186d34e310440dbf25fa447639702ebca6e03d12918773ee2afe8d0b095815db04d00"
    "a4385ab0a3b3e6f9b3a60d80ff6ac2b1de4b43a8f210cb3f16f2aef1fc161c77b96588"
)
SEALED_WITH_DRAWN_SECRET = (
    "01cca6e9189c23cf40e5bea44c216b76cff685867def4b7236502ba0846f7ea93087af"
    "a066014d9ee17c0d7458e5c3157c8f77d2eb3dfa9437f829aab6987e7816ee69f7c96b"
)
DRAWN = "quire-random:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
texts = st.text(max_size=40)


def test_a_sealed_key_opens_again_and_does_not_show_itself(box: Box) -> None:
    sealed = box.seal(KEY, MINE)

    assert box.open(sealed, MINE) == KEY
    assert KEY.reveal().encode() not in sealed
    assert KEY.tail.encode() not in sealed


def test_the_same_key_sealed_twice_gives_two_texts(box: Box) -> None:
    assert box.seal(KEY, MINE) != box.seal(KEY, MINE)


@given(key=texts, workspace=texts, provider=texts, name=texts)
def test_whatever_is_sealed_comes_back(
    box: Box, key: str, workspace: str, provider: str, name: str
) -> None:
    owner = Owner(WorkspaceId(workspace), provider, name)

    assert box.open(box.seal(Secret(key), owner), owner).reveal() == key


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_a_sealed_key_opens_for_nobody_else(box: Box, other: Owner) -> None:
    sealed = box.seal(KEY, MINE)

    with pytest.raises(Unsealable, match="changed, or moved here"):
        box.open(sealed, other)


@given(place=st.integers(0, 200), change=st.integers(1, 255))
def test_a_changed_byte_is_noticed_wherever_it_is(box: Box, place: int, change: int) -> None:
    sealed = bytearray(box.seal(KEY, MINE))
    sealed[place % len(sealed)] ^= change

    with pytest.raises(Unsealable) as told:
        box.open(bytes(sealed), MINE)

    assert "\n" not in str(told.value)


@given(st.binary(max_size=80))
def test_what_was_never_sealed_does_not_open(box: Box, junk: bytes) -> None:
    with pytest.raises(Unsealable):
        box.open(junk, MINE)


def test_a_wrong_secret_key_is_told_in_one_line(box: Box) -> None:
    sealed = box.seal(KEY, MINE)

    with pytest.raises(Unsealable) as told:
        Box(Secret("another secret key")).open(sealed, MINE)

    assert str(told.value) == (
        "the stored key anthropic work was encrypted with another secret key; give Quire that one"
        " by QUIRE_SECRET_KEY or QUIRE_SECRET_KEY_FILE, or `quire keys remove anthropic work` and"
        " add it again"
    )


def test_the_same_secret_makes_the_same_box_everywhere() -> None:
    sealed = Box(Secret("the same everywhere")).seal(KEY, MINE)

    assert Box(Secret("the same everywhere")).open(sealed, MINE) == KEY


def test_a_box_of_an_earlier_day_still_opens() -> None:
    """Sealed by the first version: its form must not change without a new number in front."""
    sealed = bytes.fromhex(SEALED_IN_2026)

    assert Box(Secret("a secret of the year 2026")).open(sealed, MINE) == KEY


def test_a_secret_that_was_drawn_is_not_stretched_and_other_words_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stretched = list[bytes]()
    derive = scrypt.Scrypt.derive

    def count(self: scrypt.Scrypt, text: bytes) -> bytes:
        stretched.append(text)
        return derive(self, text)

    monkeypatch.setattr(scrypt.Scrypt, "derive", count)

    assert Box(Secret(DRAWN)).open(bytes.fromhex(SEALED_WITH_DRAWN_SECRET), MINE) == KEY
    assert stretched == []
    Box(Secret(f"{DRAWN} and more"))
    assert stretched == [f"{DRAWN} and more".encode()]


def test_a_secret_that_is_no_text_is_a_secret_all_the_same() -> None:
    one, other = (Secret(raw.decode(errors="surrogateescape")) for raw in (b"\xff" * 32, b"\xfe"))
    sealed = Box(one).seal(KEY, MINE)

    assert Box(one).open(sealed, MINE) == KEY
    with pytest.raises(Unsealable):
        Box(other).open(sealed, MINE)


@given(one=texts, other=texts)
def test_keys_are_told_apart_by_their_digest(one: str, other: str) -> None:
    assert (digest_of(Secret(one)) == digest_of(Secret(other))) == (one == other)
    assert len(digest_of(Secret(one))) == 8
