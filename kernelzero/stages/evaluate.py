"""Evaluation as a stage: n samples a task of every suite -> verdicts -> pass@k, fast_p@k, mean output tokens."""

from kernelzero.bench import metrics, suites
from kernelzero.config import Config
from kernelzero.kernels import coder_prompt
from kernelzero.source import digest
from kernelzero.stages.context import Context
from kernelzero.stages.judging import Attempt, Judge
from kernelzero.store.records import Evaluation, Module, Sample

PIECE = 8  # tasks a piece: a step of progress, and what a kill can cost


def load_suite(name: str, config: Config) -> list:
    """The suite's tasks: 'mini', or 'kernelbench:LEVEL' from the configured checkout, those that fit the device."""
    settings = config.evaluate
    if name.startswith("kernelbench"):
        level = int(name.partition(":")[2] or 1)
        tasks = suites.load_kernelbench(settings.kernelbench, levels=(level,))
        limit = round(settings.kernelbench_memory_gb * 1e9)
        tasks = [t for t in tasks[:settings.limit or None] if suites.fits(t, limit)]
    else:
        tasks = suites.load_suite(name)
    return tasks[:settings.limit or None]


def run(context: Context) -> dict:
    context.forget_after(-1)
    model, tokenizer = context.load(context.spec.coder)
    sampler, judge = context.sampler(model, tokenizer), Judge(context)
    figures = {}
    loaded = {name: load_suite(name, context.config) for name in context.config.evaluate.suites}
    total, done = sum(len(tasks) for tasks in loaded.values()), 0
    for number, (name, tasks) in enumerate(loaded.items(), start=1):
        samples, outcomes = [], {}
        for start in range(0, len(tasks), PIECE):
            piece = tasks[start:start + PIECE]
            rows, judged = _evaluate(context, sampler, judge, name, number, start, piece)
            context.store.write(rows)
            outcomes |= judged
            samples += rows
            done += len(piece)
            context.progress(step=done, steps=total, suite=name)
        summary = _summarise(context, name, outcomes)
        context.store.write(summary)
        figures |= {f"{name} {row.metric}": row.value for row in summary}
    return {"figures": figures}


def _evaluate(context, sampler, judge, suite, number, start, tasks) -> tuple[list, dict]:
    """Rows of one piece of a suite, and the outcomes by task: (correct, speedup, tokens) a sample."""
    config = context.config
    n = config.evaluate.samples
    prompts = [coder_prompt(task.source, config.backend, config.base.style) for task in tasks]
    with context.sampling():
        # the seed is the piece's, not the round's: two checkpoints see the same draws, and their difference is paired
        groups = sampler.sample(prompts, n, context.seed(suite, start))
    attempts = [Attempt(digest(task.source), task.source, completion)
                for task, group in zip(tasks, groups, strict=True) for completion in group]
    judged, rows = judge.judge(attempts)
    outcomes: dict[str, list] = {}
    for index, (attempt, outcome) in enumerate(zip(attempts, judged, strict=True)):
        place = start + index // n
        task = tasks[index // n]
        rows.append(Sample(**context.place, role="evaluate", step=number, row=place * n + index % n, group_index=place,
                           module_id=attempt.module_id, kernel_id=outcome.kernel_id, judgement_id=outcome.judgement_id,
                           tokens=attempt.completion.tokens, finish_reason=attempt.completion.finish_reason,
                           not_judged=outcome.not_judged, suite=suite, task=task.name))
        if outcome.correct is not None:
            outcomes.setdefault(task.name, []).append((outcome.correct, outcome.speedup, attempt.completion.tokens))
    rows += [Module(digest(t.source), t.source, (), origin=suite, name=t.name) for t in tasks]
    return rows, outcomes


def _summarise(context: Context, suite: str, outcomes: dict[str, list]) -> list[Evaluation]:
    config = context.config
    timer = "roofline" if config.base.device == "cpu" else "cuda"
    found = metrics.summarise(outcomes, seed=config.seed)
    return [Evaluation(run_id=context.spec.run_id, round=context.spec.round, suite=suite, backend=config.backend,
                       policy=config.verifier.policy, metric=m.name, value=m.value, tasks=m.tasks, samples=config.evaluate.samples,
                       timer=timer if m.name.startswith("fast") else "", low=m.low, high=m.high) for m in found]
