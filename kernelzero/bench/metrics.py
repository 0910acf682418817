"""pass@k, fast_p@k, their summary over a suite, and how sure one may be of them.

pass@k is the unbiased estimator 1 - C(n-c, k) / C(n, k) of a task, averaged over tasks (Chen et al. 2021, arXiv
2107.03374); fast_p@k is the same with c = the number correct and more than p times as fast as the reference
(KernelBench). Intervals are bootstraps over tasks: tasks are drawn again, each keeps its samples, so they say how much
the choice of tasks matters and not how much another training seed would. A sample that was not judged is no sample: n
shrinks by it, and the summary says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelzero.errors import UserError

KS = (1, 5, 10)
PS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)


@dataclass(frozen=True)
class Sample:
    """One judged answer. speedup: over the reference, None when it was not timed. tokens: of the completion. judged:
    whether there is a judgement at all (a fault of the machine is none)."""

    correct: bool
    speedup: float | None = None
    tokens: int = 0
    judged: bool = True


@dataclass(frozen=True)
class TaskSamples:
    """All samples of one task; `task` is its id, by which evaluations are paired."""

    task: str
    samples: tuple[Sample, ...]

    @property
    def judged(self) -> tuple[Sample, ...]:
        return tuple(sample for sample in self.samples if sample.judged)


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True)
class Summary:
    """pass_at: k -> mean over tasks, fast_at_1: p -> mean over tasks; only k for which some task has that many judged
    samples, and tasks_at says for each k over how many. intervals: of 'pass@1', 'fast_1@1'. mean_tokens: over all
    samples, judged or not."""

    tasks: int
    samples: int
    unjudged_samples: int
    unjudged_tasks: int
    untimed_correct: int
    pass_at: dict[int, float]
    fast_at_1: dict[float, float]
    tasks_at: dict[int, int]
    mean_tokens: float
    intervals: dict[str, Interval]


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k samples, drawn without replacement from n of which c are correct, is correct.

    As a product, 1 - prod (1 - k/i) for i = n-c+1 .. n: no factorial, no overflow. Raises ValueError unless 0 <= c <=
    n, 1 <= k <= n."""
    if not 0 <= c <= n:
        raise ValueError(f"c must lie between 0 and n, not {c} of {n}")
    if not 1 <= k <= n:
        raise ValueError(f"k must lie between 1 and n, not {k} of {n}")
    if n - c < k:
        return 1.0
    if k == 1:
        return c / n
    none_correct = 1.0
    for i in range(n - c + 1, n + 1):
        none_correct *= 1.0 - k / i
    return 1.0 - none_correct


def is_fast(sample: Sample, p: float) -> bool:
    """Correct with speedup > p. A correct sample without a time counts at p = 0 (correctness alone) and nowhere
    else."""
    if not sample.correct:
        return False
    if sample.speedup is None:
        return p <= 0
    return sample.speedup > p


def fast_p_at_k(samples: Sequence[Sample], p: float, k: int) -> float:
    """pass@k of one task with c = the number of its judged samples that are correct and faster than p times the
    reference."""
    judged = [sample for sample in samples if sample.judged]
    return pass_at_k(len(judged), sum(is_fast(sample, p) for sample in judged), k)


def metric(name: str) -> Callable[[Sequence[Sample]], float]:
    """The metric of one task by its name: 'pass@1', 'pass@10', 'fast_1@1', 'fast_0.8@5'."""
    head, _, count = name.partition("@")
    try:
        k = int(count)
        if k < 1:
            raise ValueError(name)
        if head == "pass":
            return lambda samples: _pass(samples, k)
        if head.startswith("fast_"):
            p = float(head[len("fast_") :])
            return lambda samples: fast_p_at_k(samples, p, k)
    except ValueError:
        pass
    raise UserError(f"unknown metric {name!r}: write pass@K or fast_P@K, for example pass@1 or fast_1.5@1")


def _pass(samples: Sequence[Sample], k: int) -> float:
    judged = [sample for sample in samples if sample.judged]
    return pass_at_k(len(judged), sum(sample.correct for sample in judged), k)


def _size(task: TaskSamples) -> int:
    return len(task.judged)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def summarise(tasks: Sequence[TaskSamples], ks: Sequence[int] = KS, ps: Sequence[float] = PS, seed: int = 0) -> Summary:
    """What an evaluation table shows of one suite. Raises UserError if nothing was judged or a task occurs twice."""
    _by_name(tasks)
    judged = [task for task in tasks if task.judged]
    if not judged:
        raise UserError("nothing to summarise: no sample of any task was judged")
    everything = [sample for task in tasks for sample in task.samples]
    at = {k: [task for task in judged if _size(task) >= k] for k in ks}
    at = {k: found for k, found in at.items() if found}
    ones = {name: [metric(name)(task.samples) for task in judged] for name in ("pass@1", "fast_1@1")}
    return Summary(
        tasks=len(tasks),
        samples=len(everything),
        unjudged_samples=sum(not sample.judged for sample in everything),
        unjudged_tasks=len(tasks) - len(judged),
        untimed_correct=sum(sample.judged and sample.correct and sample.speedup is None for sample in everything),
        pass_at={k: _mean([_pass(task.samples, k) for task in found]) for k, found in at.items()},
        fast_at_1={p: _mean([fast_p_at_k(task.samples, p, 1) for task in judged]) for p in ps},
        tasks_at={k: len(found) for k, found in at.items()},
        mean_tokens=_mean([sample.tokens for sample in everything]),
        intervals={name: bootstrap(values, seed=seed) for name, values in ones.items()},
    )


def bootstrap(values: Sequence[float], seed: int = 0, resamples: int = 2000, level: float = 0.95) -> Interval:
    """Percentile interval of the mean of one value a task, by drawing tasks with replacement. The same seed, the same
    interval."""
    import numpy as np

    if not len(values):
        raise UserError("no interval: there is no task")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    data = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(data), size=(resamples, len(data)))
    low, high = np.quantile(data[drawn].mean(axis=1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(data.mean()), float(low), float(high), level)


def paired_difference(
    before: Sequence[TaskSamples],
    after: Sequence[TaskSamples],
    name: str = "pass@1",
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean over tasks of metric(after) - metric(before), with a bootstrap over tasks. Both must hold the same tasks.

    A task that one side could not judge often enough for the metric is left out of both."""
    measure = metric(name)
    k = int(name.partition("@")[2])
    first, second = _by_name(before), _by_name(after)
    if first.keys() != second.keys():
        odd = sorted(first.keys() ^ second.keys())
        raise UserError(
            f"the two evaluations differ in {len(odd)} tasks ({', '.join(odd[:3])}): a paired difference needs the same"
        )
    names = [task for task in sorted(first) if _size(first[task]) >= k and _size(second[task]) >= k]
    if not names:
        raise UserError(f"no task has the {k} judged samples in both evaluations that {name} needs")
    differences = [measure(second[task].samples) - measure(first[task].samples) for task in names]
    return bootstrap(differences, seed, resamples, level)


def _by_name(tasks: Sequence[TaskSamples]) -> dict[str, TaskSamples]:
    found = {task.task: task for task in tasks}
    if len(found) != len(tasks):
        raise UserError("a task occurs twice in one evaluation: gather all samples of a task in one entry")
    return found
