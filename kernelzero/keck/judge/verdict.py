"""What Keck says of a candidate: values only, importable without torch.

`Verdict` = judgement (a value: same inputs, same judgement) + measurement (times). A fault of the machine or of ours,
or a limit of the device, is neither: it is `not_judged`, and never a reward of 0.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Stage(StrEnum):
    """The last stage that a candidate reached, in order."""

    NONE = "none"  # no answer could be extracted
    EXTRACTED = "extracted"
    SCREENED = "screened"
    BUILT = "built"  # the source loads and defines ModelNew
    RECORDED = "recorded"  # a launch tape exists
    PARAMETERS = "parameters"  # same names, shapes and dtypes as the reference
    RAN = "ran"  # the tape replayed on every seed
    CORRECT = "correct"


@dataclass(frozen=True)
class Difference:
    """The first element, in row-major order, at which a candidate is past the bound, and the case that showed it.

    call: which call on one module, from 1. output: which tensor of the outputs, from 0. error and bound are None where
    elements must be equal (integers, booleans, places of NaN and infinity). worst: the element furthest past the bound.
    """

    seed: int
    scale: float
    values: str  # 'drawn', or the special values of judge.cases
    call: int
    output: int
    shape: tuple[int, ...]
    index: tuple[int, ...]
    expected: float | int | bool
    got: float | int | bool
    error: float | None
    bound: float | None
    wrong: int  # elements past the bound
    worst: tuple[int, ...]


@dataclass(frozen=True)
class Judgement:
    """stage reached; `reason` (a member of `reasons.Reason`, '' when correct) and one sentence of detail for people.

    max_error: largest error over seeds and elements in units of the tolerance (1.0 = at the bound), None if never compared.
    tolerance: the bound in words, as 'float32: 1e-5 * spread + ...'.
    difference: where the values first differ, when the reason is about values.
    flaky: correct on some seeds only, or max_error within 20% of the bound: no reward is built on it.
    """

    stage: Stage
    reason: str = ""
    detail: str = ""
    max_error: float | None = None
    tolerance: str = ""
    flaky: bool = False
    difference: Difference | None = None

    @property
    def correct(self) -> bool:
        return self.stage is Stage.CORRECT


@dataclass(frozen=True)
class Measurement:
    """Times in seconds. timer: 'roofline' (estimate: bytes / bandwidth + launches * cost) or 'cuda' (measured)."""

    timer: str
    reference_s: float
    kernel_s: float
    speedup: float
    quantiles_s: dict = field(default_factory=dict)  # 'reference_p10' ... for measured timers; empty for roofline
    launches: int = 0
    bytes_moved: int = 0
    reference_launches: int = 0
    reference_bytes: int = 0
    own_share: float = 1.0  # share of kernel_s that is spent in the candidate's own kernels; 1 under policy strict
    device: str = "cpu"
    versions: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """Exactly one of `judgement` and `not_judged` (a sentence) is set. `retry`: worth judging again later."""

    judgement: Judgement | None = None
    measurement: Measurement | None = None  # only beside a correct judgement
    not_judged: str = ""
    retry: bool = False
    seconds: float = 0.0  # wall time that the verification took; no part of the value
    stages_s: dict = field(default_factory=dict)  # where it went: record, reference, replay, judge; no part of the value

    @property
    def correct(self) -> bool:
        return self.judgement is not None and self.judgement.correct

    @property
    def speedup(self) -> float | None:
        return self.measurement.speedup if self.measurement else None


@dataclass(frozen=True)
class Task:
    """One thing to verify: the reference's source in the task format, the candidate's, and under what rules."""

    module: str
    candidate: str
    backend: str = "triton"  # 'triton' | 'cuda'
    policy: str = "strict"  # 'strict' | 'kernelbench'
    seeds: tuple[int, ...] = (0, 1, 2)
    scales: tuple[float, ...] = (1.0, 3.0)
    time: bool = True
    finish_reason: str = "stop"  # 'length' when the sampler cut the answer off
