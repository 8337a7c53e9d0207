"""The CPU time of a server is known although it is nobody's child."""

import os
import subprocess
import sys
from time import process_time

from tests.cpu_time import count_tree, seconds_of_tree, seconds_so_far

HAS_A_CHILD = """
import os, sys, time
if not os.fork():
    while time.process_time() < 0.1: pass
    print("done", flush=True)
sys.stdin.read()
"""


def test_what_a_process_used_is_counted() -> None:
    before = seconds_so_far()
    until = process_time() + 0.05

    while process_time() < until:
        pass

    assert seconds_so_far() - before > 0.04
    assert seconds_of_tree(os.getpid()) > 0.04


def test_a_process_that_is_gone_counts_nothing() -> None:
    assert seconds_of_tree(2**30) == 0


def test_what_a_child_leaves_behind_is_counted_when_it_ends() -> None:
    start = [sys.executable, "-I", "-S", "-c", HAS_A_CHILD]
    with subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        before = seconds_so_far()

        with count_tree(child.pid):
            child.kill()
            child.wait()

    assert seconds_so_far() - before > 0.08
