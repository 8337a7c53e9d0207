"""Who answers: a vendor's file is imported when a call first needs it."""

from typing import TYPE_CHECKING

from quire.domain.errors import UnknownModel
from quire.providers.protocol import Provider, Vendor
from quire.simulated.faults import parse

if TYPE_CHECKING:
    from quire.providers.http import Transport

NAMES = (
    "simulated",
    "openai",
    "azure",
    "anthropic",
    "gemini",
    "vertex",
    "openrouter",
    "mistral",
    "groq",
    "compatible",
    "vllm",
    "ollama",
    "llamacpp",
    "lmstudio",
    "local",
)


class Providers:
    """The vendors in use, each made once; those behind HTTP share their connections."""

    def __init__(self, faults: str = "") -> None:
        """Check the simulated model's fault script now, so that a mistake costs nothing."""
        self._faults = parse(faults)
        self._made: dict[str, Provider] = {}
        self._transport: Transport | None = None

    def get(self, name: str) -> Provider:
        """The vendor of this name."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    async def close(self) -> None:
        """Let go of every vendor's connections."""
        for provider in self._made.values():
            await provider.close()
        self._made.clear()

    def _make(self, name: str) -> Provider:
        if name == "simulated":
            from quire.providers.simulated import SimulatedProvider  # one vendor, when needed

            return SimulatedProvider(self._faults)
        vendor = _vendor(name)
        from quire.providers.http import HttpProvider, Transport  # not for the simulated model

        self._transport = self._transport or Transport()
        return HttpProvider(vendor, self._transport)


def _vendor(name: str) -> Vendor:
    """The wire format that goes with a name."""
    match name:
        case "openai":
            from quire.providers.openai import OpenAI

            return OpenAI()
        case "azure":
            from quire.providers.azure import Azure

            return Azure()
        case "anthropic":
            from quire.providers.anthropic import Anthropic

            return Anthropic()
        case "gemini":
            from quire.providers.gemini import Gemini

            return Gemini()
        case "vertex":
            from quire.providers.vertex import Vertex

            return Vertex()
        case _ if name in NAMES:
            from quire.providers.compatible import Compatible

            return Compatible(name)
    others = ", ".join(NAMES)
    raise UnknownModel(f"nobody answers for {name}/…; there are {others}")
