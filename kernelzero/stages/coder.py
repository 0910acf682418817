"""Coder CA-GRPO as a stage: modules of this round -> groups of kernels -> Keck -> gated reward -> a new Coder.

Also correct when a group's members were sampled by several processes: all rows are gathered before the gate, each process gets
its own rewards back, and the first one writes.
"""

import os

from accelerate.utils import gather_object

from kernelzero.kernels import coder_prompt
from kernelzero.models import checkpoints
from kernelzero.models.sampler import Completion
from kernelzero.rewards import Rollout, score_groups
from kernelzero.stages.context import Context
from kernelzero.stages.judging import Attempt, Judge
from kernelzero.stages.metrics import metric_rows
from kernelzero.store.records import Group, Sample
from kernelzero.training.grpo import train


def training_rows(context: Context, wanted: int) -> list[dict]:
    """One row a group: the round's accepted modules in an order of the stage's seed, from the start again when they run out."""
    import numpy

    accepted = context.store.query(
        "select distinct module_id, source from validations join modules using (module_id) where run_id = ? and round = ? "
        "and stage = 'generate' and valid and duplicate_of = '' order by module_id", [context.spec.run_id, context.spec.round])
    modules = accepted.to_dicts()
    order = numpy.random.default_rng(context.seed("order")).permutation(len(modules))
    config = context.config
    return [{"prompt": coder_prompt(modules[i]["source"], config.backend, config.base.style), "module_id": modules[i]["module_id"],
             "module_source": modules[i]["source"], "group_index": place}
            for place, i in enumerate(order[k % len(order)] for k in range(wanted))]


class CoderReward:
    """The reward function for TRL, and the writer of the stage's rows."""

    __name__ = "ca_grpo"

    def __init__(self, context: Context, end_token: int):
        self.context, self.end_token = context, end_token
        self.judge = Judge(context)
        self.step_figures: dict[str, float] = {}

    def __call__(self, completions, completion_ids, trainer_state, module_id, module_source, group_index, **_):
        texts = [c if isinstance(c, str) else c[0]["content"] for c in completions]
        attempts = [
            Attempt(module, source, Completion(text, len(ids), "stop" if ids and ids[-1] == self.end_token else "length"))
            for text, ids, module, source in zip(texts, completion_ids, module_id, module_source, strict=True)]
        judged, rows = self.judge.judge(attempts)
        own = [{"group": group, "module_id": attempt.module_id, "judged": outcome, "tokens": attempt.completion.tokens,
                "finish": attempt.completion.finish_reason}
               for group, attempt, outcome in zip(group_index, attempts, judged, strict=True)]
        everything = gather_object(own)
        identities = gather_object(rows)
        settings = self.context.config.coder
        rewards, advantages, groups = score_groups(
            [Rollout(row["group"], row["judged"].correct, row["judged"].speedup) for row in everything],
            group_size=settings.group, kind=settings.reward, tau=settings.tau, lam=settings.lam,
            floor=settings.speedup_floor, cap=settings.speedup_cap)
        rank = int(os.environ.get("RANK", "0"))
        if rank == 0:
            self._store(trainer_state.global_step + 1, everything, identities, rewards, advantages, groups)
        return rewards[rank * len(own):(rank + 1) * len(own)]

    def _store(self, step, everything, identities, rewards, advantages, groups):
        place, settings = self.context.place, self.context.config.coder
        modules = {row["group"]: row["module_id"] for row in everything}
        samples = [
            Sample(**place, role="train", step=step, row=index, group_index=row["group"], module_id=row["module_id"],
                   kernel_id=row["judged"].kernel_id, judgement_id=row["judged"].judgement_id, tokens=row["tokens"],
                   finish_reason=row["finish"], not_judged=row["judged"].not_judged, reward=reward, advantage=advantage)
            for index, (row, reward, advantage) in enumerate(zip(everything, rewards, advantages, strict=True))]
        gates = [Group(**place, step=step, group_index=g.group, module_id=modules[g.group], size=g.size, rho=g.rho,
                       tau=settings.tau, gate_open=g.gate_open, nonzero=g.nonzero) for g in groups]
        judged = [row["judged"].correct for row in everything if row["judged"].correct is not None]
        given = [reward for reward in rewards if reward is not None]
        self.step_figures = {
            "pass_rate": sum(judged) / max(1, len(judged)), "reward": sum(given) / max(1, len(given)),
            "gate_open_share": sum(g.gate_open for g in groups) / len(groups),
            "nonzero_share": sum(g.nonzero for g in groups) / len(groups),
            "distinct_kernels": len({(s.module_id, s.kernel_id) for s in samples}) / len(samples),
            "cut_off_share": sum(s.finish_reason == "length" for s in samples) / len(samples),
            "not_judged": float(sum(bool(s.not_judged) for s in samples))}
        self.context.store.write([*identities, *samples, *gates, *metric_rows(place, step, self.step_figures)])


def run(context: Context) -> dict:
    settings = context.config.coder
    model, tokenizer = context.load(context.spec.coder)
    rows = training_rows(context, settings.steps * settings.prompts)
    reward = CoderReward(context, tokenizer.eos_token_id)

    def on_step(step: int, logs: dict) -> None:
        context.store.write(metric_rows(context.place, step, {k: logs[k] for k in ("loss", "grad_norm", "entropy") if k in logs}))
        context.progress(step=step, steps=settings.steps, **reward.step_figures)

    model = train(model, tokenizer, rows, reward, settings, context.config.sampling, context.config.base, context.folder / "trainer",
                  context.spec.seed, context.clock, on_resume=context.forget_after, on_step=on_step)
    digest = checkpoints.save(model, tokenizer, context.folder / "model", context.config.base.style)
    return {"model": str(context.folder / "model"), "digest": digest, "figures": context.nonzero_warning(settings.steps)}
