"""The verifier: a batch of (module, candidate) to verdicts, in order, one each, whatever the candidates do.

The process that holds a `Verifier` is the judge. It runs no code of a candidate or a module: three confined processes
do (`reference`, `record`, `replay`), and what they send is data that is checked. `workers` jobs run at once.
"""

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.judge.cases import Case
from kernelzero.keck.judge.verdict import Task, Verdict
from kernelzero.keck.judging import KECK_VERSION, Judging, NotJudged, Stop
from kernelzero.keck.pool.processes import Fault, Pool
from kernelzero.keck.reference.runs import ModuleJob, ModuleRun
from kernelzero.keck.references import Reference, ReferenceCache, decode_run, run_reference
from kernelzero.source import digest, normalise


def judgement_key(task: Task) -> str:
    """sha256 of everything that a judgement depends on: module, kernel, rules, cases, this verifier's version."""
    rules = [
        digest(task.module),
        digest(task.candidate),
        task.backend,
        task.policy,
        list(task.seeds),
        list(task.scales),
        KECK_VERSION,
    ]
    return hashlib.sha256(json.dumps(rules).encode()).hexdigest()


class Verifier:
    """Starts its warm process with the first task. Use as a context manager, or call `close`."""

    def __init__(self, workers: int = 2, limits: Limits | None = None):
        self.workers, self.limits = workers, limits or Limits()
        self.pool = Pool(self.limits.memory_mb << 20, self.limits.output_bytes)
        self.references = ReferenceCache(self.pool, self.limits)
        self.threads = ThreadPoolExecutor(workers, thread_name_prefix="keck")
        self.verdicts: OrderedDict[str, Future] = OrderedDict()
        self.lock = threading.Lock()

    def __enter__(self) -> "Verifier":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self) -> "Verifier":
        """Begins the warm start in the background; without it the first task does."""
        self.pool.start()
        return self

    def close(self) -> None:
        self.threads.shutdown(wait=True, cancel_futures=True)
        self.pool.close()

    def isolation(self) -> dict:
        """What the sandbox holds on this host (see sandbox.Isolation)."""
        return self.pool.current().isolation

    def verify(self, tasks: list[Task]) -> list[Verdict]:
        found = dict(self.verify_iter(tasks))
        return [found[i] for i in range(len(found))]

    def verify_iter(self, tasks: Iterable[Task]) -> Iterator[tuple[int, Verdict]]:
        """(index, verdict) as they finish. Tasks are taken from the iterable as workers become free."""
        yield from self._as_finished(tasks, self._verify)

    def run_modules(self, jobs: list[ModuleJob]) -> list[ModuleRun]:
        """Modules on their own, sandboxed, on every pair of seed and scale; in order."""
        return [decode_run(raw) for raw in self.run_modules_raw(jobs)]

    def run_modules_raw(self, jobs: list[ModuleJob]) -> list[tuple[Reference, ModuleJob, float, str]]:
        found = dict(self._as_finished(jobs, self._run_module))
        return [found[i] for i in range(len(found))]

    def _as_finished(self, items, function):
        source = enumerate(items)
        running: dict[Future, int] = {}
        exhausted = False
        while True:
            while not exhausted and len(running) < 2 * self.workers:
                index, item = next(source, (None, None))
                if index is None:
                    exhausted = True
                else:
                    running[self.threads.submit(function, item)] = index
            if not running:
                return
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()

    def _run_module(self, job: ModuleJob):
        start = time.perf_counter()
        cases = [Case(seed, scale) for seed in job.seeds for scale in job.scales]
        fault = ""
        for _ in range(self.limits.retries + 1):
            try:
                reference = run_reference(self.pool, normalise(job.source), cases, self.limits)
                return reference, job, time.perf_counter() - start, ""
            except Fault as error:
                fault = str(error)
        return Reference(failed="fault", detail=fault), job, time.perf_counter() - start, fault

    def _verify(self, task: Task) -> Verdict:
        """Equal questions get one answer: the second asker waits for the first."""
        key = judgement_key(task) + str(task.time)
        with self.lock:
            future = self.verdicts.get(key)
            mine = future is None
            if mine:
                future = self.verdicts[key] = Future()
                if len(self.verdicts) > self.limits.verdict_cache:
                    self.verdicts.popitem(last=False)
        if not mine:
            return future.result()
        verdict = self._verdict(task)
        if verdict.not_judged and verdict.retry:
            with self.lock:
                self.verdicts.pop(key, None)
        future.set_result(verdict)
        return verdict

    def _verdict(self, task: Task) -> Verdict:
        start, stages = time.perf_counter(), {}
        fault = ""
        for _ in range(self.limits.retries + 1):
            try:
                return self._judge(task, start, stages)
            except Fault as error:
                fault = str(error)
            except Exception as error:  # a bug of ours must not take the batch with it, nor be a candidate's failure
                fault = f"the verifier failed: {type(error).__name__}: {error}"
        return Verdict(not_judged=fault, retry=True, seconds=time.perf_counter() - start, stages_s=stages)

    def _judge(self, task: Task, start: float, stages: dict) -> Verdict:
        def verdict(**fields) -> Verdict:
            return Verdict(
                **fields, seconds=time.perf_counter() - start, stages_s={k: round(v, 6) for k, v in stages.items()}
            )

        if task.backend != "triton":
            known = task.backend == "cuda"
            return verdict(
                not_judged="not built: CUDA candidates are not supported yet"
                if known
                else f"unknown backend {task.backend!r}"
            )
        try:
            return verdict(**Judging(self.pool, self.limits, self.references, task, stages).run())
        except Stop as stop:
            return verdict(judgement=stop.judgement)
        except NotJudged as error:
            return verdict(not_judged=str(error))
