"""Evaluation as a stage: n samples a task of every suite -> verdicts -> pass@k, fast_p@k, mean output tokens."""

from kernelzero.apis import api_set
from kernelzero.bench import metrics, suites
from kernelzero.bench.footprint import fits, footprints
from kernelzero.config import Config
from kernelzero.errors import UserError
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
        sizes = footprints(tasks)
        limit = round(settings.kernelbench_memory_gb * 1e9)
        tasks = [t for t, size in zip(tasks, sizes, strict=True)
                 if fits(t, limit, config.base.device, settings.kernelbench_seconds, footprint=size)]
        if not tasks:
            raise UserError(f"no task of {name} fits evaluate.kernelbench_memory_gb = {settings.kernelbench_memory_gb} and "
                            f"evaluate.kernelbench_seconds = {settings.kernelbench_seconds} on this device; raise them")
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
        outcomes: list[metrics.TaskSamples] = []
        for start in range(0, len(tasks), PIECE):
            piece = tasks[start:start + PIECE]
            rows, judged = _evaluate(context, sampler, judge, name, number, start, piece)
            context.store.write(rows)
            outcomes += judged
            done += len(piece)
            context.progress(step=done, steps=total, suite=name)
        summary = _summarise(context, name, outcomes)
        context.store.write(summary)
        figures |= {f"{name} {row.metric}": row.value for row in summary}
    return {"figures": figures}


def _evaluate(context, sampler, judge, suite, number, start, tasks) -> tuple[list, list[metrics.TaskSamples]]:
    """Rows of one piece of a suite, and the outcomes by task."""
    config = context.config
    n = config.evaluate.samples
    prompts = [coder_prompt(task.source, config.backend, config.base.style) for task in tasks]
    with context.sampling():
        # the seed is the piece's, not the round's: two checkpoints see the same draws, and their difference is paired
        groups = sampler.sample(prompts, n, context.seed(suite, start))
    attempts = [Attempt(digest(task.source), task.source, completion)
                for task, group in zip(tasks, groups, strict=True) for completion in group]
    judged, rows = judge.judge(attempts)
    outcomes: dict[str, list] = {task.name: [] for task in tasks}
    for index, (attempt, outcome) in enumerate(zip(attempts, judged, strict=True)):
        place = start + index // n
        task = tasks[index // n]
        rows.append(Sample(**context.place, role="evaluate", step=number, row=place * n + index % n, group_index=place,
                           module_id=attempt.module_id, kernel_id=outcome.kernel_id, judgement_id=outcome.judgement_id,
                           tokens=attempt.completion.tokens, finish_reason=attempt.completion.finish_reason,
                           not_judged=outcome.not_judged, suite=suite, task=task.name))
        outcomes[task.name].append(metrics.Sample(bool(outcome.correct), outcome.speedup, attempt.completion.tokens, outcome.correct is not None))
    rows += [Module(digest(t.source), t.source, tuple(api_set(t.source)), origin=suite, name=t.name) for t in tasks]
    return rows, [metrics.TaskSamples(name, tuple(samples)) for name, samples in outcomes.items()]


def _summarise(context: Context, suite: str, outcomes: list[metrics.TaskSamples]) -> list[Evaluation]:
    config = context.config
    timer = "roofline" if config.base.device == "cpu" else "cuda"
    found = metrics.summarise(outcomes, seed=config.seed)
    values = {f"pass@{k}": (value, found.tasks_at[k]) for k, value in found.pass_at.items()}
    values |= {f"fast_{p:g}@1": (value, found.tasks) for p, value in found.fast_at_1.items()}
    values |= {"mean_tokens": (found.mean_tokens, found.tasks), "not_judged": (found.unjudged_samples / found.samples, found.tasks)}
    rows = []
    for name, (value, tasks) in values.items():
        interval = found.intervals.get(name)
        rows.append(Evaluation(
            run_id=context.spec.run_id, round=context.spec.round, suite=suite, backend=config.backend, policy=config.verifier.policy,
            metric=name, value=value, tasks=tasks, samples=config.evaluate.samples, timer=timer if name.startswith("fast") else "",
            low=interval.low if interval else None, high=interval.high if interval else None))
    return rows
