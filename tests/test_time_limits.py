"""A test that would hang fails instead, wherever it hangs, and says so."""

import gc
import threading
from pathlib import Path

import pytest

from tests.time_limits import at_most, time_limit
from tests.world import World, sentences


@pytest.fixture(autouse=True)
def nobody_else() -> None:
    """No worker of an earlier test is left in memory."""
    gc.collect()


def test_a_wait_without_end_is_ended() -> None:
    with (
        pytest.raises(pytest.fail.Exception, match=r"not over after 0\.1 seconds"),
        time_limit(0.1),
    ):
        threading.Event().wait()


def test_an_event_loop_that_never_ends_is_ended(tmp_path: Path) -> None:
    here = World(str(tmp_path / "quire.db"), "hang=1", grace=0.1)
    here.ingest(sentences(1))

    with (
        pytest.raises(pytest.fail.Exception, match=r"not over after 0\.3 seconds"),
        time_limit(0.3),
    ):
        here.run()
    here.close()


def test_a_limit_inside_a_limit_leaves_that_in_force() -> None:
    def wait() -> None:
        with time_limit(10.0):
            pass
        threading.Event().wait()

    with pytest.raises(pytest.fail.Exception, match=r"after 0\.2"), time_limit(0.2):
        wait()


def test_a_run_that_takes_too_long_says_how_it_stood(tmp_path: Path) -> None:
    here = World(str(tmp_path / "quire.db"), "hang=1", grace=0.1)
    here.ingest(sentences(3))

    with pytest.raises(AssertionError, match=r"not over in 0\.3 s: .*'packed': 3"):
        here.start(pack_size=1).wait(at_most(0.3))
    here.close()
