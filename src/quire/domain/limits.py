"""Limits in use: whose they are, what is left of them, what a call takes."""

from typing import NamedTuple


class Pool(NamedTuple):
    """Whose limits and whose prompt cache: a model, called with one credential."""

    model: str
    credential: int  # 0: no key was needed


class Level(NamedTuple):
    """What is left of each limit a minute, in thousandths, and when that was so."""

    at: int  # microseconds
    requests: int  # negative is a debt
    input: int
    output: int
    total: int


class Need(NamedTuple):
    """What calls take of each limit; a call is reckoned at the most it may take."""

    requests: int
    input: int
    output: int

    @property
    def total(self) -> int:
        """Input and output together, which some providers limit."""
        return self.input + self.output
