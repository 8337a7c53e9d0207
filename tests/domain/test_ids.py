"""Content is named by its bytes, the same on every machine and in every version."""

from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quire.domain.ids import (
    SCHEMA_REF,
    block_uid,
    conv_uid,
    fingerprint,
    hash_number,
    hash_numbers,
    schema_uid,
    slug,
    source_uid,
)


def test_a_source_is_named_by_its_type_a_newline_and_its_bytes() -> None:
    assert source_uid("md", b"# Title\n\xff") == sha256(b"md\n# Title\n\xff").hexdigest()
    assert (
        source_uid("txt", b"") == "7c4c231187cd4b75677c312faa7787da874bdbb7d71e1c9dc0619f3e27a53940"
    )


def test_the_same_bytes_as_another_type_are_another_source() -> None:
    assert source_uid("md", b"same") != source_uid("txt", b"same")


def test_a_conversion_is_named_by_its_tool_its_form_and_what_came_out() -> None:
    named = conv_uid("mdast", "markdown_bytes", b"# Title\n")

    assert named == sha256(b"mdast\nmarkdown_bytes\n# Title\n").hexdigest()


def test_a_block_is_named_by_its_document_and_its_place() -> None:
    assert block_uid("ab" * 32, 12) == "ab" * 32 + ":12"


def test_a_schema_is_named_by_its_canonical_json() -> None:
    named = schema_uid({"title": "Größe", "a": [2, 1]})

    assert named == sha256('{"a":[2,1],"title":"Größe"}'.encode()).hexdigest()


def test_the_order_of_keys_does_not_rename_a_schema_but_that_of_items_does() -> None:
    assert schema_uid({"a": {"x": 1, "y": 2}, "b": 3}) == schema_uid(
        {"b": 3, "a": {"y": 2, "x": 1}}
    )
    assert schema_uid([1, 2]) != schema_uid([2, 1])


def test_a_fingerprint_digests_each_part_after_its_length() -> None:
    written = (
        b"\x00\x00\x00\x00\x00\x00\x00\x02ab"
        b"\x00\x00\x00\x00\x00\x00\x00\x02\xc3\xa9"
        b"\x00\x00\x00\x00\x00\x00\x00\x0242"
    )

    assert fingerprint(b"ab", "é", 42) == sha256(written).digest()[:16]


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_two_lists_of_parts_share_a_fingerprint_only_if_they_are_equal(
    one: list[bytes], other: list[bytes]
) -> None:
    assert (fingerprint(*one) == fingerprint(*other)) == (one == other)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("Contract Clauses", "contract_clauses"),
        ("already-fine_2", "already-fine_2"),
        ("  Rent & (Deposit)!  ", "rent_deposit"),
        ("a__b___c", "a_b_c"),
        ("__trimmed__", "trimmed"),
        ("Miete für März", "miete_f_r_m_rz"),
        ("--dashes first", "dashes_first"),
        ("2024 report", "2024_report"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_a_title_becomes_a_ref(text: str, ref: str) -> None:
    assert slug(text) == ref


def test_many_digests_have_the_numbers_that_each_has() -> None:
    digests = [fingerprint(number) for number in range(5)]

    assert hash_numbers(digests) == [hash_number(digest) for digest in digests]
    assert hash_numbers([]) == []


def test_a_long_title_is_cut_at_64_characters() -> None:
    assert slug("a" * 65) == "a" * 64


@given(st.text(alphabet="aZ09_- .é") | st.text())
@example("-_a")
@example("_-_")
def test_a_slug_is_empty_or_a_valid_ref(text: str) -> None:
    made = slug(text)

    assert made == "" or SCHEMA_REF.fullmatch(made)
