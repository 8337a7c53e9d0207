"""What headers said of limits is believed for an hour, unless they say it again."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from unittest.mock import patch

from quire.domain.accounts import Level, Need, Pool, Rates
from quire.domain.models import Limits
from quire.ledger.connection import Row
from quire.ledger.ledger import Ledger
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.limits import LimitLevels
from quire.pipeline.calls.admit import LimitReport, learn_limits, scarce_limits
from tests.ledger.factories import NOW
from tests.planning.examples import make_facts

HOUR = timedelta(hours=1)
FACTS = make_facts()
POOL = Pool(FACTS.name, 0)
EMPTY = Level(0, 0, 0, 0, 0)


def test_limits_of_headers_lapse_after_an_hour_without_a_word(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.levels.add_limit_level(POOL, EMPTY)
        tx.levels.learn_limits(POOL, Limits(requests=5, total=700), NOW)

        fresh = tx.levels.take_limit_level(POOL, NOW + HOUR)
        tx.levels.learn_limits(POOL, Limits(requests=6), NOW + HOUR)
        confirmed = tx.levels.take_limit_level(POOL, NOW + HOUR + HOUR)
        lapsed = tx.levels.take_limit_level(POOL, NOW + HOUR + HOUR + timedelta(seconds=1))

        assert fresh == (EMPTY, Limits(requests=5, total=700), "")
        assert confirmed == (EMPTY, Limits(requests=6, total=700), "")
        assert lapsed == (EMPTY, Limits(), "")


def test_a_limit_that_headers_name_no_more_goes_with_the_others(ledger: Ledger) -> None:
    late = NOW + HOUR + timedelta(seconds=1)
    with ledger.transaction() as tx:
        tx.levels.add_limit_level(POOL, EMPTY)
        tx.levels.learn_limits(POOL, Limits(requests=5, total=700), NOW)

        tx.levels.learn_limits(POOL, Limits(requests=6), late)

        assert tx.levels.list_limit_levels(late) == [(POOL, EMPTY, Limits(requests=6))]


def test_what_has_lapsed_holds_no_call_back(ledger: Ledger) -> None:
    late, debt = NOW + HOUR + HOUR, EMPTY._replace(at=to_micros(NOW), requests=-5_000)
    with ledger.transaction() as tx:
        tx.levels.add_limit_level(POOL, debt)
        tx.levels.learn_limits(POOL, Limits(requests=5), NOW)
        assert scarce_limits(tx, FACTS, NOW) == ["5 requests"]

        learn_limits(tx, [LimitReport(POOL, Limits(), Need(0, 0, 0), [])], late)

        assert scarce_limits(tx, FACTS, late) == []
        assert tx.levels.list_limit_levels(late) == [(POOL, debt, Limits())]


def test_what_many_answers_say_of_limits_is_written_once(ledger: Ledger) -> None:
    limits, said = Limits(requests=1_000), Limits(requests=60)
    report = LimitReport(POOL, Limits(), Need(0, 250, 0), [Rates(limits, said)] * 50)
    with ledger.transaction() as tx:
        with count_statements(tx.levels) as counted:
            learn_limits(tx, [report], NOW)
        held = tx.levels.take_limit_level(POOL, NOW)

    statements = ("add_limit_level", "learn_limits", "take_limit_level", "set_limit_level")
    assert counted == dict.fromkeys(statements, 1)
    assert held == (Level(to_micros(NOW), 60_000, 0, 0, 0), limits, "")


def test_what_the_last_answer_does_not_state_stays_as_an_earlier_one_did(ledger: Ledger) -> None:
    stated = [Limits(requests=9, total=700), Limits(requests=8), Limits()]
    rates = [Rates(limits, Limits()) for limits in stated]
    with ledger.transaction() as tx:
        learn_limits(tx, [LimitReport(POOL, Limits(), Need(0, 0, 0), rates)], NOW)

        assert tx.levels.list_limit_levels(NOW)[0][2] == Limits(requests=8, total=700)


@contextmanager
def count_statements(table: LimitLevels) -> Iterator[Counter[str]]:
    """How often a table carries out each statement."""
    counted: Counter[str] = Counter()
    run, change = table._run, table._change

    def counting_run(name: str, /, **values: object) -> list[Row]:
        counted[name] += 1
        return run(name, **values)

    def counting_change(name: str, /, **values: object) -> int:
        counted[name] += 1
        return change(name, **values)

    with patch.multiple(table, _run=counting_run, _change=counting_change):
        yield counted
