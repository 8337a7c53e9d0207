"""Shared answers: many who ask at once cost what one does."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quire.domain.errors import NotFound
from quire.engine import open_engine
from quire.server.shared_answers import SharedAnswers
from quire.server.site import Site
from tests.time_limits import wait_until


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        """Begin at nought."""
        self.now = 0.0

    def __call__(self) -> float:
        """How late it is."""
        return self.now


def test_two_hundred_viewers_cost_one_question() -> None:
    asked: list[int] = []
    answers = SharedAnswers(Clock())

    with ThreadPoolExecutor(50) as pool:
        found = list(pool.map(lambda _: answers.get("run 3", lambda: _count(asked)), range(200)))

    assert found == [1] * 200
    assert len(asked) == 1


def test_an_answer_is_made_again_when_it_is_old_and_kept_where_it_still_holds() -> None:
    asked: list[int] = []
    clock = Clock()
    answers = SharedAnswers(clock)

    first = answers.get("run", lambda: _count(asked))
    clock.now += 2
    second = answers.get("run", lambda: _count(asked))
    clock.now += 2
    kept = answers.get("run", lambda: _count(asked), lambda answer: answer == 2)

    assert (first, second, kept) == (1, 2, 2)


def test_an_answer_that_took_long_is_good_for_longer() -> None:
    asked: list[int] = []
    clock = Clock()
    answers = SharedAnswers(clock)

    def take_three_seconds() -> int:
        clock.now += 3
        return _count(asked)

    answers.get("large run", take_three_seconds)
    clock.now += 25
    answers.get("large run", take_three_seconds)

    assert len(asked) == 1


def test_what_is_purged_elsewhere_is_forgotten_with_the_next_look(tmp_path: Path) -> None:
    """A page that took five seconds is kept for fifty; a purge by a command ends that."""
    clock, asked = Clock(), list[int]()
    place = str(tmp_path / "quire.db")
    site = Site(
        lambda workspace: open_engine(place, workspace=workspace), answers=SharedAnswers(clock)
    )
    engine = site.engine("local")
    (tmp_path / "a.md").write_text("A secret.")
    engine.ingest(tmp_path / "a.md")

    def make_slowly() -> int:
        clock.now += 5
        return _count(asked)

    seen = [site.recall(engine).get("page", make_slowly)]
    with open_engine(place) as command:
        command.library.purge("1")
    clock.now += 2
    seen += [site.recall(engine).get("page", make_slowly) for _ in range(3)]
    site.close()

    assert seen == [1, 2, 2, 2]


def _count(asked: list[int]) -> int:
    asked.append(1)
    return len(asked)


def test_nobody_waits_for_an_answer_that_is_made_behind() -> None:
    asked: list[int] = []
    clock, may_end = Clock(), threading.Event()
    answers = SharedAnswers(clock)

    def make_slowly() -> int:
        may_end.wait()
        return _count(asked)

    first = [answers.get_behind("report", make_slowly) for _ in range(3)]
    may_end.set()
    second = answers.get("report", make_slowly)
    clock.now += 2
    may_end.clear()
    old = answers.get_behind("report", make_slowly)
    may_end.set()

    assert first == [None] * 3
    assert second == old == 1
    assert answers.get("report", make_slowly, anew=True) in {2, 3}


def test_who_asks_next_is_told_why_an_answer_behind_came_to_nothing() -> None:
    answers = SharedAnswers(Clock())

    def fail() -> int:
        raise NotFound("there is no run 9")

    with pytest.raises(NotFound):
        wait_until(lambda: answers.get_behind("report", fail))
