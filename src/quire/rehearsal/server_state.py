"""How the server is configured, and what it remembers from one request to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from quire.domain.errors import SettingsInvalid
from quire.domain.models import ModelFacts
from quire.rehearsal.batch_jobs import BatchJobs
from quire.rehearsal.fault_script import (
    BATCH_FAULTS,
    BatchScript,
    only_batch_faults,
    parse_faults,
    without_faults,
    without_unanswered,
)
from quire.rehearsal.file_store import FileStore
from quire.rehearsal.prompt_cache import PromptCache
from quire.rehearsal.rate_limits import RateLimiter, parse_rule
from quire.rehearsal.request_log import RequestLog
from quire.rehearsal.timing import Clock, Latency, parse_latency
from quire.rehearsal.vendor_protocol import ApiProblem, KnownModels, ProblemKind

VALID, INVALID, SPENT = "valid", "invalid", "spent"
BATCH_LATENCY = "1s"
BATCH_HITS = 0.9  # an assumption: vendors speak of 30 to 98 %
_CONNECTION_FAULTS = ("hang", "drop")  # which the rows of a batch do not have


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
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


class ServerState:
    """What one server remembers."""

    def __init__(self, config: ServerConfig, clock: Clock) -> None:
        """Read the configuration; SettingsInvalid says what in it cannot be done."""
        self.config = config
        self.clock = clock
        self.models = KnownModels(config.models, strict=config.strict)
        self.limiter = RateLimiter(parse_rule(config.limit))
        if not 0 <= config.batch_hits <= 1:
            raise SettingsInvalid(
                f"{config.batch_hits:g} is no share of rows; write one from 0 to 1, for example 0.9"
            )
        self.cache = PromptCache(config.batch_hits)
        self.request_log = RequestLog()
        self.chance = Random(config.seed)  # noqa: S311 - a rehearsal is no secret
        self.files = FileStore()
        batch_latency = parse_latency(config.batch_latency or BATCH_LATENCY)
        self.jobs = BatchJobs(self.files, batch_latency, config.seed)
        self.change_faults(config.faults)
        unknown = {*config.keys.values()} - {VALID, INVALID, SPENT}
        if unknown:
            words = ", ".join(sorted(unknown))
            raise SettingsInvalid(f"a key cannot be {words}; write valid, invalid or spent")

    def change_faults(self, script: str) -> None:
        """Follow another script from now on."""
        seeded = f"{script},seed={self.config.seed}" if "seed=" not in script else script
        parsed = parse_faults(seeded)
        self.jobs.script = BatchScript(only_batch_faults(parsed))
        self.faults = without_faults(parsed, BATCH_FAULTS)
        self.row_faults = without_faults(self.faults, _CONNECTION_FAULTS)
        self.answer_faults = without_unanswered(self.faults)
        usual = Latency(low=self.faults.latency, high=self.faults.latency)
        self.latency = parse_latency(self.config.latency) if self.config.latency else usual

    def change_limit(self, text: str) -> None:
        """Allow more or less from now on."""
        self.limiter.change(parse_rule(text), self.clock.now())

    def admit(self, key: str) -> None:
        """Refuse a request without a key, or with one that is not good."""
        if not key:
            raise ApiProblem(ProblemKind.NO_KEY, "there is no key")
        others = INVALID if VALID in self.config.keys.values() else VALID
        status = self.config.keys.get(key, others)
        if status == INVALID:
            raise ApiProblem(ProblemKind.BAD_KEY, "the key is not valid")
        if status == SPENT:
            raise ApiProblem(ProblemKind.SPENT, "the account has spent what it may")

    def reset(self) -> None:
        """Forget what was seen, kept and taken; the script and the clock stay as they are."""
        self.request_log.clear()
        self.cache.clear()
        self.limiter.clear()
