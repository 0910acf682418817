"""What one job may use. Values only."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one sandboxed process (a reference, a recording or a replay).

    seconds: wall-clock and CPU time of each such process, counted from when it is asked for; `reference_s`, `record_s`
    and `replay_s` replace it for one kind. memory_mb: address space on top of what a warm process has. output_bytes,
    tape_bytes: the most that it may send. retries: how often a job is run again when the fault is ours (a warm process
    that died). reference_cache_bytes, verdict_cache: what is remembered of modules (bytes) and of verdicts (number).
    """

    seconds: float = 20.0
    memory_mb: int = 2048
    reference_s: float | None = None
    record_s: float | None = None
    replay_s: float | None = None
    output_bytes: int = 512 << 20
    tape_bytes: int = 16 << 20
    retries: int = 1
    reference_cache_bytes: int = 256 << 20
    verdict_cache: int = 4096

    def seconds_of(self, kind: str) -> float:
        own = getattr(self, f"{kind}_s")
        return self.seconds if own is None else own

    def as_dict(self) -> dict:
        return asdict(self)
