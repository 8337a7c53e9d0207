"""Whether a refusal is about a call's parameters, or about the block that it quotes."""

import pytest

from quire.providers.error_codes import is_about_parameters


@pytest.mark.parametrize(
    "said",
    [
        "temperature: Input should be at most 1, other values are not supported",
        "`temperature` may only be 1 when thinking is enabled; other values are not supported",
        "Unsupported value: 'temperature' does not support 0.5 with this model",
        "This model does not support the effort parameter.",
        "Thinking level is not supported for this model.",
        "thinking.type: Input should be 'enabled'; extra inputs are not permitted",
        "top_p cannot be used with this model: not supported",
        "Unknown name \"response_schema\" at 'generation_config': Cannot find field.",
    ],
)
def test_a_parameter_that_is_named_holds_for_every_call(said: str) -> None:
    assert is_about_parameters(said)


@pytest.mark.parametrize(
    "said",
    [
        "Invalid request: could not process text 'Reasonable effort must be made by the Supplier'",
        'The prompt "power tools must be stored" is not allowed by our content policy',
        "'The temperature must be below 5 C' cannot be processed: invalid",
        "cannot be processed:\ntemperature of the room must be logged",
        "Wishful thinking is not allowed",
    ],
)
def test_everyday_words_of_a_quoted_block_are_no_parameters(said: str) -> None:
    assert not is_about_parameters(said)
