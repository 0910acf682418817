"""Kernels whose values come out right where programs run one by one, and that a card may get wrong; and honest ones that look alike."""

import numpy as np
import pytest

from kernelzero.keck.replay.races import Race, Races

HEAD = "@triton.jit\ndef kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):\n    p = tl.program_id(0)\n    i = p * BLOCK + tl.arange(0, BLOCK)\n    mask = i < n\n"
ONE = "y = torch.zeros(1, device=x.device)\nkernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)\nreturn y"
ROWS = "y = torch.empty(x.shape[0], device=x.device)\nkernel[(x.shape[0],)](x, y, x.shape[0], BLOCK=64)\nreturn y"
COPY = "y = x.clone()\nkernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)\nreturn y"
SUM = "    s = tl.sum(tl.load(x_ptr + i, mask=mask, other=0.0), axis=0)\n"
RACING = {  # reference, forward, the kernel's end, the line of the kernel that is named (in HEAD's numbering)
    "a sum by load and store": ("x.sum().reshape(1)", ONE, SUM + "    tl.store(y_ptr, tl.load(y_ptr) + s)\n"),
    "a running sum that needs the programs' order": (
        "torch.cumsum(x[:, 0], 0)", ROWS,
        "    before = tl.load(y_ptr + p - 1, mask=p > 0, other=0.0)\n    tl.store(y_ptr + p, before + tl.load(x_ptr + p * 40))\n"),
    "the last program's value stays": (
        "x.reshape(-1)[-1:] * 1.0", ONE, "    v = tl.load(x_ptr + tl.minimum(p * BLOCK + BLOCK - 1, n - 1))\n    tl.store(y_ptr, v)\n"),
    "a stencil in place": (
        "x.reshape(-1) + torch.cat([x.reshape(-1)[1:], torch.zeros(1)])", COPY.replace("x.clone()", "x.clone().reshape(-1)"),
        "    v = tl.load(y_ptr + i, mask=mask) + tl.load(y_ptr + i + 1, mask=i + 1 < n, other=0.0)\n    tl.store(y_ptr + i, v, mask=mask)\n"),
    "plain zeroing beside atomics": (
        "x.sum().reshape(1)", ONE.replace("zeros", "empty"),
        SUM + "    tl.store(y_ptr, 0.0, mask=p == 0)\n    tl.atomic_add(y_ptr, s)\n"),
    "two lanes of one store": (
        "x.reshape(-1)[1::2] * 1.0", "y = torch.empty(240, device=x.device)\nkernel[(4,)](x, y, x.numel(), BLOCK=128)\nreturn y",
        "    tl.store(y_ptr + i // 2, tl.load(x_ptr + i, mask=mask), mask=mask)\n"),
}
HONEST = {
    "a sum by atomics": ("x.sum().reshape(1)", ONE, SUM + "    tl.atomic_add(y_ptr, s)\n"),
    "in place, every program its own block": (
        "x * 2.0", COPY, "    tl.store(y_ptr + i, tl.load(y_ptr + i, mask=mask) * 2.0, mask=mask)\n"),
    "overlapping blocks that store the same": (
        "x * 2.0", COPY.replace("x.clone()", "torch.empty_like(x)"),
        "    j = tl.minimum(i, n - 1)\n    tl.store(y_ptr + j, tl.load(x_ptr + j) * 2.0)\n"
        "    k = tl.minimum(j + 1, n - 1)\n    tl.store(y_ptr + k, tl.load(x_ptr + k) * 2.0)\n"),
    "every program reads all": (
        "(x + x.sum()).reshape(-1)[:12] * 1.0", ROWS,
        "    t = 0.0\n    for k in range(0, 480, BLOCK):\n        c = k + tl.arange(0, BLOCK)\n"
        "        t += tl.sum(tl.load(x_ptr + c, mask=c < 480, other=0.0), axis=0)\n    tl.store(y_ptr + p, tl.load(x_ptr + p) + t)\n"),
    "a lock": (
        "x.sum().reshape(1)", "y = torch.zeros(2, device=x.device)\nkernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)\nreturn y[:1]",
        SUM + "    while tl.atomic_cas(y_ptr.to(tl.pointer_type(tl.int32)) + 1, 0, 1) == 1:\n        pass\n"
        "    tl.store(y_ptr, tl.load(y_ptr) + s)\n    tl.atomic_xchg(y_ptr.to(tl.pointer_type(tl.int32)) + 1, 0)\n"),
}


@pytest.mark.parametrize("name", RACING)
def test_a_race_is_named_with_kernel_line_and_element(judge, write, name):
    expr, forward, end = RACING[name]
    judgement = judge(write.module(f"return {expr}"), write.candidate(HEAD + end, forward))
    assert judgement.reason == "race", judgement
    assert "kernel, line" in judgement.detail and not judgement.flaky


@pytest.mark.parametrize("name", HONEST)
def test_what_looks_like_a_race_and_is_none(judge, write, name):
    expr, forward, end = HONEST[name]
    judgement = judge(write.module(f"return {expr}"), write.candidate(HEAD + end, forward))
    assert judgement.correct, judgement


def test_the_bookkeeping_by_hand():
    races, ranges = Races(), [(1000, 1016)]  # four floats
    first = np.array([1000, 1004], dtype=np.uint64)
    yes = np.array([True, True])
    races.note(first, 4, "store", ranges, yes)
    races.note(first[:1], 4, "load", ranges)  # its own
    races.program = 1
    with pytest.raises(Race, match="program 1 loads what program 0 stored, at element 0"):
        races.note(first, 4, "load", ranges)
    with pytest.raises(Race, match="another value into what program 0 stored"):
        races.note(first[1:], 4, "store", ranges, yes[1:])
    races.note(first[1:], 4, "store", ranges, ~yes[1:])  # the same value
    races.note(np.array([1012], dtype=np.uint64), 4, "load", ranges)
    races.program = 2
    races.note(np.array([1012], dtype=np.uint64), 4, "load", ranges)
    with pytest.raises(Race, match="several others loaded, at element 3"):
        races.note(np.array([1012], dtype=np.uint64), 4, "store", ranges, np.array([True]))
    with pytest.raises(Race):  # half of a float is enough
        races.note(np.array([1006], dtype=np.uint64), 2, "load", ranges)
    races.enter()  # the next launch
    races.note(first, 4, "load", ranges)
