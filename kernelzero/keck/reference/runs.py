"""Modules run on their own, for validation: the job and what comes back. Values only."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModuleJob:
    """Run a module in the sandbox on every pair of seed and scale (scale multiplies the floating-point inputs)."""

    source: str
    seeds: tuple[int, ...] = (0, 1, 2)
    scales: tuple[float, ...] = (1.0, 3.0)


@dataclass(frozen=True)
class Case:
    """One run: inputs and outputs as CPU tensors, nested as the module nests them.

    outputs64: the same module with float64 weights and inputs, or None when it cannot run so. repeat_equal: a second
    run on the same inputs and seed gave the same bits. inputs_changed: forward changed its inputs in place.
    """

    seed: int
    scale: float
    inputs: list
    outputs: object
    outputs64: object
    repeat_equal: bool
    inputs_changed: bool = False


@dataclass(frozen=True)
class ModuleRun:
    """ok: it ran on every case. reason: a member of reasons.Reason otherwise. parameters: [(name, kind, shape, dtype)].

    passed_by: '' or the constant that would pass for this module within the judge's bounds ('zeros', 'the mean').
    launches, bytes_moved: what eager does for the first case, by the roofline's count. fault: ours, worth trying again.
    """

    ok: bool
    reason: str = ""
    detail: str = ""
    cases: list[Case] = field(default_factory=list)
    parameters: list[tuple[str, str, tuple[int, ...], str]] = field(default_factory=list)
    passed_by: str = ""
    launches: int = 0
    bytes_moved: int = 0
    seconds: float = 0.0
    fault: bool = False
