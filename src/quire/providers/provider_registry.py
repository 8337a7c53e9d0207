"""The provider registry: who answers for a name; a vendor's file is imported when first needed."""

from typing import TYPE_CHECKING

from quire.domain.errors import UnknownModel
from quire.providers.protocol import BatchApi, HttpClient, Provider, WireFormat
from quire.simulated.fault_scripts import parse_fault_script

if TYPE_CHECKING:
    from quire.providers.transport import Transport


PROVIDER_NAMES = (
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

    def __init__(self, faults: str = "", *, proxied: bool = True) -> None:
        """Check the simulated model's fault script now, so that a mistake costs nothing."""
        self._proxied = proxied  # else calls go past all proxies
        self._faults = parse_fault_script(faults)
        self._providers: dict[str, Provider] = {}
        self._batch_apis: dict[str, BatchApi | None] = {}
        self._transport: Transport | None = None

    def get(self, name: str) -> Provider:
        """The vendor of this name."""
        if name not in self._providers:
            self._providers[name] = self._make(name)
        return self._providers[name]

    def batch_api(self, name: str) -> BatchApi | None:
        """The batches of the vendor of this name; None where it has none that we would use."""
        if name not in self._batch_apis:
            self._batch_apis[name] = _make_batch_api(name)
        return self._batch_apis[name]

    def http_client(self) -> HttpClient:
        """The way out that every vendor shares."""
        return self._shared_transport()

    async def close(self) -> None:
        """Let go of every vendor's connections."""
        if self._transport is not None:
            await self._transport.close()
        for provider in self._providers.values():
            await provider.close()
        self._providers.clear()

    def _make(self, name: str) -> Provider:
        if name == "simulated":
            from quire.providers.simulated import SimulatedProvider  # one vendor, when needed

            return SimulatedProvider(self._faults)
        vendor = _make_wire_format(name)
        from quire.providers.http import HttpProvider  # not for the simulated model

        return HttpProvider(vendor, self._shared_transport())

    def _shared_transport(self) -> "Transport":
        if self._transport is None:
            from quire.providers.transport import Transport  # not for the simulated model

            self._transport = Transport(proxied=self._proxied)
        return self._transport


def _make_wire_format(name: str) -> WireFormat:
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
        case _ if name in PROVIDER_NAMES:
            from quire.providers.compatible import Compatible

            return Compatible(name)
    others = ", ".join(PROVIDER_NAMES)
    raise UnknownModel(f"nobody answers for {name}/…; there are {others}")


def _make_batch_api(name: str) -> BatchApi | None:
    """The batches that go with a name, if any.

    OpenRouter has some, but neither tag, lookup nor cancelling: calls are better paced there.
    """
    match name:
        case "openai" | "azure" | "mistral" | "groq":
            return _make_file_batch_api(name)
        case "anthropic":
            from quire.providers.anthropic_batches import AnthropicBatches

            return AnthropicBatches()
        case "gemini":
            from quire.providers.gemini import GeminiBatches

            return GeminiBatches()
        case "vertex":
            from quire.providers.vertex import VertexBatches

            return VertexBatches()
    return None


def _make_file_batch_api(name: str) -> BatchApi:
    """The batches of those who take files as OpenAI does."""
    match name:
        case "azure":
            from quire.providers.openai_batches import AzureBatches

            return AzureBatches()
        case "mistral":
            from quire.providers.mistral_batches import MistralBatches

            return MistralBatches()
        case "groq":
            from quire.providers.openai_batches import groq_batches

            return groq_batches()
    from quire.providers.openai_batches import OpenAIBatches

    return OpenAIBatches()
