"""What answered calls took replaces the rules of thumb, each part by its own evidence."""

from dataclasses import replace

import pytest

from quire.domain.requests import OutputSample
from quire.planning.job_costs import TokenUse
from quire.planning.rendering import USUAL_OVERHEAD
from quire.planning.token_estimates import Observation, PastCalls, fit_line, learn_token_use

GUESSED = TokenUse(
    prefix=900, head=100, task_input=20, byte_input=0.25, task_output=50, byte_output=0.0
)


def sample(tasks: int, content: int, *, own: int = 2_000, per_byte: float = 0.3) -> OutputSample:
    """A call as a model would bill it that differs from all guesses."""
    sent = tasks * USUAL_OVERHEAD + content
    return OutputSample(round(own + per_byte * sent), 30 * tasks + content // 10, tasks, content)


def test_three_calls_with_thirty_tasks_are_enough() -> None:
    assert learn_token_use(PastCalls([sample(10, 4_000)] * 2), GUESSED) is None
    assert learn_token_use(PastCalls([sample(10, 4_000)] * 3), GUESSED) is not None
    assert learn_token_use(PastCalls([sample(1, 400)] * 5), GUESSED) is not None
    assert learn_token_use(PastCalls([OutputSample(0, 10, 10, 10)] * 9), GUESSED) is None


def test_calls_of_different_sizes_tell_their_own_part_from_that_of_their_content() -> None:
    sizes = (500, 2_000, 4_000, 9_000, 15_000)
    learnt = learn_token_use(PastCalls([sample(10, size) for size in sizes]), GUESSED)

    assert learnt is not None
    takes = learnt.use
    assert takes.byte_input == pytest.approx(0.3, rel=0.02)
    assert takes.prefix + takes.head == pytest.approx(2_000, rel=0.03)
    assert takes.prefix == pytest.approx(9 * takes.head)  # in the proportion of the guess
    assert takes.byte_output == pytest.approx(0.1, rel=0.05)
    assert takes.task_output == pytest.approx(30, rel=0.1)


def test_calls_of_one_size_leave_the_guess_for_a_byte_and_still_add_up() -> None:
    learnt = learn_token_use(PastCalls([sample(10, 4_000)] * 8), GUESSED)

    assert learnt is not None
    takes = learnt.use
    assert takes.byte_input == 0.25
    whole = takes.prefix + takes.input(1, 10, 4_000)
    assert whole == pytest.approx(sample(10, 4_000).input_tokens)


def test_refused_answers_say_nothing_of_how_long_acceptable_ones_are() -> None:
    refused = sample(10, 4_000)._replace(output_tokens=90_000, refused=2)

    learnt = learn_token_use(PastCalls([sample(10, 4_000)] * 8 + [refused] * 20), GUESSED)

    assert learnt == learn_token_use(PastCalls([sample(10, 4_000)] * 8), GUESSED)
    assert learn_token_use(PastCalls([refused] * 20), GUESSED) is None


def test_texts_of_other_sizes_are_learnt_from_other_runs() -> None:
    small, large = [sample(10, 200 + 20 * number) for number in range(9)], sample(10, 9_000)

    learnt = learn_token_use(PastCalls(small, further=[large] * 9), GUESSED)

    assert learnt is not None
    assert learnt.use.output(1, 10, 9_000) == pytest.approx(large.output_tokens, rel=0.05)
    assert learnt.use.output(1, 10, 200) == pytest.approx(small[0].output_tokens, rel=0.1)


def test_an_answer_is_not_taken_to_grow_far_beyond_what_was_seen() -> None:
    rows = [sample(1, size) for size in range(100, 200, 10)]
    restating = replace(GUESSED, byte_output=1.0)

    learnt = [learn_token_use(PastCalls(rows), guess) for guess in (GUESSED, restating)]

    assert [answer and answer.longest for answer in learnt] == [380, None]


def test_reasoning_is_billed_with_every_call() -> None:
    samples = [sample(10, 4_000)] * 5
    quiet = PastCalls(samples, calls=5, output_tokens=5 * 700)
    thoughtful = PastCalls(samples, calls=5, output_tokens=5 * 1_700)

    answers = [learn_token_use(calls, GUESSED) for calls in (quiet, thoughtful)]

    assert [answer and answer.use.call_output for answer in answers] == [0, 1_000]


def test_what_was_read_from_the_cache_is_the_prefix() -> None:
    samples = [sample(10, 4_000)] * 5
    found = learn_token_use(PastCalls(samples, 5, 0, 4 * 2_050), GUESSED)

    assert found is not None
    assert (found.use.prefix, found.hits, found.batch_hits) == (2_050, 1.0, None)
    assert found.use.prefix + found.use.input(1, 10, 4_000) == pytest.approx(
        samples[0].input_tokens
    )


def test_a_prefix_that_is_found_now_and_then_is_expected_so() -> None:
    found = learn_token_use(PastCalls([sample(10, 4_000)] * 5, 5, 0, 4_000), GUESSED)

    assert found is not None
    assert found.hits == pytest.approx(1_000 / found.use.prefix)
    assert found.batch_hits is None


def test_what_was_not_read_beside_batches_was_missed_by_their_rows() -> None:
    samples = [sample(10, 4_000)] * 5
    plain = learn_token_use(PastCalls(samples), GUESSED)
    assert plain is not None
    prefix = plain.use.prefix

    found = learn_token_use(
        PastCalls(samples, 25, 0, round(prefix * (4 + 12)), batched=20), GUESSED
    )
    few = learn_token_use(PastCalls(samples, 8, 0, round(prefix * 4), batched=3), GUESSED)

    assert found is not None
    assert few is not None
    assert found.hits == few.hits == 1.0
    assert found.batch_hits == pytest.approx(12.5 / 20, rel=0.01)  # a half for what rows hide
    assert few.batch_hits is None  # too few rows to tell


def test_rows_that_find_it_as_often_as_usual_teach_nothing_new() -> None:
    samples = [sample(10, 4_000)] * 5
    plain = learn_token_use(PastCalls(samples), GUESSED)
    assert plain is not None
    prefix = plain.use.prefix

    for rows, hits in ((5, 4), (19, 17), (200, 180)):
        found = learn_token_use(
            PastCalls(samples, rows, 0, round(prefix * hits), batched=rows), GUESSED
        )
        assert found is not None
        assert found.batch_hits is None


def test_only_where_the_provider_does_it_all_is_nothing_read_a_sign() -> None:
    past = PastCalls([sample(10, 4_000)] * 5, 5)

    marked = learn_token_use(past, GUESSED)
    found = learn_token_use(past, GUESSED, automatic=True)

    assert marked is not None
    assert found is not None
    assert (marked.hits, found.hits) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("points", "line"),
    [
        ([Observation(1, 0, 7), Observation(1, 0, 9)], (8, 0)),  # nothing to tell a slope from
        (
            [Observation(1, 100, 10), Observation(1, 100, 10)],
            (0, 0.1),
        ),  # the guess would be below nothing
        ([Observation(1, 10, 90), Observation(1, 1_000, 10)], (50, 0)),  # falling: taken as flat
    ],
)
def test_a_line_never_falls_and_never_begins_below_nothing(
    points: list[Observation], line: tuple[float, float]
) -> None:
    assert fit_line(points, 0.25 if points[0].x == 100 else 0.0) == pytest.approx(line)
