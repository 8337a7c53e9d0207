"""What a vendor's file offers: send a call, read a response. No state, no loops, no decisions."""

from typing import Protocol

from quire.domain.requests import Call, Reply


class Provider(Protocol):
    """One vendor, stateless; classifies failures as ProviderError and decides nothing."""

    name: str  # the part of a model's name before the slash
    decoder_version: int  # raised when `decode` learns to read more

    async def send(self, call: Call) -> bytes:
        """Carry one call to the vendor and return the raw body, or raise ProviderError."""
        ...

    def decode(self, raw: bytes) -> Reply:
        """Read a raw body, or raise Undecodable."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
