"""Seeds: the same numbers, identifiers and orders for ever, as an independent port draws them."""

from collections import Counter
from itertools import islice, permutations

from hypothesis import given
from hypothesis import strategies as st

from quire.kits.judge.randomization import (
    ALPHABET,
    RANDOMIZATIONS,
    letters,
    mulberry32,
    opaque_tokens,
    sample_seeds,
    scale_display,
    shuffle,
    swap_seed,
)

SEEDS = st.integers(0, 2**32 - 1)

# written down from a JavaScript engine
PINNED_SEEDS = (50271532, 266108690, 4195786334)
PINNED_TOKENS = ("EufGED", "2TRU47", "wRHZgk", "F1jk0l")
PINNED_ORDER = (4, 2, 3, 5, 1)


class Port:
    """The published generator, written out as its JavaScript reads: signed 32-bit integers."""

    def __init__(self, seed: int) -> None:
        self.seed = _signed(seed)

    def fraction(self) -> float:
        self.seed = _signed(self.seed + 0x6D2B79F5)
        mixed = _imul(self.seed ^ _right(self.seed, 15), 1 | self.seed)
        mixed = _signed((mixed + _imul(mixed ^ _right(mixed, 7), 61 | mixed)) ^ mixed)
        return ((mixed ^ _right(mixed, 14)) & 0xFFFFFFFF) / 4294967296


def _signed(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def _right(value: int, bits: int) -> int:
    return (value & 0xFFFFFFFF) >> bits


def _imul(left: int, right: int) -> int:
    return _signed(left * right)


def _port_tokens(seed: int, count: int) -> list[str]:
    tokens: list[str] = []
    for index in range(count):
        attempt = 0
        while True:
            mixed = _imul(seed + attempt * 1000003, 2654435761) ^ _imul(index + 1, 2246822519)
            port = Port(mixed)
            token = "".join(ALPHABET[int(port.fraction() * 62)] for _ in range(6))
            if token not in tokens:
                break
            attempt += 1
        tokens.append(token)
    return tokens


def test_the_first_number_of_seed_zero_is_the_one_found_by_hand() -> None:
    # s = 6d2b79f5; s ^ s >>> 15 = 6d2ba3a3; times (1 | s) = …fe7ca5ff;
    # plus fe7ca5ff ^ fe7ca5ff >>> 7 times (61 | fe7ca5ff), xor fe7ca5ff = 4435a4b4; xor >>> 14
    assert next(mulberry32(0)) == 0x4434B462


@given(seed=SEEDS)
def test_numbers_are_those_of_the_port(seed: int) -> None:
    port = Port(seed)

    drawn = [number / 2**32 for number in islice(mulberry32(seed), 50)]

    assert drawn == [port.fraction() for _ in range(50)]


@given(seed=SEEDS, count=st.integers(2, 26))
def test_identifiers_are_those_of_the_port(seed: int, count: int) -> None:
    assert list(opaque_tokens(seed, count)) == _port_tokens(seed, count)


@given(seed=SEEDS)
def test_an_order_is_that_of_the_port(seed: int) -> None:
    port = Port(seed)
    expected = list(range(1, 8))
    for last in range(6, 0, -1):
        chosen = int(port.fraction() * (last + 1))
        expected[last], expected[chosen] = expected[chosen], expected[last]

    assert list(shuffle(range(1, 8), seed)) == expected


def test_what_was_drawn_once_is_drawn_for_ever() -> None:
    assert sample_seeds(7, 3) == PINNED_SEEDS
    assert opaque_tokens(7, 4) == PINNED_TOKENS
    assert shuffle((1, 2, 3, 4, 5), 7) == PINNED_ORDER


def test_more_samples_leave_the_first_ones_alone() -> None:
    assert sample_seeds(11, 500)[:30] == sample_seeds(11, 30)
    assert len(set(sample_seeds(11, 500))) == 500


def test_every_order_is_as_likely_as_any_other() -> None:
    counts = Counter(shuffle((1, 2, 3), seed) for seed in sample_seeds(1, 6_000))

    assert set(counts) == set(permutations((1, 2, 3)))
    assert all(880 < count < 1_120 for count in counts.values())


def test_a_swap_is_displayed_with_a_seed_of_its_own() -> None:
    seeds = sample_seeds(3, 200)

    assert all(swap_seed(seed) != seed for seed in seeds)
    assert len({swap_seed(seed) for seed in seeds}) == 200


def test_letters_follow_the_alphabet() -> None:
    assert letters(5) == ("A", "B", "C", "D", "E")
    assert letters(60)[24:28] == ("Y", "Z", "AA", "AB")
    assert len(set(letters(100))) == 100


def test_a_surface_is_plain_without_randomizations() -> None:
    plain = scale_display(5, 4, ())

    assert plain.tokens == ("A", "B", "C", "D")
    assert plain.order == (1, 2, 3, 4)
    assert plain.labels == {"A": 1, "B": 2, "C": 3, "D": 4}
    assert not plain.hide_labels
    assert not plain.shuffled


@given(seed=SEEDS, size=st.integers(2, 26))
def test_a_surface_names_and_orders_every_stage_once(seed: int, size: int) -> None:
    mixed = scale_display(seed, size, RANDOMIZATIONS)

    assert sorted(mixed.order) == list(range(1, size + 1))
    assert sorted(mixed.labels.values()) == list(range(1, size + 1))
    assert all(len(token) == 6 and set(token) <= set(ALPHABET) for token in mixed.tokens)
    assert mixed.hide_labels
    assert mixed == scale_display(seed, size, RANDOMIZATIONS)
