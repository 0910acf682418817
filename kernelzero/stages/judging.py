"""From completions of the Coder to verdicts and rows: extract, screen, look up what is judged already, verify the rest.

Each distinct (module, kernel) is judged once, ever: the database is asked first. A completion without an answer is a kernel too,
its text as it came, so that nothing that was sampled is lost.
"""

from dataclasses import dataclass, replace

from kernelzero import keck
from kernelzero.keck import Task
from kernelzero.kernels import extract_answer, screen
from kernelzero.models.sampler import Completion
from kernelzero.source import digest
from kernelzero.stages.spec import digest_of
from kernelzero.store.records import JudgementRow, Kernel


@dataclass(frozen=True)
class Attempt:
    """A completion that answers a module. module_id is the digest of module_source."""

    module_id: str
    module_source: str
    completion: Completion


@dataclass(frozen=True)
class Judged:
    """correct: None when it could not be judged, `not_judged` then says why."""

    kernel_id: str
    judgement_id: str
    correct: bool | None
    speedup: float | None
    flaky: bool
    reason: str
    not_judged: str = ""


class Judge:
    """One for a stage. `judge` returns an outcome an attempt, and the new rows that belong in the database with it."""

    def __init__(self, context):
        self.context = context
        self.known: dict[str, JudgementRow] = {}

    def judge(self, attempts: list[Attempt]) -> tuple[list[Judged], list]:
        with self.context.verifying():
            return self._judge(attempts)

    def _judge(self, attempts):
        prepared = [self._prepare(attempt) for attempt in attempts]
        self._look_up({key for _, _, key, _ in prepared})
        rows: list = [Kernel(kernel_id, source, self.context.config.backend)
                      for kernel_id, source in {p[0]: p[1].candidate for p in prepared}.items()]
        pending: dict[str, Task] = {}
        for kernel_id, task, key, refused in prepared:
            if key in self.known or key in pending:
                continue
            if refused:
                self._keep(rows, self._row(key, kernel_id, task, stage=refused[0], reason=refused[1], detail=refused[2]))
            else:
                pending[key] = task
        faults = {}
        verdicts = self.context.verifier.verify(list(pending.values())) if pending else []
        for (key, task), verdict in zip(pending.items(), verdicts, strict=True):
            if verdict.judgement is None:
                faults[key] = verdict.not_judged
            else:
                self._keep(rows, self._verdict_row(key, task, verdict))
        return [self._outcome(kernel_id, key, faults) for kernel_id, _, key, _ in prepared], rows

    def _prepare(self, attempt: Attempt):
        """(kernel id, task, judgement id, refused) of an attempt; refused: (stage, reason, detail) when it never runs."""
        config = self.context.config
        answer = extract_answer(attempt.completion.text, config.backend, attempt.completion.finish_reason)
        source = answer.source if answer.source is not None else attempt.completion.text
        task = Task(attempt.module_source, source, config.backend, config.verifier.policy, config.verifier.seeds,
                    config.verifier.scales, finish_reason=attempt.completion.finish_reason)
        refused, key = None, keck.judgement_key(task)
        if answer.reason:
            refused = (keck.Stage.NONE if answer.source is None else keck.Stage.EXTRACTED, answer.reason, answer.detail)
            key = digest_of([key, answer.reason])  # the same text may be whole when the sampler was not cut off
        else:
            found = screen(source, config.backend, config.verifier.policy, attempt.module_source)
            if found:
                refused = (keck.Stage.EXTRACTED, *found)
        return digest(source), task, key, refused

    def _look_up(self, keys: set[str]) -> None:
        missing = sorted(keys - self.known.keys())
        if missing:
            self.known |= {row.judgement_id: row for row in self.context.store.rows(JudgementRow, judgement_id=missing)}

    def _keep(self, rows: list, row: JudgementRow) -> None:
        self.known[row.judgement_id] = row
        rows.append(row)

    def _row(self, key, kernel_id, task, **fields) -> JudgementRow:
        base = JudgementRow(key, digest(task.module), kernel_id, task.backend, task.policy, keck.KECK_VERSION, stage="", reason="",
                            detail="", correct=False, flaky=False, max_error=None, tolerance="")
        return replace(base, **fields)

    def _verdict_row(self, key, task, verdict) -> JudgementRow:
        judgement, measured = verdict.judgement, verdict.measurement
        row = self._row(key, digest(task.candidate), task, stage=judgement.stage, reason=judgement.reason, detail=judgement.detail,
                        correct=judgement.correct, flaky=judgement.flaky, max_error=judgement.max_error,
                        tolerance=judgement.tolerance, seconds=verdict.seconds)
        if measured is None:
            return row
        figures = {"launches": measured.launches, "bytes": measured.bytes_moved, "reference_launches": measured.reference_launches,
                   "reference_bytes": measured.reference_bytes, "quantiles_s": measured.quantiles_s, "versions": measured.versions}
        return replace(row, timer=measured.timer, reference_s=measured.reference_s, kernel_s=measured.kernel_s,
                       speedup=measured.speedup, measurement=figures, device=measured.device)

    def _outcome(self, kernel_id: str, key: str, faults: dict[str, str]) -> Judged:
        if key in faults:
            return Judged(kernel_id, "", None, None, False, "", faults[key])
        row = self.known[key]
        return Judged(kernel_id, key, row.correct, row.speedup, row.flaky, row.reason)
