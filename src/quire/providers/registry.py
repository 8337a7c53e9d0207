"""Who answers: a vendor's file is imported when a call first needs it."""

from quire.domain.errors import UnknownModel
from quire.providers.protocol import Provider
from quire.simulated.faults import parse


class Providers:
    """The vendors in use, each made once."""

    def __init__(self, faults: str = "") -> None:
        """Check the simulated model's fault script now, so that a mistake costs nothing."""
        self._faults = parse(faults)
        self._made: dict[str, Provider] = {}

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
        if name != "simulated":
            raise UnknownModel(f"nobody answers for {name}/…; `simulated/small` always does")
        from quire.providers.simulated import SimulatedProvider  # one vendor, when needed

        return SimulatedProvider(self._faults)
