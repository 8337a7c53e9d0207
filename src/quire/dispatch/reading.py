"""Reading a response: whatever a vendor's decoder does, the paid bytes are kept."""

from quire.domain.errors import Undecodable
from quire.domain.requests import Reply
from quire.providers.protocol import Provider
from quire.providers.reading import MOST_TOKENS


def read(provider: Provider, raw: bytes) -> Reply | Undecodable:
    """Decode a body, or say why it cannot be used; never raises."""
    try:
        reply = provider.decode(raw)
        usage = reply.usage
        counts = (usage.input_total, usage.output, usage.reasoning)
        if not isinstance(reply.text, str) or min(counts) < 0 or max(counts) > MOST_TOKENS:
            return Undecodable("the response has no text, or token counts that cannot be")
    except Undecodable as error:
        return error
    except Exception as error:  # noqa: BLE001 - a bug in a decoder must not cost the answer
        return Undecodable(f"the decoder failed: {describe(error)}")
    return reply


def describe(error: BaseException) -> str:
    """Name an error in a line; only built-in errors are asked for their words, others may lie."""
    name = type(error).__name__
    return f"{name}: {error}" if type(error).__module__ == "builtins" else name
