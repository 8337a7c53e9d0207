"""A download in groups: answers by the thousand, rows that take work of their own in fewer."""

from contextlib import closing

from quire.dispatch.collector import GROUP, HEAVY, Download
from quire.domain.batches import BatchRow, RowEnd
from quire.domain.errors import ProviderError, Remedy
from quire.domain.models import Usage
from quire.domain.requests import Reply, Stop

REPLY = Reply("{}", Stop.END, Usage())


def rows_until_full(end: RowEnd) -> int:
    error = ProviderError("no", remedy=Remedy.SPLIT) if end is RowEnd.ERRORED else None
    with closing(Download(frozenset({"a"}))) as download:
        for number in range(10 * GROUP):
            if download.is_full:
                assert len(download.next_group()) == number
                assert not download.is_full
                return number
            reply = REPLY if end is RowEnd.ANSWERED else None
            download.take(BatchRow(f"a-{number}", end, b"{}", error), reply)
    raise AssertionError("it was never full")


def test_rows_that_take_statements_of_their_own_fill_a_group_sooner() -> None:
    assert rows_until_full(RowEnd.ANSWERED) == GROUP
    assert rows_until_full(RowEnd.ERRORED) == GROUP // HEAVY


def test_an_answer_is_taken_once_and_after_any_other_row_of_its_call() -> None:
    lost = BatchRow("a-1", RowEnd.EXPIRED)
    answer = BatchRow("a-1", RowEnd.ANSWERED, b"{}")
    with closing(Download(frozenset({"a"}))) as download:
        for row in (lost, lost, answer, answer, lost):
            download.take(row, REPLY if row is answer else None)

        assert [body.end for body in download.next_group()] == [RowEnd.EXPIRED, RowEnd.ANSWERED]
        assert (download.strays.duplicates, download.answers) == (3, 2)


def test_what_the_server_broke_down_at_before_any_answer_waits_for_the_end() -> None:
    error = ProviderError("500", remedy=Remedy.RETRY)
    broken = [BatchRow(f"a-{number}", RowEnd.ERRORED, b"{}", error) for number in range(4)]
    answer = BatchRow("a-1", RowEnd.ANSWERED, b"{}")
    with closing(Download(frozenset({"a"}))) as download:
        for row in (*broken[:3], answer, broken[3]):
            download.take(row, REPLY if row is answer else None)

        assert [row.attempt for row in download.broken_rows] == [0, 2]  # the other was answered
        assert [row.attempt for row in download.next_group()] == [1, 3]
