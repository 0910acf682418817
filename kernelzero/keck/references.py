"""What is known of a module: its cases as data, what the judge expects of them. Kept once for each module, oldest out
first; and a module's run
as torch tensors, for validation. Imports torch only to make those.
"""

import json
import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field

from kernelzero.keck.confine import wire
from kernelzero.keck.confine.limits import Limits
from kernelzero.keck.judge import comparison
from kernelzero.keck.judge.cases import DRAWN, Case
from kernelzero.keck.judge.reasons import Reason
from kernelzero.keck.pool.processes import JobFailure, Pool
from kernelzero.keck.reference.runs import Case as ModuleCase
from kernelzero.keck.reference.runs import ModuleJob, ModuleRun


@dataclass(frozen=True)
class ReferenceCase:
    """header: the frame's; inputs: the part of its bytes that holds inputs and weights, which is all that a replay
    gets.
    """

    header: dict
    blob: memoryview
    inputs: memoryview
    signature: str
    expected: list


@dataclass(frozen=True)
class Reference:
    cases: list[ReferenceCase] = field(default_factory=list)
    failed: str = ""
    detail: str = ""
    passed_by: str = ""
    size: int = 0
    special: list[ReferenceCase] = field(default_factory=list)

    @property
    def parameters(self) -> list:
        return self.cases[0].header["parameters"]


def read_case(header: dict, blob: memoryview, drawn: ReferenceCase | None = None) -> ReferenceCase:
    specs = wire.leaves(header["inputs"]) + wire.leaves(header["init"]) + [spec for _, _, spec in header["parameters"]]
    for spec in specs + wire.leaves(header["outputs"]):
        wire.check_tensor(spec, len(blob))
    if not all(type(header[key]) is int and header[key] >= 0 for key in ("launches", "bytes")):
        raise wire.WireError("counts are no whole numbers")
    end = max((spec["at"] + spec["size"] for spec in specs), default=0)
    bare = [wire.map_nest(header[key], lambda s: [s["dtype"], s["shape"], s["stride"]]) for key in ("inputs", "init")]
    return ReferenceCase(header, blob, blob[:end], json.dumps(bare), comparison.expectations(header, blob, drawn.expected if drawn else None))


def run_reference(pool: Pool, source: str, cases: list[Case], limits: Limits) -> Reference:
    """Faults are raised; what the module does wrong is in the value. Drawn cases stand before the special ones."""
    found: list[ReferenceCase] = []
    special: list[ReferenceCase] = []
    answers, drawn = 0, sum(case.values == DRAWN for case in cases)
    request = {"kind": "reference", "source": source, "cases": [[case.seed, case.scale, case.values] for case in cases]}
    try:
        for header, blob in pool.run(request, b"", limits.seconds_of("reference"), limits.output_bytes):
            if "failed" in header:
                return Reference(found, str(header["failed"]), str(header.get("detail", ""))[:500])
            answers += 1
            if answers <= drawn:
                found.append(read_case(header, blob))
            elif "without" not in header:
                case = read_case(header, blob, found[0])
                special += [case] if comparison.tells(case.expected, header["values"]) else []
            if answers == len(cases):
                break
    except JobFailure as failure:
        return Reference(found, str(failure.reason), failure.detail)
    except (wire.WireError, KeyError, TypeError, ValueError) as error:
        return Reference(found, str(Reason.BAD_TAPE), f"the module's process sent no case: {error}"[:300])
    if len(found) < drawn:
        return Reference(found, str(Reason.EXITED), "the module's process left without a result")
    return Reference(
        found,
        passed_by=comparison.passed_by([c.expected for c in found]),
        size=sum(len(c.blob) * 3 for c in found + special),
        special=special,
    )


class ReferenceCache:
    """Least recently used, bounded by bytes; two askers of one module wait for one run."""

    def __init__(self, pool: Pool, limits: Limits):
        self.pool, self.limits = pool, limits
        self.entries: OrderedDict[str, Future] = OrderedDict()
        self.lock = threading.Lock()
        self.bytes = 0

    def get(self, key: str, source: str, cases: list) -> Reference:
        with self.lock:
            future = self.entries.get(key)
            mine = future is None
            if mine:
                future = self.entries[key] = Future()
            else:
                self.entries.move_to_end(key)
        if mine:
            try:
                future.set_result(run_reference(self.pool, source, cases, self.limits))
            except BaseException as error:
                with self.lock:
                    self.entries.pop(key, None)
                future.set_exception(error)
                raise
            self._trim(future.result().size)
        return future.result()

    def _trim(self, added: int) -> None:
        with self.lock:
            self.bytes += added
            while self.bytes > self.limits.reference_cache_bytes and len(self.entries) > 1:
                key, oldest = next(iter(self.entries.items()))
                if not oldest.done():
                    break
                self.bytes -= oldest.result().size
                del self.entries[key]


def decode_run(raw: tuple[Reference, ModuleJob, float, str]) -> ModuleRun:
    reference, _, seconds, fault = raw
    cases = [_case(c.header, c.blob) for c in reference.cases]
    first = reference.cases[0].header if reference.cases else {}
    listing = [(name, kind, tuple(spec["shape"]), spec["dtype"]) for name, kind, spec in first.get("parameters", [])]
    return ModuleRun(
        ok=not reference.failed,
        reason=reference.failed,
        detail=reference.detail,
        cases=cases,
        parameters=listing,
        passed_by=reference.passed_by,
        launches=first.get("launches", 0),
        bytes_moved=first.get("bytes", 0),
        seconds=seconds,
        fault=bool(fault),
    )


def _case(header: dict, blob) -> ModuleCase:
    def nest(name):
        return (
            None if header.get(name) is None else wire.decode_nest(header[name], lambda spec: wire.to_torch(spec, blob))
        )

    return ModuleCase(
        seed=header["seed"],
        scale=header["scale"],
        inputs=nest("inputs"),
        outputs=nest("outputs"),
        outputs64=nest("outputs64"),
        repeat_equal=bool(header["repeat_equal"]),
        inputs_changed=bool(header["inputs_changed"]),
    )
