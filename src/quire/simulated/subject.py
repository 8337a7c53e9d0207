"""One block as the simulated model reads it: its text, its words, and a stable source of choice."""

from typing import NamedTuple
from zlib import crc32

_ODD = 0x9E3779B97F4A7C15  # multiplying by it spreads every bit, so fields choose independently


class Subject(NamedTuple):
    """What one record is written from; a NamedTuple because one is made for every block."""

    content: str
    words: list[str]
    choice: int  # stable for equal content, on every machine and in every process


def read(content: str) -> Subject:
    """Read one block; its place, its id and its neighbours play no part."""
    return Subject(content, content.split(), crc32(content.encode("utf-8", "surrogatepass")))


def choose(choice: int, seed: int) -> int:
    """Choose a number below 2**32 that looks unrelated to what another seed would choose."""
    return (choice ^ seed) * _ODD >> 29 & 0xFFFFFFFF


def seed_of(name: str) -> int:
    """Give a field its own seed."""
    return crc32(name.encode("utf-8", "surrogatepass"))
