"""Everything an experiment leaves to chance, from one seed: samples, displays, bundles."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, TypeVar

ALPHABET = digits + ascii_lowercase + ascii_uppercase
TOKEN_LENGTH = 6

_32_BITS = 0xFFFFFFFF
_SEED_FACTOR, _INDEX_FACTOR, _NEXT_TRY = 2654435761, 2246822519, 1000003

Item = TypeVar("Item")


def mulberry32(seed: int) -> Iterator[int]:
    """Draw whole numbers of 32 bits without end; divided by 2**32 they are fractions."""
    state = seed & _32_BITS
    while True:
        state = (state + 0x6D2B79F5) & _32_BITS
        mixed = _product(state ^ state >> 15, 1 | state)
        mixed = (mixed + _product(mixed ^ mixed >> 7, 61 | mixed)) & _32_BITS ^ mixed
        yield mixed ^ mixed >> 14


def sample_seeds(base: int, count: int) -> tuple[int, ...]:
    """A seed of its own for every sample, no two alike; more samples leave the first unchanged."""
    seeds: dict[int, None] = {}
    drawn = mulberry32(base)
    while len(seeds) < count:
        seeds.setdefault(next(drawn))
    return tuple(seeds)


def swap_seed(seed: int) -> int:
    """The display seed of a sample judged again by a rival: another one, as surely repeated."""
    return next(mulberry32(seed))


def opaque_tokens(seed: int, count: int) -> tuple[str, ...]:
    """Identifiers that say nothing about the stages they stand for, weakest stage first."""
    tokens: list[str] = []
    taken: set[str] = set()
    for index in range(count):
        attempt = 0
        # alike but for upper case counts as taken: an answer may be read without regard to case
        while (token := _token(seed + attempt * _NEXT_TRY, index)).lower() in taken:
            attempt += 1
        tokens.append(token)
        taken.add(token.lower())
    return tuple(tokens)


def letters(count: int) -> tuple[str, ...]:
    """Identifiers A, B, C and so on, weakest stage first; AA follows Z."""
    return tuple(_letter_name(number) for number in range(count))


def shuffle(items: Sequence[Item], seed: int) -> tuple[Item, ...]:
    """Put items into an order of equal chances (Fisher and Yates), decided by the seed."""
    order = list(items)
    drawn = mulberry32(seed)
    for last in range(len(order) - 1, 0, -1):
        chosen = next(drawn) * (last + 1) >> 32
        order[last], order[chosen] = order[chosen], order[last]
    return tuple(order)


def _token(seed: int, index: int) -> str:
    drawn = mulberry32(_product(seed, _SEED_FACTOR) ^ _product(index + 1, _INDEX_FACTOR))
    return "".join(ALPHABET[next(drawn) * len(ALPHABET) >> 32] for _ in range(TOKEN_LENGTH))


def _letter_name(number: int) -> str:
    above, place = divmod(number, len(ascii_uppercase))
    return (_letter_name(above - 1) if above else "") + ascii_uppercase[place]


def _product(left: int, right: int) -> int:
    return left * right & _32_BITS


ANONYMIZE, HIDE_LABELS, SHUFFLE = "anonymize_stages", "hide_label_text", "shuffle_rubric_order"
RANDOMIZATIONS = (ANONYMIZE, HIDE_LABELS, SHUFFLE)


class ScaleDisplay(NamedTuple):
    """How the stages of a scale are named and ordered; it never depends on what they say."""

    tokens: tuple[str, ...]  # identifiers, weakest stage first
    order: tuple[int, ...]  # stage numbers from 1, as displayed
    hide_labels: bool
    shuffled: bool

    @property
    def labels(self) -> dict[str, int]:
        """The label mapping: what each identifier stands for."""
        return {token: number for number, token in enumerate(self.tokens, 1)}


def scale_display(seed: int, scale_size: int, randomizations: tuple[str, ...]) -> ScaleDisplay:
    """Make the surface that a display seed decides."""
    opaque = ANONYMIZE in randomizations
    mixed = SHUFFLE in randomizations
    numbers = range(1, scale_size + 1)
    return ScaleDisplay(
        tokens=opaque_tokens(seed, scale_size) if opaque else letters(scale_size),
        order=shuffle(numbers, seed) if mixed else tuple(numbers),
        hide_labels=HIDE_LABELS in randomizations,
        shuffled=mixed,
    )


ROUND_ROBIN, RANDOM = "window_round_robin", "random_bundle"
STRATEGIES = (ROUND_ROBIN, RANDOM)


@lru_cache(maxsize=16)  # asked for once a rubric, with the same answer
def bundles(
    windows: tuple[int, ...], size: int, strategy: str, seed: int
) -> tuple[tuple[int, ...], ...]:
    """Positions of evidence, by bundle; `windows` holds the window of each piece."""
    positions = range(len(windows))
    order = shuffle(positions, seed) if strategy == RANDOM else _round_robin(windows)
    return tuple(tuple(order[start : start + size]) for start in range(0, len(order), size))


def bundle_signature(evidence: Sequence[str]) -> str:
    """Name a bundle by what is in it, whatever the order."""
    return "|".join(sorted(evidence))


def _round_robin(windows: Sequence[int]) -> tuple[int, ...]:
    """One piece of each window in turn, windows and pieces in their own order."""
    of_window: dict[int, list[int]] = {}
    for position, window in enumerate(windows):
        of_window.setdefault(window, []).append(position)
    rounds = zip_longest(*(of_window[window] for window in sorted(of_window)))
    return tuple(position for item in rounds for position in item if position is not None)
