"""The gates that come with Quire, by the names that recipes use."""

from collections.abc import Mapping
from types import MappingProxyType

from quire.domain.gates import Gate
from quire.gates.markers import MarkersGate
from quire.gates.rules import RulesGate
from quire.gates.single import JsonGate
from quire.gates.text import TextGate

_ALL: tuple[Gate, ...] = (JsonGate(), TextGate(), MarkersGate(), RulesGate())

GATES: Mapping[str, Gate] = MappingProxyType({gate.name: gate for gate in _ALL})
