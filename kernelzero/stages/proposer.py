"""Proposer GRPO as a stage: API sets -> modules -> validation -> n kernels by the frozen Coder -> Keck -> Frontier Reward.

Each process handles the completions that TRL hands it; what repeats is decided on the rows of all processes, and the first one writes.
"""

import os
from dataclasses import dataclass

from accelerate.utils import gather_object

from kernelzero.kernels import coder_prompt
from kernelzero.models import checkpoints
from kernelzero.modules import extract_module
from kernelzero.rewards import score_proposal
from kernelzero.source import digest
from kernelzero.stages.context import Context
from kernelzero.stages.judging import Attempt, Judge
from kernelzero.stages.metrics import metric_rows
from kernelzero.stages.proposals import api_sets
from kernelzero.stages.validating import validation_rows, validator
from kernelzero.store.records import Proposal, Sample, Validation
from kernelzero.training.grpo import train


@dataclass
class Proposed:
    """One completion on its way to a reward; row counts over all processes."""

    row: int
    prompt_index: int
    text: str
    tokens: int
    source: str | None
    validation: Validation | None = None
    k: int = 0
    n: int = 0
    flaky: bool = False


class ProposerReward:
    """The reward function for TRL, and the writer of the stage's rows."""

    __name__ = "frontier"

    def __init__(self, context: Context, coder, coder_tokenizer):
        self.context = context
        self.sampler = context.sampler(coder, coder_tokenizer)
        self.judge = Judge(context)
        self.validator = validator(context)
        self.step_figures: dict[str, float] = {}

    def __call__(self, completions, completion_ids, trainer_state, apis, prompt_index, **_):
        step = trainer_state.global_step + 1
        rank = int(os.environ.get("RANK", "0"))
        texts = [c if isinstance(c, str) else c[0]["content"] for c in completions]
        own = [Proposed(rank * len(texts) + i, prompt_index[i], text, len(completion_ids[i]), extract_module(text))
               for i, text in enumerate(texts)]
        everyone = gather_object([(p.source, tuple(a)) for p, a in zip(own, apis, strict=True)])
        with self.context.verifying():
            results = self.validator.validate([(source, given) for source, given in everyone if source])
        rows = validation_rows(self.context, step, [source for source, _ in everyone], results)
        by_row = {row.row: row for row in rows if isinstance(row, Validation)}
        for proposed in own:
            proposed.validation = by_row[proposed.row]
        solved = self._solve(step, own)
        everything, identities = gather_object(own), gather_object(solved)
        rewards = [self._score(p) for p in everything]
        if rank == 0:
            self._store(step, everything, [*rows, *identities], rewards)
        return [r.reward for r in rewards[rank * len(own):(rank + 1) * len(own)]]

    def _solve(self, step: int, own: list[Proposed]) -> list:
        """Let the frozen Coder write n kernels for each distinct valid module and count; returns the rows of this."""
        config, place = self.context.config, self.context.place
        modules: dict[str, list[Proposed]] = {}
        for proposed in own:
            if proposed.validation.valid and not proposed.validation.missing_apis:
                modules.setdefault(proposed.validation.module_id, []).append(proposed)
        prompts = [coder_prompt(same[0].source, config.backend, config.base.style) for same in modules.values()]
        with self.context.sampling():
            groups = self.sampler.sample(prompts, config.proposer.kernels, self.context.seed("kernels", step)) if prompts else []
        attempts = [Attempt(module_id, same[0].source, completion)
                    for (module_id, same), group in zip(modules.items(), groups, strict=True) for completion in group]
        outcomes, rows = self.judge.judge(attempts)
        n = config.proposer.kernels
        for index, (module_id, same) in enumerate(modules.items()):
            judged = outcomes[index * n:(index + 1) * n]
            counted = [o for o in judged if o.correct is not None]
            for proposed in same:
                proposed.k, proposed.n = sum(o.correct for o in counted), len(counted)
                proposed.flaky = any(o.flaky for o in counted)
            rows += [Sample(**place, role="reward", step=step, row=same[0].row * n + i, group_index=same[0].row, module_id=module_id,
                            kernel_id=o.kernel_id, judgement_id=o.judgement_id, tokens=a.completion.tokens,
                            finish_reason=a.completion.finish_reason, not_judged=o.not_judged)
                     for i, (o, a) in enumerate(zip(judged, attempts[index * n:(index + 1) * n], strict=True))]
        return rows

    def _score(self, p: Proposed):
        settings = self.context.config.proposer
        return score_proposal(
            valid=p.validation.valid, missing_apis=bool(p.validation.missing_apis), duplicate=bool(p.validation.duplicate_of),
            flaky=p.flaky, k=p.k, n=p.n, shape=settings.shape, invalid_penalty=settings.invalid_penalty,
            duplicate_scale=settings.duplicate_scale)

    def _store(self, step, everything, rows, rewards):
        place, given = self.context.place, [r.reward for r in rewards]
        groups: dict[int, list[float]] = {}  # judged rewards of a prompt's completions; by the prompt's id, wherever they were sampled
        for p, reward in zip(everything, given, strict=True):
            groups.setdefault(p.prompt_index, []).extend([] if reward is None else [reward])
        means = {prompt: sum(judged) / len(judged) if judged else 0.0 for prompt, judged in groups.items()}
        proposals = [
            Proposal(**place, step=step, row=p.row, prompt_index=p.prompt_index, module_id=p.validation.module_id, completion=p.text,
                     tokens=p.tokens, k=p.k, n=p.n, reward=r.reward, reward_kind=r.kind,
                     advantage=None if r.reward is None else r.reward - means[p.prompt_index])
            for p, r in zip(everything, rewards, strict=True)]
        scored = [p for p in proposals if p.n > 0]
        self.step_figures = {
            "reward": sum(r for r in given if r is not None) / max(1, sum(r is not None for r in given)),
            "valid_share": sum(p.validation.valid for p in everything) / len(everything),
            "covered_share": sum(p.validation.valid and not p.validation.missing_apis for p in everything) / len(everything),
            "frontier_occupancy": sum(0.2 <= p.k / p.n <= 0.8 for p in scored) / max(1, len(scored)),
            "pass_rate": sum(p.k for p in scored) / max(1, sum(p.n for p in scored)),
            "nonzero_share": len({p.prompt_index for p in proposals if abs(p.advantage or 0) > 1e-9}) / len(groups),
            "distinct_modules": len({p.module_id or digest(p.completion) for p in proposals}) / len(proposals),
            "duplicate_share": sum(bool(p.validation.duplicate_of) for p in everything) / len(everything)}
        self.context.store.write([*rows, *proposals, *metric_rows(place, step, self.step_figures)])


def run(context: Context) -> dict:
    settings = context.config.proposer
    model, tokenizer = context.load(context.spec.proposer)
    coder, coder_tokenizer = context.load(context.spec.coder)
    sets = api_sets(context, settings.steps * settings.prompts)
    rows = [{"prompt": prompt, "apis": list(s.apis), "prompt_index": s.prompt_index}
            for s, prompt in zip(sets, context.prompts(sets), strict=True)]
    reward = ProposerReward(context, coder.eval(), coder_tokenizer)

    def on_step(step: int, logs: dict) -> None:
        context.store.write(metric_rows(context.place, step, {k: logs[k] for k in ("loss", "grad_norm", "entropy") if k in logs}))
        context.progress(step=step, steps=settings.steps, **reward.step_figures)

    model = train(model, tokenizer, rows, reward, settings, context.config.sampling, context.config.base, context.folder / "trainer",
                  context.spec.seed, context.clock, on_resume=context.forget_after, on_step=on_step)
    digest_ = checkpoints.save(model, tokenizer, context.folder / "model", context.config.base.style)
    return {"model": str(context.folder / "model"), "digest": digest_, "figures": context.nonzero_warning(settings.steps)}
