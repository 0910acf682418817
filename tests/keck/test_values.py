"""Special values: formulas that are right on what get_inputs draws and break elsewhere, and honest ones that hold."""

import numpy as np
import pytest

from kernelzero.keck import Task
from kernelzero.keck.judge import comparison
from kernelzero.keck.judge.cases import VALUES, Case, cases_of, special_cases

ROWS = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other={other})
{body}
"""
SAME = "y = torch.empty_like(x)\nkernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)\nreturn y"
ONE = "y = torch.empty(x.shape[0], device=x.device)\nkernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)\nreturn y"
STORE = "    tl.store(y_ptr + row * n + cols, y, mask=mask)"
STORE_ONE = "    tl.store(y_ptr + row, y)"
NORM = "F.layer_norm(x, (40,))"
# reference, inputs, forward of the candidate, padding, body; and the special values that must tell it ('' for honest ones)
ROW_KERNELS = {
    "softmax without its maximum": ("torch.softmax(x, -1)", SAME, '-float("inf")', "    e = tl.exp(x)\n    y = e / tl.sum(e, axis=0)\n" + STORE, "large"),
    "softmax": ("torch.softmax(x, -1)", SAME, '-float("inf")', "    e = tl.exp(x - tl.max(x, axis=0))\n    y = e / tl.sum(e, axis=0)\n" + STORE, ""),
    "logsumexp without its maximum": ("torch.logsumexp(x, -1)", ONE, '-float("inf")', "    y = tl.log(tl.sum(tl.exp(x), axis=0))\n" + STORE_ONE, "large"),
    "variance as a difference of means": (
        NORM, SAME, "0.0", "    m = tl.sum(x, axis=0) / n\n    v = tl.sum(x * x, axis=0) / n - m * m\n    y = (x - m) / tl.sqrt(v + 1e-5)\n" + STORE, "offset"),
    "another eps": (
        NORM, SAME, "0.0",
        "    m = tl.sum(x, axis=0) / n\n    d = tl.where(mask, x - m, 0.0)\n    y = d / tl.sqrt(tl.sum(d * d, axis=0) / n + 1e-6)\n" + STORE, "tiny"),
    "layer norm": (
        NORM, SAME, "0.0",
        "    m = tl.sum(x, axis=0) / n\n    d = tl.where(mask, x - m, 0.0)\n    y = d / tl.sqrt(tl.sum(d * d, axis=0) / n + 1e-5)\n" + STORE, ""),
    "zero under a maximum": ("torch.amax(x, -1)", ONE, "0.0", "    y = tl.max(x, axis=0)\n" + STORE_ONE, "negative"),
    "maximum": ("torch.amax(x, -1)", ONE, '-float("inf")', "    y = tl.max(x, axis=0)\n" + STORE_ONE, ""),
    "zero over a minimum": ("torch.amin(x, -1)", ONE, "0.0", "    y = tl.min(x, axis=0)\n" + STORE_ONE, "offset"),
    "a finite stand-in for minus infinity": ("torch.amax(x, -1)", ONE, "-1000.0", "    y = tl.max(x, axis=0)\n" + STORE_ONE, "negative"),
}
POINTS = {
    "tanh by exponentials that overflow": ("torch.tanh(x)", "e = tl.exp(2 * x)\n    y = (e - 1) / (e + 1)", "large"),
    "tanh by a sigmoid": ("torch.tanh(x)", "y = 2 * tl.sigmoid(2 * x) - 1", ""),
    "softplus that overflows": ("F.softplus(x)", "y = tl.log(1 + tl.exp(x))", "large"),
    "softplus": ("F.softplus(x)", "y = tl.where(x > 20, x, tl.log(1 + tl.exp(tl.minimum(x, 20.0))))", ""),
    "a clamp left out far away": ("torch.clamp(x, -20, 20)", "y = tl.where(x > 20, 20.0, x)", "large"),
    "relu by a product": ("torch.relu(x)", "y = x * (x > 0)", "infinite"),
    "relu": ("torch.relu(x)", "y = tl.maximum(x, 0.0)", ""),
}


@pytest.mark.parametrize("name", ROW_KERNELS)
def test_rows(verifier, write, name):
    expr, forward, other, body, told_by = ROW_KERNELS[name]
    kernel = ROWS.format(other=other, body=body)
    # draws that are friendly to a zero in the padding lanes
    inputs = "-torch.rand(6, 40) - 0.5" if "minimum" in name else "torch.rand(6, 40) + 0.5" if "zero under" in name else "torch.randn(6, 40)"
    check(verifier, write.module(f"return {expr}", inputs=inputs), write.candidate(kernel, forward), told_by)


@pytest.mark.parametrize("name", POINTS)
def test_points(verifier, write, name):
    expr, body, told_by = POINTS[name]
    check(verifier, write.module(f"return {expr}"), write.pointwise(body), told_by)


def check(verifier, reference: str, source: str, told_by: str) -> None:
    judgement = verifier.verify([Task(reference, source)])[0].judgement
    if not told_by:
        assert judgement.correct, judgement.detail
        return
    assert judgement.reason in ("wrong_values", "non_finite") and not judgement.flaky, judgement
    assert judgement.difference.values == told_by and f"values {told_by}" in judgement.detail, judgement.detail


def test_values_that_the_module_does_not_take_are_left_out(judge, write):
    careful = write.module("assert x.abs().max() < 50\nreturn x * x + x")
    assert judge(careful, write.pointwise()).correct


def test_values_at_which_eager_itself_is_off_are_left_out(judge, write):
    # sin(100 x + offset) of a float32 product: eager's own rounding of the argument is far above the bound
    unstable = write.module("return torch.sin(x * 1000.0 + 0.1)")
    assert judge(unstable, write.pointwise("y = tl.sin(x * 1000.0 + 0.1)")).correct


def test_the_table_is_whole():
    first = cases_of((4, 5), (1.0, 3.0))[0]
    assert [case.values for case in special_cases(first)] == list(VALUES) and {case.seed for case in special_cases(first)} == {4}
    assert str(Case(1, 3.0, "large")) == "seed 1, scale 3, values large"


def test_where_the_oracle_is_nan_an_infinite_case_takes_anything():
    want = comparison.Expected((3,), "float32", np.array([np.nan, 1.0, np.inf]), np.array([np.nan, 1.0, np.inf]), np.array([0.0, 1e-5, 0.0]),
                               anything=np.array([True, False, False]))
    assert comparison.compare_value(want, np.array([7.0, 1.0, np.inf], np.float32), "y").reason == ""
    assert comparison.compare_value(want, np.array([7.0, np.nan, np.inf], np.float32), "y").reason == "non_finite"
    assert comparison.compare_value(want, np.array([7.0, 1.0, 9.0], np.float32), "y").reason == "non_finite"
