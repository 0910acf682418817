"""One task on its way through the stages: reference, record, parameters, replay, comparison.

Runs in the trusted process. Of a candidate's or a module's code nothing runs here; what their processes send is data
that is checked.
"""

import time

from kernelzero.keck.confine import wire
from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.judge import comparison
from kernelzero.keck.judge.cases import DRAWN, Case, cases_of, special_cases
from kernelzero.keck.judge.reasons import Reason
from kernelzero.keck.judge.verdict import Difference, Judgement, Stage, Task
from kernelzero.keck.pool.processes import JobFailure, Pool
from kernelzero.keck.references import Reference, ReferenceCache, ReferenceCase
from kernelzero.keck.timing import roofline
from kernelzero.source import digest, normalise

KECK_VERSION = "2"
STAGES = {stage.value: stage for stage in Stage}


class Stop(Exception):
    """The judgement is made."""

    def __init__(self, stage: Stage, reason: str, detail: str, **more):
        super().__init__(detail)
        self.judgement = Judgement(stage, str(reason), detail[:600], **more)


class NotJudged(Exception):
    pass


class Judging:
    """One task on its way through the stages."""

    def __init__(self, pool: Pool, limits: Limits, references: ReferenceCache, task: Task, stages: dict):
        self.pool, self.limits, self.references = pool, limits, references
        self.task, self.stages = task, stages
        self.candidate = normalise(task.candidate)

    def timed(self, name: str, since: float) -> float:
        now = time.perf_counter()
        self.stages[name] = self.stages.get(name, 0.0) + now - since
        return now

    def run(self) -> dict:
        now = time.perf_counter()
        module, cases = normalise(self.task.module), cases_of(tuple(self.task.seeds), tuple(self.task.scales))
        cases += special_cases(cases[0])
        reference = self.references.get(f"{digest(module)} {cases}", module, cases)
        self.timed("reference", now)
        if reference.failed:
            raise NotJudged(f"the reference fails: {reference.failed}: {reference.detail}")
        dtypes = [e.dtype for e in reference.cases[0].expected]
        if "bfloat16" in dtypes:
            raise NotJudged("a limit of the device: bfloat16 is wrong in Triton's interpreter")
        if reference.passed_by:
            raise NotJudged(
                f"a constant would pass for this module ({reference.passed_by}), so it can tell nothing apart"
            )
        worst, counts, passed = 0.0, None, 0
        tapes: dict[str, tuple] = {}
        for cases in (reference.cases, reference.special):  # special values only for what is right on the drawn ones
            groups: dict[str, list[ReferenceCase]] = {}
            for case in cases:
                groups.setdefault(case.signature, []).append(case)
            for signature, group in groups.items():
                if signature not in tapes:
                    tapes[signature] = self.record(reference, group[0])
                for finding, answer in self.replay(group, *tapes[signature], passed):
                    worst, passed = max(worst, finding.error or 0.0), passed + 1
                    counts = counts or answer
        judgement = Judgement(
            Stage.CORRECT, "", "", worst, comparison.tolerance_text(dtypes), flaky=worst >= comparison.NEAR_BOUND
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
            own_launches=counts["launches"],
            own_bytes=counts["bytes"],
        )

    def record(self, reference: Reference, case: ReferenceCase) -> tuple[dict, memoryview]:
        now = time.perf_counter()
        header = case.header
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
                    raise Stop(STAGES[answer["stage"]], Reason(answer["failed"]), str(answer["detail"]))
                if not isinstance(answer["tape"], dict):
                    raise TypeError("no tape")
                return answer["tape"], blob
        except JobFailure as failure:
            raise Stop(Stage.SCREENED, failure.reason, f"while it was recorded: {failure.detail}") from None
        except (KeyError, TypeError, ValueError, AttributeError, wire.WireError) as error:
            raise Stop(Stage.BUILT, Reason.BAD_TAPE, f"the recording sent no tape: {error}") from None
        raise Stop(Stage.SCREENED, Reason.EXITED, "the recording process left without a tape")

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
            raise Stop(
                stage, Reason.PARAMETERS, f"ModelNew {' and '.join(parts)}; weights are loaded by the reference's names"
            )
        for name, (kind, shape, dtype) in theirs.items():
            if (
                name in mine
                and mine[name] != (kind, shape, dtype)
                and (kind != "temporary" or mine[name][1:] != (shape, dtype))
            ):
                raise Stop(
                    stage,
                    Reason.PARAMETERS,
                    f"{name} is a {mine[name][0]} {list(mine[name][1])} {mine[name][2]}, "
                    f"the reference's a {kind} {list(shape)} {dtype}",
                )

    def replay(self, cases: list[ReferenceCase], tape: dict, constants: memoryview, passed: int):
        """Yields (finding, answer) of each case that is right; raises Stop at the first that is not."""
        now = time.perf_counter()
        blob, specs = bytearray(constants), []
        for case in cases:
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
                yield self.compare(cases[done], answer, data, passed + done), answer
                now = self.timed("judge", now)
                done += 1
                if done == len(cases):
                    return
        except JobFailure as failure:
            raise Stop(
                Stage.PARAMETERS, failure.reason, f"while it was replayed: {failure.detail}", flaky=passed + done > 0
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError, wire.WireError) as error:
            raise Stop(Stage.PARAMETERS, Reason.BAD_TAPE, f"the replay sent no outputs: {error}") from None
        raise Stop(Stage.PARAMETERS, Reason.EXITED, "the replay left without a result")

    def compare(self, case, answer: dict, data: memoryview, passed: int) -> comparison.Finding:
        if "limit" in answer:
            raise NotJudged(f"a limit of the device: {answer['limit']}")
        if "failed" in answer:
            reason = Reason(answer["failed"])
            early = {
                Reason.COMPILE_ERROR: Stage.BUILT,
                Reason.KERNEL_LANGUAGE: Stage.BUILT,
                Reason.TORCH_OPERATOR: Stage.RECORDED,
            }
            raise Stop(early.get(reason, Stage.PARAMETERS), reason, str(answer["detail"]), flaky=passed > 0)
        counts = [answer[k] for k in ("launches", "torch_launches", "bytes", "torch_bytes", "untouched")]
        if not all(type(n) is int and n >= 0 for n in counts):
            raise TypeError("counts are no whole numbers")
        finding = comparison.compare(case.header, case.expected, answer, data)
        tolerance = comparison.tolerance_text([e.dtype for e in case.expected])
        if finding.reason:
            header = case.header
            place = finding.place and Difference(
                seed=header["seed"], scale=header["scale"], values=header["values"], call=1, **finding.place
            )
            near = finding.error is not None and finding.error <= 1.0 / comparison.NEAR_BOUND
            raise Stop(
                Stage.RAN,
                finding.reason,
                f"{Case(header['seed'], header['scale'], header['values'])}: {finding.detail}",
                max_error=finding.error,
                tolerance=tolerance,
                flaky=near or passed > 0 and header["values"] == DRAWN,
                difference=place,
            )
        if answer["untouched"] and self.task.policy == "strict":
            raise Stop(
                Stage.RAN, Reason.NO_KERNEL_WORK, "an output holds nothing that a kernel stored", tolerance=tolerance
            )
        return finding
