"""Validation of proposed modules: three steps, decontamination between the first and the second, and what they
repeat.

    ast             reads as the task format, clean; the given APIs that it leaves out are reported, not refused
    decontaminated  not within the stated distance of an evaluation task (before it is run: it costs less)
    runs            in the sandbox, within time and memory; outputs are tensors or a nest of them
    stable          several seeds and scales: finite, near float64, and not to be matched without computing

A repeat of an accepted module is valid, carries `duplicate_of`, and is not run again. What a module does here is
judged by its outputs alone; whether a kernel can be written for it, nobody asks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from kernelzero.apis import check_api_set, extract
from kernelzero.keck.judge.reasons import Reason as KeckReason
from kernelzero.keck.reference.runs import ModuleJob, ModuleRun
from kernelzero.modules.archive import Archive
from kernelzero.modules.contract import check_contract, check_length, parse
from kernelzero.modules.hygiene import check_hygiene
from kernelzero.modules.near import THRESHOLD, Decontamination
from kernelzero.modules.probes import check_probe, probe, probed_inputs
from kernelzero.modules.reasons import Finding, Reason, step_of
from kernelzero.modules.stable import Thresholds, check_run, check_stable
from kernelzero.source import digest

_RUN_REASONS = {
    KeckReason.TIMEOUT: Reason.TIMEOUT,
    KeckReason.OUT_OF_MEMORY: Reason.MEMORY,
    KeckReason.CRASHED: Reason.CRASHED,
    KeckReason.EXITED: Reason.CRASHED,
    KeckReason.OUTPUT_TOO_LARGE: Reason.OUTPUT_TOO_LARGE,
    KeckReason.OUTPUT_TYPE: Reason.NO_TENSOR_OUTPUT,
}


_AT_ONCE = 32  # modules whose tensors are held at the same time


class VerifierFault(RuntimeError):
    """The sandbox failed twice for reasons of its own: no verdict on the module, and worth trying the stage again."""


@dataclass(frozen=True)
class ValidationResult:
    """valid, or the step and reason (of reasons.Reason) that it failed by. apis: as extracted; missing_apis: asked
    for and not used. duplicate_of: id of the accepted module that it repeats. nearest, distance: the evaluation
    task next to it."""

    module_id: str
    valid: bool
    failed_step: str = ""
    reason: str = ""
    detail: str = ""
    apis: tuple[str, ...] = ()
    missing_apis: tuple[str, ...] = ()
    duplicate_of: str = ""
    nearest: str = ""
    distance: float | None = None


@dataclass
class _Open:
    """A module on its way: its result so far, whether it needs a run, and where the run stands."""

    source: str
    result: ValidationResult
    pending: bool = False
    run: ModuleRun | None = None
    findings: list[Finding] = field(default_factory=list)


def check_source(source: str | None) -> Finding | None:
    """Step 1 alone: the first finding against a source, or None. None as a source is `no_module`."""
    if source is None:
        return Finding(Reason.NO_MODULE, "the completion holds no module")
    tree = parse(source)
    if isinstance(tree, Finding):
        return tree
    findings = check_length(source, tree) or check_contract(tree) or check_hygiene(tree)
    return findings[0] if findings else None


class Validator:
    """Validates batches; remembers what it accepted (`archive`) and what a source came to (`_known`), by its digest.

    verifier: Keck's (run_modules). evaluation_sources: {task name: source}. archive: sources accepted earlier.
    """

    def __init__(
        self,
        verifier,
        evaluation_sources: Mapping[str, str] | None = None,
        archive: Iterable[str] = (),
        seeds: tuple[int, ...] = (0, 1, 2),
        scales: tuple[float, ...] = (1.0, 3.0),
        near: float = THRESHOLD,
        thresholds: Thresholds | None = None,
    ):
        self.verifier, self.seeds, self.scales = verifier, seeds, scales
        self.thresholds = thresholds or Thresholds()
        self.decontamination = Decontamination(dict(evaluation_sources or {}), near)
        self.archive = Archive(archive)
        self._known: dict[str, ValidationResult] = {}

    def validate(self, proposals: Iterable[tuple[str | None, Iterable[str]]]) -> list[ValidationResult]:
        """One result for each (source, given APIs), in order. Accepted modules join the archive as the batch goes
        on, so the second of two equal ones is the repeat. Raises VerifierFault when the sandbox fails for its own
        reasons."""
        proposals = [(source, check_api_set(apis)) for source, apis in proposals]
        modules: dict[str, _Open] = {}
        for source, _ in proposals:
            key = digest(source) if source is not None else ""
            if key not in modules:
                modules[key] = self._read(key, source)
        pending = [m for m in modules.values() if m.pending]
        for start in range(0, len(pending), _AT_ONCE):
            self._run(pending[start : start + _AT_ONCE])
        for key, module in modules.items():
            self._known[key] = module.result
        results = []
        for source, given in proposals:
            result = modules[digest(source) if source is not None else ""].result
            if result.valid:
                repeated = self.archive.find(source)
                if repeated is None:
                    self.archive.add(source)
                result = replace(result, duplicate_of=repeated or "")
            results.append(replace(result, missing_apis=tuple(a for a in given if a not in result.apis)))
        return results

    def _read(self, key: str, source: str | None) -> _Open:
        """Step 1, decontamination and the archive."""
        if key in self._known:
            return _Open(source or "", self._known[key])
        result = ValidationResult(module_id=key, valid=True)
        finding = check_source(source)
        if finding is None:
            result = replace(result, apis=extract(source).apis)
            nearest = self.decontamination.nearest(source)
            if nearest:
                result = replace(result, nearest=nearest.name, distance=nearest.distance)
                if nearest.distance <= self.decontamination.threshold:
                    detail = f"at distance {nearest.distance:.2f} of the evaluation task {nearest.name}"
                    finding = Finding(Reason.NEAR_EVALUATION_TASK, detail)
        else:
            result = replace(result, apis=_apis(source))
        if finding:
            return _Open(source or "", _failed(result, finding))
        return _Open(source, result, pending=self.archive.find(source) is None)

    def _run(self, modules: list[_Open]) -> None:
        """Steps 2 and 3, the runs of all modules in one batch, then the probes of those that still stand in another."""
        runs = self._run_jobs([ModuleJob(m.source, self.seeds, self.scales) for m in modules])
        for module, run in zip(modules, runs, strict=True):
            module.run = run
            finding = _ran(run) or check_stable(run, self.thresholds)
            if finding:
                module.result = _failed(module.result, finding)
        wanted = [(m, index) for m in modules if m.result.valid for index in probed_inputs(m.run)]
        probes = self._run_jobs([probe(m.source, m.run, index) for m, index in wanted])
        for (module, index), probed in zip(wanted, probes, strict=True):
            finding = check_probe(module.run, probed, index)
            if finding and module.result.valid:
                module.result = _failed(module.result, finding)
        for module in modules:
            module.run = None  # the tensors are large and no longer needed

    def _run_jobs(self, jobs: list[ModuleJob]) -> list[ModuleRun]:
        if not jobs:
            return []
        runs = list(self.verifier.run_modules(jobs))
        again = [position for position, run in enumerate(runs) if run.fault]
        if again:
            for position, run in zip(again, self.verifier.run_modules([jobs[p] for p in again]), strict=True):
                if run.fault:
                    raise VerifierFault(f"the sandbox failed twice on a module: {run.detail or run.reason}")
                runs[position] = run
        return runs


def _ran(run: ModuleRun) -> Finding | None:
    if run.ok and run.cases:
        return check_run(run)
    return Finding(_RUN_REASONS.get(run.reason, Reason.RUN_FAILED), run.detail or run.reason)


def _failed(result: ValidationResult, finding: Finding) -> ValidationResult:
    where = f" (line {finding.line})" if finding.line else ""
    return replace(
        result,
        valid=False,
        failed_step=step_of(finding.reason).value,
        reason=finding.reason.value,
        detail=finding.detail + where,
    )


def _apis(source: str | None) -> tuple[str, ...]:
    """The API set of a module that was refused, as far as it can be read."""
    try:
        return extract(source).apis if source is not None else ()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
