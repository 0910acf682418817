"""What every stage has at hand: configuration, store, verifier, clock, and a way to report progress."""

import json
import time
from contextlib import contextmanager
from pathlib import Path

from kernelzero import keck
from kernelzero.config import Config, build
from kernelzero.models import checkpoints
from kernelzero.models.sampler import TransformersSampler
from kernelzero.modules import proposer_prompt
from kernelzero.stages.spec import StageSpec, derive_seed
from kernelzero.store import StageKey, Store
from kernelzero.store.records import ApiSet
from kernelzero.training.grpo import Clock


class Context:
    """Opened for the length of a stage. The verifier is the run's shared service, or a private one where there is none."""

    def __init__(self, spec: StageSpec):
        self.spec = spec
        self.config: Config = build(spec.config)
        self.folder = Path(spec.folder)
        self.store = Store(spec.database)
        self.clock = Clock()
        self._verifier = None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._verifier is not None:
            self._verifier.close()

    @property
    def verifier(self):
        if self._verifier is None:
            settings = self.config.verifier
            if self.spec.keck:
                self._verifier = keck.connect(self.spec.keck)
            else:
                self._verifier = keck.Verifier(settings.workers)
        return self._verifier

    @property
    def place(self) -> dict:
        """The key columns of this stage's rows."""
        return {"run_id": self.spec.run_id, "round": self.spec.round, "stage": self.spec.kind}

    def seed(self, *names) -> int:
        return derive_seed(self.spec.seed, *names)

    def load(self, folder: str):
        base = self.config.base
        return checkpoints.load(folder, base.style, base.dtype, base.device)

    def sampler(self, model, tokenizer) -> TransformersSampler:
        return TransformersSampler(model, tokenizer, self.config.sampling)

    @contextmanager
    def sampling(self):
        started = time.perf_counter()
        yield
        self.clock.sampling_s += time.perf_counter() - started

    @contextmanager
    def verifying(self):
        started = time.perf_counter()
        yield
        self.clock.verifying_s += time.perf_counter() - started

    def forget_after(self, step: int) -> None:
        """Before a stage goes on after its step `step` (0: from the start, -1: all of it): drop the rows of later steps."""
        self.store.write([], forget=StageKey(**self.place, after_step=step))

    def prompts(self, sets: list[ApiSet]) -> list:
        return [proposer_prompt(s.apis, self.config.base.style) for s in sets]

    def nonzero_warning(self, steps: int) -> dict:
        """Figures of a finished GRPO stage; 'warning' when under 20% of its groups had anything to teach."""
        share = self.store.query("select avg(value) as share from metrics where run_id = ? and round = ? and stage = ? and name = "
                                 "'nonzero_share'", list(self.place.values()))["share"][0]
        figures = {"steps": steps, "nonzero_share": share}
        if share is not None and share < 0.2:
            figures["warning"] = f"only {share:.0%} of the groups had a non-zero advantage: this stage taught next to nothing"
        return figures

    def progress(self, **figures) -> None:
        with (self.folder / "progress.jsonl").open("a") as stream:
            stream.write(json.dumps(figures) + "\n")
