"""Documents are divided into sections and pages, each block in exactly one of them."""

from hypothesis import given
from hypothesis import strategies as st

from quire.domain.groupings import BlockPlace, DriverItem, GroupingContext
from quire.domain.recipes import EACH_PAGE, EACH_SECTION
from quire.planning.spans import DocumentSpan, SpanGrouping, divide

# What a document looks like: a level for each heading, 0 for what stands under it.
REPORT = [1, 0, 2, 0, 0, 3, 0, 2, 0]


def outline(levels: list[int], pages: list[int | None] | None = None) -> list[BlockPlace]:
    """Blocks with the headings above each; the heading of block 3 is called `3`."""
    above: list[tuple[int, str]] = []
    found = []
    for index, level in enumerate(levels):
        if level:
            above = [item for item in above if item[0] < level]
        titles = tuple(title for _, title in above)
        page = pages[index] if pages else None
        found.append(BlockPlace(index, titles, str(index) if level else "", page, 10))
        if level:
            above.append((level, str(index)))
    return found


def ranges(spans: list[DocumentSpan]) -> list[tuple[int, int]]:
    return [(span.first, span.last) for span in spans]


def test_a_title_alone_at_the_top_makes_no_sections() -> None:
    spans = divide(outline(REPORT), EACH_SECTION, None)

    assert ranges(spans) == [(0, 1), (2, 6), (7, 8)]
    assert [span.headings for span in spans] == [("0",), ("0", "2"), ("0", "7")]
    assert [span.size for span in spans] == [20, 50, 20]


def test_a_level_says_which_headings_begin_a_section() -> None:
    assert ranges(divide(outline(REPORT), EACH_SECTION, 1)) == [(0, 8)]
    assert ranges(divide(outline(REPORT), EACH_SECTION, 3)) == [(0, 1), (2, 4), (5, 6), (7, 8)]


def test_what_stands_before_the_first_heading_is_a_section() -> None:
    spans = divide(outline([0, 1, 0, 1, 0]), EACH_SECTION, None)

    assert ranges(spans) == [(0, 0), (1, 2), (3, 4)]
    assert spans[0].headings == ()


def test_headings_with_nothing_under_them_go_with_what_follows() -> None:
    spans = divide(outline([1, 2, 0, 2, 0, 2]), EACH_SECTION, None)

    assert ranges(spans) == [(0, 2), (3, 4), (5, 5)]
    assert [span.headings for span in spans] == [("0", "1"), ("0", "3"), ("0", "5")]


def test_a_document_without_headings_is_one_section_and_one_without_pages_one_page() -> None:
    assert ranges(divide(outline([0, 0, 0]), EACH_SECTION, 2)) == [(0, 2)]
    assert ranges(divide(outline([0, 0, 0]), EACH_PAGE, None)) == [(0, 2)]
    assert divide([], EACH_SECTION, None) == divide([], EACH_PAGE, None) == []


def test_what_is_on_no_page_belongs_to_the_page_before_it() -> None:
    spans = divide(outline([0] * 5, [1, 1, None, 2, 4]), EACH_PAGE, None)

    assert [(span.first, span.last, span.page) for span in spans] == [
        (0, 2, 1),
        (3, 3, 2),
        (4, 4, 4),
    ]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.sampled_from([None, 1, 2, 3]))
def test_every_block_is_in_exactly_one_section(levels: list[int], level: int | None) -> None:
    spans = divide(outline(levels), EACH_SECTION, level)

    covered = [index for span in spans for index in range(span.first, span.last + 1)]
    assert covered == list(range(len(levels)))


def test_a_grouping_makes_a_task_for_each_section_and_sample() -> None:
    grouping = SpanGrouping(name=EACH_SECTION)
    context = GroupingContext(parameters={}, settings={"level": 2}, samples=2, models=())

    parts = list(grouping.fan(DriverItem(1, outline=outline(REPORT)), context))

    assert [part.part["blocks"] for part in parts] == [[0, 1]] * 2 + [[2, 6]] * 2 + [[7, 8]] * 2
    assert grouping.count(3, context) == len(parts)


def test_settings_that_make_no_sense_are_told() -> None:
    context = GroupingContext(parameters={}, settings={"level": 0}, samples=1, models=("same",))

    assert [
        *SpanGrouping(name=EACH_SECTION).mistakes(context),
        *SpanGrouping(name=EACH_PAGE).mistakes(context._replace(settings={"level": 2}, models=())),
    ] == [
        "the setting level must be a whole number from 1 on",
        'model = "same" needs a result it is about, and each_section has none',
        "each_page has no setting 'level'",
    ]
