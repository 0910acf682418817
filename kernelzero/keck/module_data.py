"""From the frames of a module's process to a ModuleRun with torch tensors. Imports torch; the caller is trusted."""

from kernelzero.keck import wire
from kernelzero.keck.reference_cache import Reference
from kernelzero.keck.runs import Case, ModuleJob, ModuleRun


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


def _case(header: dict, blob) -> Case:
    def nest(name):
        return (
            None if header.get(name) is None else wire.decode_nest(header[name], lambda spec: wire.to_torch(spec, blob))
        )

    return Case(
        seed=header["seed"],
        scale=header["scale"],
        inputs=nest("inputs"),
        outputs=nest("outputs"),
        outputs64=nest("outputs64"),
        repeat_equal=bool(header["repeat_equal"]),
        inputs_changed=bool(header["inputs_changed"]),
    )
