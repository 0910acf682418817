"""What a stage is told and what it answers, as JSON files in the stage's folder."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class StageSpec:
    """kind: warm_start | proposer | generate | coder | evaluate. seed: the stage's own, derived from the run's.

    proposer, coder: checkpoint folders (the policy of the stage and the frozen other one). inputs_digest covers all that the
    result depends on, so that a change makes exactly this stage run again.
    """

    kind: str
    run_id: str
    round: int
    config: dict
    folder: str
    database: str
    seed: int
    proposer: str = ""
    coder: str = ""
    keck: str = ""  # socket of the run's verifier; '' starts a private one
    inputs_digest: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind} of round {self.round}" if self.round or self.kind == "evaluate" else self.kind


@dataclass(frozen=True)
class StageResult:
    """model, digest: the checkpoint that the stage wrote ('' if none); figures: what the terminal and the artifacts show."""

    model: str = ""
    digest: str = ""
    figures: dict = field(default_factory=dict)
    seconds: float = 0.0
    sampling_s: float = 0.0
    verifying_s: float = 0.0
    training_s: float = 0.0
    peak_memory_mb: float = 0.0


def write_json(value, path: Path) -> None:
    """Whole or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value if isinstance(value, dict) else asdict(value)))
    partial.replace(path)


def read_spec(path: Path) -> StageSpec:
    return StageSpec(**json.loads(path.read_text()))


def derive_seed(seed: int, *names) -> int:
    """A seed in [0, 2**31) for one purpose: sha256 of the run's seed and the names of the purpose."""
    text = json.dumps([seed, *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def digest_of(value) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
