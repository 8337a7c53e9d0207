"""What headers said of limits is believed for an hour, unless they say it again."""

from datetime import timedelta

from quire.domain.accounts import Level, Need, Pool
from quire.domain.models import Limits
from quire.ledger.ledger import Ledger
from quire.ledger.stored_values import to_micros
from quire.pipeline.calls.admit import LimitReport, learn_limits, scarce_limits
from tests.ledger.factories import NOW
from tests.plan.examples import make_facts

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

        assert fresh == (EMPTY, Limits(requests=5, total=700))
        assert confirmed == (EMPTY, Limits(requests=6, total=700))
        assert lapsed == (EMPTY, Limits())


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

        learn_limits(tx, [LimitReport(POOL, Limits(), Need(0, 0, 0), None)], late)

        assert scarce_limits(tx, FACTS, late) == []
        assert tx.levels.list_limit_levels(late) == [(POOL, debt, Limits())]
