"""What a reader may take of the machine: CPU time by the size of a file, memory, and disk."""

from dataclasses import dataclass

try:
    import resource
except ImportError:  # there is none on Windows, where only the time on the clock is limited
    resource = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """What reading one file may take."""

    cpu_seconds: float = 60  # whatever its size
    cpu_seconds_per_mib: float = 60
    times_for_ocr: float = 10  # as much, where pictures are read
    memory_mib: int = 2048
    blocks_mib: int = 4096  # on disk, until they are in the ledger

    def cpu_limit(self, size: int, *, ocr: bool) -> int:
        """Seconds of CPU for a file of so many bytes."""
        seconds = self.cpu_seconds + self.cpu_seconds_per_mib * size / (1 << 20)
        return max(1, round(seconds * (self.times_for_ocr if ocr else 1)))


USUAL_LIMITS = ReadingLimits()


def limit_process(limits: ReadingLimits) -> None:
    """Bind this process, for good, to its share of memory and disk."""
    if resource is None:
        return
    _lower(resource.RLIMIT_DATA, limits.memory_mib << 20)
    _lower(resource.RLIMIT_FSIZE, limits.blocks_mib << 20)
    _lower(resource.RLIMIT_CORE, 0)


def limit_cpu(seconds: int) -> None:
    """Let the system end this process once it has taken so much more CPU than it has by now."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if most == resource.RLIM_INFINITY or until < most:
        resource.setrlimit(resource.RLIMIT_CPU, (until, most))


def _lower(kind: int, value: int) -> None:
    _, most = resource.getrlimit(kind)
    if most == resource.RLIM_INFINITY or value < most:
        resource.setrlimit(kind, (value, value))
