"""The rows that a run leaves behind, one frozen dataclass a table, as `Store.write` takes them.

Two kinds. *Identities* (modules, kernels, judgements) are the same fact wherever they occur: writing one again changes
nothing. *Events* (proposals, samples, groups, ...) belong to a place in a run, their key; writing one again replaces it,
which is how a resumed stage repeats its last step without doubling it. Field names are the column names in `sql/`.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Run:
    run_id: str
    profile: str
    seed: int
    config: dict  # the whole configuration, as resolved
    status: str  # running | finished | failed
    home: str = ""  # folder of the run's checkpoints
    origin_run_id: str = ""
    environment: dict = field(default_factory=dict)  # versions, machine
    error: str = ""


@dataclass(frozen=True)
class StageRun:
    """One stage of one round: warm_start, proposer, generate, coder, evaluate. Wall seconds by kind of work."""

    run_id: str
    round: int
    stage: str
    status: str  # running | finished | failed
    seconds: float = 0.0
    sampling_s: float = 0.0
    verifying_s: float = 0.0
    training_s: float = 0.0
    peak_memory_mb: float = 0.0
    detail: dict = field(default_factory=dict)


@dataclass(frozen=True)
class ApiSet:
    """An API set that a Proposer prompt asked for, and where it came from: co_occurrence, frontier or probe."""

    run_id: str
    round: int
    stage: str  # proposer | generate
    prompt_index: int
    apis: tuple[str, ...]
    source: str
    from_module_id: str = ""  # the failed module behind a frontier set
    prompt: str = ""


@dataclass(frozen=True)
class Module:
    """Identity: sha256 of the normalised source (kernelzero.source.digest)."""

    module_id: str
    source: str
    apis: tuple[str, ...]  # as extracted from the source
    ast_id: str = ""
    origin: str = ""  # proposer | corpus | mini | kernelbench | user: who wrote it first
    name: str = ""


@dataclass(frozen=True)
class Validation:
    """The three-step validation of a module against the API set it was given. step: '' when accepted, else ast | runs | stable | decontaminated."""

    run_id: str
    round: int
    stage: str
    step: int  # training step, from 1; 0 in the generate stage
    row: int  # index of the completion within the step
    module_id: str  # '' when no module could be extracted
    valid: bool
    failed_step: str = ""
    reason: str = ""
    detail: str = ""
    missing_apis: tuple[str, ...] = ()
    duplicate_of: str = ""  # module_id that this one repeats


@dataclass(frozen=True)
class Proposal:
    """A completion of the Proposer and what it earned. k of n kernels of the frozen Coder were correct (n may shrink by not judged)."""

    run_id: str
    round: int
    stage: str
    step: int
    row: int
    prompt_index: int
    module_id: str
    completion: str
    tokens: int
    k: int
    n: int
    reward: float
    reward_kind: str  # frontier | penalty | duplicate | missing_apis | flaky | unscored
    advantage: float | None = None


@dataclass(frozen=True)
class Kernel:
    """Identity: sha256 of the normalised candidate source."""

    kernel_id: str
    source: str
    backend: str


@dataclass(frozen=True)
class JudgementRow:
    """Identity: judgement_id = sha256 of (module, kernel, policy, backend, seeds, scales, verifier version). Judged once."""

    judgement_id: str
    module_id: str
    kernel_id: str
    backend: str
    policy: str
    verifier: str  # version of Keck
    stage: str
    reason: str
    detail: str
    correct: bool
    flaky: bool
    max_error: float | None
    tolerance: str
    timer: str = ""  # '' when not timed
    reference_s: float | None = None
    kernel_s: float | None = None
    speedup: float | None = None
    measurement: dict = field(default_factory=dict)
    device: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Sample:
    """One completion of the Coder. role: reward (for a proposal), train (Coder GRPO) or evaluate."""

    run_id: str
    round: int
    stage: str
    role: str
    step: int
    row: int
    group_index: int  # rows of one group share it, within (run, round, stage, step)
    module_id: str
    kernel_id: str  # '' when no answer could be extracted
    judgement_id: str  # '' when not judged
    tokens: int
    finish_reason: str  # stop | length
    not_judged: str = ""
    reward: float | None = None
    advantage: float | None = None
    suite: str = ""  # of an evaluation
    task: str = ""


@dataclass(frozen=True)
class Group:
    """The gate's decision on a module's group of G kernels."""

    run_id: str
    round: int
    stage: str
    step: int
    group_index: int
    module_id: str
    size: int  # judged members
    rho: float  # share correct
    tau: float
    gate_open: bool
    nonzero: bool  # some advantage is not 0


@dataclass(frozen=True)
class Metric:
    run_id: str
    round: int
    stage: str
    step: int
    name: str
    value: float


@dataclass(frozen=True)
class Evaluation:
    """A suite's result for one Coder checkpoint. metric: pass@1, fast_1.0@1, mean_tokens ...; timer '' where time plays no part."""

    run_id: str
    round: int
    suite: str
    backend: str
    policy: str
    metric: str
    value: float
    tasks: int
    samples: int
    timer: str = ""
    low: float | None = None  # bootstrap interval over tasks
    high: float | None = None


@dataclass(frozen=True)
class Checkpoint:
    run_id: str
    round: int
    role: str  # base | proposer | coder
    path: str
    digest: str  # sha256 over the weights' files
    model_version: str = ""  # MLflow registered model version
