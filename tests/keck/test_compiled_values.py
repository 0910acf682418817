"""A value is in the replay what it is when compiled: fp32 scalars, enumerations, names of the language."""

import types

import pytest
import triton.language as tl

from kernelzero.keck.language import kernels

SCALED = """
@triton.jit
def kernel(x_ptr, y_ptr, n, eps, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    {body}
    tl.store(y_ptr + i, y, mask=mask)
"""
LAUNCH = "y = torch.empty_like(x)\nkernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), 1e-3, 2.5, BLOCK=128)\nreturn y"


@pytest.mark.parametrize("body", [
    "y = x * scale.to(tl.float32) + eps.to(x.dtype)",
    "y = tl.fma(x, scale, eps)",
    "s = scale * 1.0\n    y = tl.where(s > 0, x * s + eps, 0.0)",
    "y = x * tl.full((BLOCK,), scale, tl.float32) + eps",
])
def test_float_arguments_are_fp32_scalars(judge, write, body):
    judgement = judge(write.module("return x * 2.5 + 1e-3"), write.candidate(SCALED.format(body=body), LAUNCH))
    assert judgement.correct, judgement


def test_a_float_argument_is_rounded_to_fp32(judge, write):
    # 16777217 is 2^24 + 1: as an fp32 scalar it is 2^24, so the difference is 0 when compiled and not 1
    kernel = SCALED.format(body="y = x + (scale - 16777216.0)")
    forward = LAUNCH.replace("1e-3, 2.5", "1e-3, 16777217.0")
    assert judge(write.module("return x * 1.0"), write.candidate(kernel, forward)).correct
    assert judge(write.module("return x + 1.0"), write.candidate(kernel, forward)).reason == "wrong_values"


@pytest.mark.parametrize("top, name", [("", "tl.PropagateNan.ALL"), ("", "propagate")])
def test_enumerations_are_part_of_the_language(judge, write, top, name):
    kernel = write.POINTWISE.format(body=f"y = tl.maximum(x, 0.0, propagate_nan={name})")
    forward = write.LAUNCH
    if name == "propagate":
        kernel = kernel.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, propagate: tl.constexpr")
        forward = forward.replace("BLOCK=128", "BLOCK=128, propagate=tl.PropagateNan.ALL")
    judgement = judge(write.module("return torch.relu(x)"), write.candidate(kernel, forward, top=top))
    assert judgement.correct, judgement


def test_every_public_name_of_the_language_is_known():
    unknown = [name for name, value in vars(tl).items()
               if not name.startswith("_") and not isinstance(value, types.ModuleType) and not kernels.is_language(value)]
    assert unknown == ["str_to_ty"]  # a helper of the compiler's that its namespace happens to hold


@pytest.mark.parametrize("source", ["tl.PropagateNan.__class__", "tl.PropagateNan.ALL.__init__", "tl.PropagateNan.mro"])
def test_an_enumeration_opens_no_door(source):
    with pytest.raises(kernels.NotTriton):
        kernels.check(f"def kernel(x):\n    y = {source}\n", {"tl": tl})
