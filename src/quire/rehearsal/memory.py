"""How the server behaves, and what it remembers from one request to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from quire.domain.errors import SettingsInvalid
from quire.domain.models import ModelFacts
from quire.rehearsal.asked import Problem, Trouble
from quire.rehearsal.batches.files import Shelf
from quire.rehearsal.batches.jobs import Jobs
from quire.rehearsal.batches.scripting import BATCH_FAULTS, BatchScript
from quire.rehearsal.caching import Cache
from quire.rehearsal.clock import Clock
from quire.rehearsal.counting import Witness
from quire.rehearsal.faults import about_batches, answering, parse_faults, without
from quire.rehearsal.latency import Latency, parse_latency
from quire.rehearsal.limiting import Limiter, parse_limits
from quire.rehearsal.models import Models

VALID, INVALID, SPENT = "valid", "invalid", "spent"
BATCH_LATENCY = "1s"
BATCH_HITS = 0.9  # an assumption: vendors speak of 30 to 98 %
_OF_CONNECTIONS = ("hang", "drop")  # which the rows of a batch do not have


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """How a server behaves; the default accepts every key and makes no mistakes."""

    faults: str = ""  # a script
    latency: str = ""
    batch_latency: str = ""  # from a batch's creation to its end
    batch_hits: float = BATCH_HITS  # of a batch's rows, the share that finds a kept prefix
    limit: str = ""  # requests=60,input=10000 a minute, for each key and model
    keys: Mapping[str, str] = field(default_factory=dict)  # key -> valid, invalid or spent
    models: Mapping[str, ModelFacts] = field(default_factory=dict)
    strict: bool = False  # there are no models but these
    thinking: int = 0  # tokens of reasoning that every answer is billed besides its text
    seed: int = 0  # of chance: of latency, and of the script where it has no seed
    log: str = ""  # a file that gets a line of JSON for every request


class Memory:
    """What one server remembers."""

    def __init__(self, scene: Scene, clock: Clock) -> None:
        """Read the scene; SettingsInvalid says what about it cannot be played."""
        self.scene = scene
        self.clock = clock
        self.models = Models(scene.models, strict=scene.strict)
        self.limiter = Limiter(parse_limits(scene.limit))
        if not 0 <= scene.batch_hits <= 1:
            raise SettingsInvalid(
                f"{scene.batch_hits:g} is no share of rows; write one from 0 to 1, for example 0.9"
            )
        self.cache = Cache(scene.batch_hits)
        self.witness = Witness()
        self.chance = Random(scene.seed)  # noqa: S311 - a rehearsal is no secret
        self.shelf = Shelf()
        self.jobs = Jobs(
            self.shelf, parse_latency(scene.batch_latency or BATCH_LATENCY), scene.seed
        )
        self.change_faults(scene.faults)
        unknown = {*scene.keys.values()} - {VALID, INVALID, SPENT}
        if unknown:
            raise SettingsInvalid(
                f"a key cannot be {', '.join(sorted(unknown))}; write valid, invalid or spent"
            )

    def change_faults(self, script: str) -> None:
        """Follow another script from now on."""
        seeded = f"{script},seed={self.scene.seed}" if "seed=" not in script else script
        told = parse_faults(seeded)
        self.jobs.script = BatchScript(about_batches(told))
        self.faults = without(told, BATCH_FAULTS)
        self.row_faults = without(self.faults, _OF_CONNECTIONS)
        self.answering = answering(self.faults)
        self.latency = (
            parse_latency(self.scene.latency)
            if self.scene.latency
            else Latency(low=self.faults.latency, high=self.faults.latency)
        )

    def admit(self, key: str) -> None:
        """Refuse a request without a key, or with one that is not good."""
        if not key:
            raise Problem(Trouble.NO_KEY, "there is no key")
        others = INVALID if VALID in self.scene.keys.values() else VALID
        standing = self.scene.keys.get(key, others)
        if standing == INVALID:
            raise Problem(Trouble.BAD_KEY, "the key is not valid")
        if standing == SPENT:
            raise Problem(Trouble.SPENT, "the account has spent what it may")

    def reset(self) -> None:
        """Forget what was seen, kept and taken; the script and the clock stay as they are."""
        self.witness.clear()
        self.cache.clear()
        self.limiter.clear()
