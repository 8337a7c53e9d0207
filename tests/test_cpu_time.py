"""The CPU time of a server is known although it is nobody's child."""

import os
from time import process_time

from tests.cpu_time import seconds_of_tree, seconds_so_far


def test_what_a_process_used_is_counted() -> None:
    before = seconds_so_far()
    until = process_time() + 0.05

    while process_time() < until:
        pass

    assert seconds_so_far() - before > 0.04
    assert seconds_of_tree(os.getpid()) > 0.04


def test_a_process_that_is_gone_counts_nothing() -> None:
    assert seconds_of_tree(2**30) == 0
