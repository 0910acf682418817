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

from kernelzero.keck import judge, roofline, wire
from kernelzero.keck.limits import Limits
from kernelzero.keck.pool import Fault, JobFailure, Pool
from kernelzero.keck.reasons import Reason
from kernelzero.keck.reference_cache import Reference, ReferenceCache, run_reference
from kernelzero.keck.runs import ModuleJob, ModuleRun
from kernelzero.keck.verdict import Judgement, Stage, Task, Verdict
from kernelzero.source import digest, normalise

KECK_VERSION = "1"
MIN_CASES = 3
STAGES = {stage.value: stage for stage in Stage}
LIMIT_REASONS = (
    Reason.TIMEOUT,
    Reason.OUT_OF_MEMORY,
    Reason.CRASHED,
    Reason.EXITED,
    Reason.OUTPUT_TOO_LARGE,
    Reason.BAD_TAPE,
)


def cases_of(seeds: tuple[int, ...], scales: tuple[float, ...]) -> list[tuple[int, float]]:
    """At least three pairs where there are as many: each seed with the next scale; every seed and scale occurs."""
    count = max(MIN_CASES, len(seeds), len(scales))
    pairs = [(seeds[i % len(seeds)], scales[i % len(scales)]) for i in range(count)]
    for seed in seeds:  # equal lengths walk in step: fill up with pairs that have not occurred
        pairs += [(seed, scale) for scale in scales]
    return list(dict.fromkeys(pairs))[:count]


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


class _Stop(Exception):
    """The judgement is made."""

    def __init__(self, stage: Stage, reason: str, detail: str, **more):
        super().__init__(detail)
        self.judgement = Judgement(stage, str(reason), detail[:600], **more)


class _NotJudged(Exception):
    pass


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
        from kernelzero.keck.module_data import decode_run

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
        cases = [(seed, scale) for seed in job.seeds for scale in job.scales]
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
            return verdict(**Judging(self, task, stages).run())
        except _Stop as stop:
            return verdict(judgement=stop.judgement)
        except _NotJudged as error:
            return verdict(not_judged=str(error))


class Judging:
    """One task on its way through the stages."""

    def __init__(self, verifier: Verifier, task: Task, stages: dict):
        self.pool, self.limits, self.references = verifier.pool, verifier.limits, verifier.references
        self.task, self.stages = task, stages
        self.candidate = normalise(task.candidate)

    def timed(self, name: str, since: float) -> float:
        now = time.perf_counter()
        self.stages[name] = self.stages.get(name, 0.0) + now - since
        return now

    def run(self) -> dict:
        now = time.perf_counter()
        module, cases = normalise(self.task.module), cases_of(tuple(self.task.seeds), tuple(self.task.scales))
        reference = self.references.get(f"{digest(module)} {cases}", module, cases)
        self.timed("reference", now)
        if reference.failed:
            raise _NotJudged(f"the reference fails: {reference.failed}: {reference.detail}")
        dtypes = [e.dtype for e in reference.cases[0].expected]
        if "bfloat16" in dtypes:
            raise _NotJudged("a limit of the device: bfloat16 is wrong in Triton's interpreter")
        if reference.passed_by:
            raise _NotJudged(
                f"a constant would pass for this module ({reference.passed_by}), so it can tell nothing apart"
            )
        groups: dict[str, list[int]] = {}
        for index, case in enumerate(reference.cases):
            groups.setdefault(case.signature, []).append(index)
        worst, counts, passed = 0.0, None, 0
        for indices in groups.values():
            tape, constants = self.record(reference, indices[0])
            for finding, answer in self.replay(reference, indices, tape, constants, passed):
                worst, passed = max(worst, finding.error or 0.0), passed + 1
                counts = counts or answer
        judgement = Judgement(
            Stage.CORRECT, "", "", worst, judge.tolerance_text(dtypes), flaky=worst >= judge.NEAR_BOUND
        )
        return {"judgement": judgement, "measurement": self.measure(reference, counts) if self.task.time else None}

    def measure(self, reference: Reference, counts: dict):
        first = reference.cases[0].header
        versions = {"keck": KECK_VERSION, **self.pool.current().versions}
        return roofline.measurement(
            counts["launches"] + counts["torch_launches"],
            counts["bytes"] + counts["torch_bytes"],
            first["launches"],
            first["bytes"],
            versions,
        )

    def record(self, reference: Reference, index: int) -> tuple[dict, memoryview]:
        now = time.perf_counter()
        header = reference.cases[index].header
        shared = [name for name, kind, _ in header["parameters"] if kind != "parameter"]
        request = {
            "kind": "record",
            "source": self.candidate,
            "init": header["init"],
            "inputs": header["inputs"],
            "shared": shared,
            "policy": self.task.policy,
        }
        try:
            for answer, blob in self.pool.run(request, b"", self.limits.seconds_of("record"), self.limits.tape_bytes):
                self.timed("record", now)
                self.check_parameters(reference, answer.get("parameters"), "tape" in answer)
                if "failed" in answer:
                    raise _Stop(STAGES[answer["stage"]], Reason(answer["failed"]), str(answer["detail"]))
                if not isinstance(answer["tape"], dict):
                    raise TypeError("no tape")
                return answer["tape"], blob
        except JobFailure as failure:
            raise _Stop(Stage.SCREENED, failure.reason, f"while it was recorded: {failure.detail}") from None
        except (KeyError, TypeError, ValueError, AttributeError, wire.WireError) as error:
            raise _Stop(Stage.BUILT, Reason.BAD_TAPE, f"the recording sent no tape: {error}") from None
        raise _Stop(Stage.SCREENED, Reason.EXITED, "the recording process left without a tape")

    def check_parameters(self, reference: Reference, listing, recorded: bool) -> None:
        """Parameters and buffers strictly by name, shape and dtype; buffers of the candidate's own are its business."""
        if listing is None:
            return
        stage = Stage.RECORDED if recorded else Stage.BUILT
        mine = {str(name): (str(kind), tuple(shape), str(dtype)) for name, kind, shape, dtype in listing}
        theirs = {name: (kind, tuple(spec["shape"]), spec["dtype"]) for name, kind, spec in reference.parameters}
        missing = [n for n, (kind, _, _) in theirs.items() if kind != "temporary" and n not in mine]
        extra = [n for n, (kind, _, _) in mine.items() if kind == "parameter" and n not in theirs]
        if missing or extra:
            parts = [
                f"{what} {', '.join(names[:6])}"
                for what, names in (("lacks", missing), ("has its own", extra))
                if names
            ]
            raise _Stop(
                stage, Reason.PARAMETERS, f"ModelNew {' and '.join(parts)}; weights are loaded by the reference's names"
            )
        for name, (kind, shape, dtype) in theirs.items():
            if (
                name in mine
                and mine[name] != (kind, shape, dtype)
                and (kind != "temporary" or mine[name][1:] != (shape, dtype))
            ):
                raise _Stop(
                    stage,
                    Reason.PARAMETERS,
                    f"{name} is a {mine[name][0]} {list(mine[name][1])} {mine[name][2]}, "
                    f"the reference's a {kind} {list(shape)} {dtype}",
                )

    def replay(self, reference: Reference, indices: list[int], tape: dict, constants: memoryview, passed: int):
        """Yields (finding, answer) of each case that is right; raises _Stop at the first that is not."""
        now = time.perf_counter()
        blob, specs = bytearray(constants), []
        for index in indices:
            case = reference.cases[index]
            specs.append(
                {
                    "inputs": case.header["inputs"],
                    "parameters": case.header["parameters"],
                    "at": len(blob) - len(constants),
                    "size": len(case.inputs),
                }
            )
            blob += case.inputs
        request = {
            "kind": "replay",
            "tape": tape,
            "tape_bytes": len(constants),
            "policy": self.task.policy,
            "cases": specs,
        }
        done = 0
        try:
            for answer, data in self.pool.run(
                request, blob, self.limits.seconds_of("replay"), self.limits.output_bytes
            ):
                now = self.timed("replay", now)
                yield self.compare(reference.cases[indices[done]], answer, data, passed + done), answer
                now = self.timed("judge", now)
                done += 1
                if done == len(indices):
                    return
        except JobFailure as failure:
            raise _Stop(
                Stage.PARAMETERS, failure.reason, f"while it was replayed: {failure.detail}", flaky=passed + done > 0
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError, wire.WireError) as error:
            raise _Stop(Stage.PARAMETERS, Reason.BAD_TAPE, f"the replay sent no outputs: {error}") from None
        raise _Stop(Stage.PARAMETERS, Reason.EXITED, "the replay left without a result")

    def compare(self, case, answer: dict, data: memoryview, passed: int) -> judge.Finding:
        if "limit" in answer:
            raise _NotJudged(f"a limit of the device: {answer['limit']}")
        if "failed" in answer:
            reason = Reason(answer["failed"])
            early = {
                Reason.COMPILE_ERROR: Stage.BUILT,
                Reason.KERNEL_LANGUAGE: Stage.BUILT,
                Reason.TORCH_OPERATOR: Stage.RECORDED,
            }
            raise _Stop(early.get(reason, Stage.PARAMETERS), reason, str(answer["detail"]), flaky=passed > 0)
        counts = [answer[k] for k in ("launches", "torch_launches", "bytes", "torch_bytes", "untouched")]
        if not all(type(n) is int and n >= 0 for n in counts):
            raise TypeError("counts are no whole numbers")
        finding = judge.compare(case.header, case.expected, answer, data)
        tolerance = judge.tolerance_text([e.dtype for e in case.expected])
        if finding.reason:
            near = finding.error is not None and finding.error <= 1.0 / judge.NEAR_BOUND
            raise _Stop(
                Stage.RAN,
                finding.reason,
                f"seed {case.header['seed']}, scale {case.header['scale']:g}: {finding.detail}",
                max_error=finding.error,
                tolerance=tolerance,
                flaky=passed > 0 or near,
            )
        if answer["untouched"] and self.task.policy == "strict":
            raise _Stop(
                Stage.RAN, Reason.NO_KERNEL_WORK, "an output holds nothing that a kernel stored", tolerance=tolerance
            )
        return finding
