"""What one job may use. Values only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one sandboxed process (a reference, a recording or a replay); times in seconds, sizes in bytes.

    `memory_bytes` is address space on top of what a warm process has. `wall_s` counts from the moment the process is
    asked for. `retries`: how often a job is run again when the fault is ours (a zygote that died).
    """

    reference_s: float = 20.0
    record_s: float = 10.0
    replay_s: float = 20.0
    memory_bytes: int = 2 << 30
    output_bytes: int = 512 << 20
    tape_bytes: int = 16 << 20
    retries: int = 1
    reference_cache_bytes: int = 256 << 20
    verdict_cache: int = 4096
