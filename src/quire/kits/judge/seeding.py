"""Seeding: everything an experiment leaves to chance follows from one number, for ever alike."""

from collections.abc import Iterator, Sequence
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TypeVar

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
    return tuple(_letters(number) for number in range(count))


def shuffled(items: Sequence[Item], seed: int) -> tuple[Item, ...]:
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


def _letters(number: int) -> str:
    above, place = divmod(number, len(ascii_uppercase))
    return (_letters(above - 1) if above else "") + ascii_uppercase[place]


def _product(left: int, right: int) -> int:
    return left * right & _32_BITS
