"""Figures are shown even where pytest keeps the output of tests that pass to itself."""

import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print a line for the person who started the soak."""

    def say(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    return say
