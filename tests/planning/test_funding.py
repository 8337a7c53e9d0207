"""What a call is allowed where money is short, and what a run is said to need."""

from itertools import pairwise

from quire.domain.pricing import DOLLAR
from quire.planning.funding import missing_funds, tight_output


def test_an_answer_that_is_cut_off_again_and_again_is_whole_in_the_end() -> None:
    allowed = [tight_output([400], cut) for cut in range(6)]

    assert allowed[0] == 900  # a quarter more than usual, and one more
    assert all(after == 4 * before for before, after in pairwise(allowed))


def test_what_a_run_needs_is_rounded_up_because_people_pay_in_what_they_read() -> None:
    cent = DOLLAR // 100

    assert missing_funds(100 * cent + 1, 20 * cent, 5 * cent) == 140 * cent + cent // 100
