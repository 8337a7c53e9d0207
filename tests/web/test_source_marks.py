"""Where in a block the words of an answer are marked."""

from quire.domain.data import Json
from quire.domain.ids import DocumentId
from quire.domain.quotes import Quote
from quire.domain.reviews import FieldView, SourceText
from quire.web.source_marks import SHOWN, SourcePiece, mark_source
from quire.web.source_panes import SourcePane, make_source_pane

RENT = "The Tenant pays $1,450 a month; the Tenants pay 1450 a year."


def field(name: str, value: Json, *quotes: Quote) -> FieldView:
    return FieldView(
        name=name,
        type="string",
        choices=(),
        nullable=False,
        required=True,
        description="",
        value=value,
        schema={},
        quotes=quotes,
    )


def marks(content: str, *fields: FieldView) -> list[tuple[str, str]]:
    marked = mark_source(content, fields)
    assert "".join(piece.text for piece in marked.pieces) == content
    return [(piece.text, piece.field) for piece in marked.pieces if piece.field]


def test_values_are_marked_where_they_stand_as_whole_words() -> None:
    found = marks(RENT, field("party", "Tenant"), field("amount", 1450))

    assert found == [("Tenant", "party"), ("1450", "amount")]


def test_a_quote_is_marked_by_its_place_and_its_value_is_not_looked_for() -> None:
    quote = Quote("/party", "Tenants", 36, 43)

    assert marks(RENT, field("party", "Tenant", quote)) == [("Tenants", "party")]


def test_a_quote_that_does_not_stand_there_is_not_marked() -> None:
    assert marks(RENT, field("party", "Tenant", Quote("/party", "Tenants", 35, 42))) == []


def test_of_values_in_each_other_the_longest_is_marked() -> None:
    found = marks(RENT, field("who", "Tenant"), field("what", "The Tenant pays"))

    assert found == [("The Tenant pays", "what")]


def test_lists_and_objects_are_looked_into_and_small_or_empty_values_are_not() -> None:
    found = marks(RENT, field("all", {"terms": ["month", "", "a"], "set": True, "none": None}))

    assert found == [("month", "all")]


def test_a_long_block_is_shown_around_its_first_mark() -> None:
    content = "x " * SHOWN + "needle" + " y" * SHOWN

    marked = mark_source(content, [field("found", "needle")])

    assert SourcePiece("needle", "found") in marked.pieces
    assert sum(len(piece.text) for piece in marked.pieces) == SHOWN
    assert marked.cut_before + SHOWN + marked.cut_after == len(content)


def pane(content: str, *fields: FieldView, kind: str = "md") -> SourcePane:
    source = SourceText(
        document_id=DocumentId(1),
        title="lease",
        block_index=0,
        block_type="paragraph",
        headings=(),
        content=content,
        source_type=kind,
    )
    made = make_source_pane(source, fields)
    assert made is not None
    return made


def test_markdown_is_formatted_with_the_same_words_marked() -> None:
    shown = pane("The **Tenant** pays <b>*rent*</b>.", field("party", "Tenant"))

    assert shown.complete
    assert shown.formatted == (
        '<p>The <strong><mark data-field="party" title="party">Tenant</mark></strong> pays '
        "&lt;b&gt;<em>rent</em>&lt;/b&gt;.</p>"
    )


def test_words_across_markup_are_marked_in_the_exact_source_alone() -> None:
    shown = pane("The **Tenant** pays.", field("who", "The **Tenant**"), field("what", "pays"))

    assert not shown.complete
    assert [piece.field for piece in shown.marked.pieces if piece.field] == ["who", "what"]
    assert 'data-field="what"' in str(shown.formatted)


def test_a_quote_that_stands_twice_is_marked_by_its_place_in_the_exact_source_alone() -> None:
    twice = "pays here, pays there"
    shown = pane(twice, field("verb", "to pay", Quote("/verb", "pays", 11, 15)))
    once = pane("pays here", field("verb", "to pay", Quote("/verb", "pays", 0, 4)))

    assert not shown.complete
    assert "<mark" not in str(shown.formatted)
    assert once.complete
    assert "<mark" in str(once.formatted)


def test_only_markdown_is_formatted_and_hostile_names_of_fields_are_text() -> None:
    hostile = pane("a word", field('"><script>', "word"))

    assert pane("**a**", kind="txt").formatted is None
    assert pane("x" * (SHOWN + 1)).formatted is None
    assert "<script>" not in str(hostile.formatted)
