"""Step 3: are a module's outputs fit to judge kernels by? Reads the tensors that the sandbox sent back; runs no
code of it.

A module is refused when an output is not finite, differs between two runs of one seed, is far from float64, is
constant, is an input handed back, depends on none (or not on each) of its inputs, or would be matched by zeros or
by a mean within tolerance. `tolerance` is that of the published evaluators (1e-4, absolute and relative); Keck's
own bounds, which are narrower, were applied where the reference ran and come in as `passed_by`.
"""

from dataclasses import dataclass

from kernelzero.keck.reference.runs import Case, ModuleRun
from kernelzero.modules.reasons import Finding, Reason


@dataclass(frozen=True)
class Thresholds:
    """float64: largest error in units of (|value| + root mean square); tolerance: absolute and relative, for zeros
    and means."""

    float64: float = 1e-3
    tolerance: float = 1e-4
    identity: float = 1e-6


_DEFAULT = Thresholds()


def leaves(value) -> list:
    """The values of a nest of lists, tuples and dictionaries, in order."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value, key=str) for leaf in leaves(value[key])]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def tensors(value) -> list:
    """The tensors among the leaves."""
    import torch

    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]


def check_run(run: ModuleRun) -> Finding | None:
    """What is wrong with the form of inputs and outputs (still step 2), or None."""
    for case in run.cases:
        if not tensors(case.inputs):
            return Finding(Reason.NO_TENSOR_INPUT, "get_inputs gives no tensor")
        outputs = tensors(case.outputs)
        if not outputs:
            return Finding(Reason.NO_TENSOR_OUTPUT, "forward returns no tensor")
        if any(t.numel() == 0 for t in outputs):
            return Finding(Reason.EMPTY_OUTPUT, "an output has no elements")
        if case.inputs_changed:
            return Finding(Reason.CHANGES_INPUTS, "forward changes its inputs in place")
    return None


def check_stable(run: ModuleRun, thresholds: Thresholds = _DEFAULT) -> Finding | None:
    """The first reason against a module that ran, by its outputs alone (dependence on inputs: see `probes`), or
    None."""
    for case in run.cases:
        where = f"at seed {case.seed}, scale {case.scale}"
        if not case.repeat_equal:
            return Finding(Reason.NOT_DETERMINISTIC, f"two runs {where} differ")
        if not all(bool(t.isfinite().all()) for t in tensors(case.outputs)):
            return Finding(Reason.NOT_FINITE, f"an output holds NaN or infinity {where}")
        if case.outputs64 is None:
            return Finding(Reason.NO_FLOAT64, "forward does not run with float64 weights and inputs")
        if (error := error64(case)) > thresholds.float64:
            return Finding(
                Reason.FAR_FROM_FLOAT64,
                f"the error against float64 is {error:.1e} {where}; {thresholds.float64:g} is allowed",
            )
    if _constant(run.cases):
        return Finding(Reason.CONSTANT, "every output is constant")
    if all(_identity(case, thresholds.identity) for case in run.cases):
        return Finding(Reason.IDENTITY, "forward hands an input back")
    if run.passed_by == "the first answer":
        return Finding(Reason.INPUT_INDEPENDENT, "the output of one input would pass for the output of every other")
    if run.passed_by == "zeros" or _passed(run.cases, thresholds.tolerance, lambda t: t.new_zeros(())):
        return Finding(Reason.PASSED_BY_ZEROS, "zeros would pass for the output within tolerance")
    if run.passed_by or _passed(run.cases, thresholds.tolerance, lambda t: t.mean()):
        return Finding(Reason.PASSED_BY_MEAN, "the mean of the output would pass for it within tolerance")
    return None


def error64(case: Case) -> float:
    """Largest error against float64, each in units of (|value| + rms of its tensor); infinite when they do not
    compare."""
    mine, exact = tensors(case.outputs), tensors(case.outputs64)
    if [t.shape for t in mine] != [t.shape for t in exact]:
        return float("inf")
    worst = 0.0
    for a, b in zip(mine, exact, strict=True):
        if not (a.is_floating_point() or a.is_complex()):
            worst = max(worst, 0.0 if bool((a == b).all()) else float("inf"))
            continue
        unit = b.abs() + b.abs().square().mean().sqrt()
        error = (a.to(b.dtype) - b).abs() / unit.clamp_min(1e-30)
        worst = max(worst, float(error.nan_to_num(float("inf")).max()))
    return worst


def _constant(cases: list[Case]) -> bool:
    """Every output has one value throughout; where all are single numbers, the same one in every case."""
    found = [tensors(case.outputs) for case in cases]
    if any(t.numel() > 1 for group in found for t in group):
        return all(bool((t == t.reshape(-1)[0]).all()) for group in found for t in group)
    return len(cases) > 1 and all(a.equal(b) for group in found[1:] for a, b in zip(group, found[0], strict=False))


def _identity(case: Case, tolerance: float) -> bool:
    """Each output is one of the inputs, element by element, whatever its shape."""
    inputs = tensors(case.inputs)
    return all(any(_equal(t, x, tolerance) for x in inputs) for t in tensors(case.outputs))


def _equal(a, b, tolerance: float) -> bool:
    if a.numel() != b.numel() or a.dtype != b.dtype:
        return False
    a, b = a.reshape(-1).double(), b.reshape(-1).double()
    return bool(((a - b).abs() <= tolerance * (1 + b.abs())).all())


def _passed(cases: list[Case], tolerance: float, guess) -> bool:
    """In every case the guess is within tolerance of every element of every floating-point output of more than one."""
    import torch

    seen = False
    for case in cases:
        for t in tensors(case.outputs):
            if not t.is_floating_point() or t.numel() < 2:
                return False
            seen = True
            exact = t.double()
            if not torch.isclose(guess(exact).expand_as(exact), exact, rtol=tolerance, atol=tolerance).all():
                return False
    return seen


def scale_matters(run: ModuleRun) -> bool:
    """Some output changed with the scale of the inputs, weights and seed being equal: so it depends on them."""
    by_seed: dict[int, list[Case]] = {}
    for case in run.cases:
        by_seed.setdefault(case.seed, []).append(case)
    return any(not same_outputs(group[0], case) for group in by_seed.values() for case in group[1:])


def same_outputs(one: Case, other: Case) -> bool:
    """Bit for bit the same outputs."""
    a, b = tensors(one.outputs), tensors(other.outputs)
    return len(a) == len(b) and all(x.dtype == y.dtype and x.equal(y) for x, y in zip(a, b, strict=True))
