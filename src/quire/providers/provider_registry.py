"""The provider registry: who answers for a name; a vendor's file is imported when first needed."""

from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, cast

from quire.domain.errors import UnknownModel
from quire.providers.protocol import BatchApi, HttpClient, Provider, WireFormat
from quire.providers.vendors import PROVIDER_NAMES, VENDORS, vendor_facts
from quire.simulated.fault_scripts import parse_fault_script

if TYPE_CHECKING:
    from quire.providers.transport import Transport


class Providers:
    """The vendors in use, each made once; those behind HTTP share their connections."""

    def __init__(
        self,
        faults: str = "",
        *,
        proxied: bool = True,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """Note the simulated model's fault script; it is read when the model is to be called."""
        self._proxied = proxied  # else calls go past all proxies
        self._now = now
        self._fault_script = faults
        self._providers: dict[str, Provider] = {}
        self._batch_apis: dict[str, BatchApi | None] = {}
        self._transport: Transport | None = None

    def check_faults(self) -> None:
        """Refuse a mistaken fault script; done before anything is begun, it costs nothing."""
        parse_fault_script(self._fault_script)

    def get(self, name: str) -> Provider:
        """The vendor of this name."""
        if name not in self._providers:
            self._providers[name] = self._make(name)
        return self._providers[name]

    def batch_api(self, name: str) -> BatchApi | None:
        """The batches of the vendor of this name; None where it has none that we would use."""
        if name not in self._batch_apis:
            place = vendor_facts(name).batch_api
            self._batch_apis[name] = cast("BatchApi", load_class(place)(name)) if place else None
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

            return SimulatedProvider(parse_fault_script(self._fault_script))
        vendor = make_wire_format(name)
        from quire.providers.http import HttpProvider  # not for the simulated model

        return HttpProvider(vendor, self._shared_transport())

    def _shared_transport(self) -> "Transport":
        if self._transport is None:
            from quire.providers.transport import Transport  # not for the simulated model

            self._transport = Transport(proxied=self._proxied, now=self._now)
        return self._transport


def make_wire_format(name: str) -> WireFormat:
    """The wire format that goes with a name."""
    if name not in VENDORS:
        others = ", ".join(PROVIDER_NAMES)
        raise UnknownModel(f"nobody answers for {name}/…; there are {others}")
    return cast("WireFormat", load_class(VENDORS[name].wire_format)(name))


def load_class(place: str) -> Callable[[str], object]:
    """The class at "module:Class" of this package; it is made with the name of a vendor."""
    module, _, name = place.partition(":")
    return cast("Callable[[str], object]", getattr(import_module(f"{__package__}.{module}"), name))
