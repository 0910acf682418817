"""The comparison on numbers that a person worked out; keys, counts and frames."""

import dataclasses
import socket

import numpy as np
import pytest
import torch

from kernelzero.keck import Task, judgement_key
from kernelzero.keck.confine import wire
from kernelzero.keck.judge import comparison as judge
from kernelzero.keck.judge.cases import Case, cases_of
from kernelzero.keck.judge.reasons import MEANING, Reason
from kernelzero.keck.timing import roofline


def expected(values, dtype="float32", eager=None):
    """An Expected of one output: float64 values and what eager gave (default: the same, rounded)."""
    packer = wire.Packer()
    oracle = torch.tensor(values, dtype=torch.float64)
    own = torch.tensor(values if eager is None else eager, dtype=getattr(torch, dtype))
    header = {
        "outputs": {"t": packer.add(own)},
        "outputs64": {"t": packer.add(oracle if own.is_floating_point() else own)},
    }
    return judge.expectations(header, memoryview(packer.blob))[0]


def test_the_bound_by_hand():
    # values -1 and 1 in float64 and exactly in float32: spread 1, |y| 1, so 2e-5 * (1 + 1)
    want = expected([-1.0, 1.0])
    assert want.bound == pytest.approx([4e-5, 4e-5])
    assert judge.compare_value(want, np.array([-1.0, 1.0 + 3e-5], np.float32), "y").error == pytest.approx(
        0.75, rel=0.01
    )
    worse = judge.compare_value(want, np.array([-1.0, 1.0 + 5e-5], np.float32), "y")
    assert worse.reason == Reason.WRONG_VALUES and worse.error == pytest.approx(1.25, rel=0.01)


def test_what_eager_itself_misses_is_admitted():
    want = expected([-1.0, 1.0], eager=[-1.0, 1.25])
    assert want.bound == pytest.approx([2.0, 2.0])  # 8 x 0.25


def test_the_bound_follows_small_outputs():
    want = expected([1.0e-6, 1.1e-6, 0.9e-6])
    assert judge.compare_value(want, np.zeros(3, np.float32), "y").reason == Reason.WRONG_VALUES


def test_half_precision_has_a_wider_bound_and_integers_none():
    assert judge.compare_value(expected([0.0, 2.0], "float16"), np.array([0.0, 2.004], np.float16), "y").reason == ""
    assert judge.compare_value(expected([1, 2], "int32"), np.array([1, 2], np.int32), "y").reason == ""
    assert judge.compare_value(expected([1, 2], "int32"), np.array([1, 3], np.int32), "y").reason == Reason.WRONG_VALUES


@pytest.mark.parametrize(
    "got, right",
    [
        ([1.0, np.nan, np.inf, 2.0], True),
        ([1.0, np.nan, -np.inf, 2.0], False),
        ([np.nan, np.nan, np.inf, 2.0], False),
        ([1.0, 3.0, np.inf, 2.0], False),
    ],
)
def test_non_finite_values_stand_where_the_reference_has_them(got, right):
    want = expected([1.0, float("nan"), float("inf"), 2.0])
    assert (judge.compare_value(want, np.array(got, np.float32), "y").reason == "") is right


def test_constants_that_pass():
    assert judge.passed_by([[expected([0.0, 0.0])]]) == "zeros"
    assert judge.passed_by([[expected([3.0, 3.0])], [expected([4.0, 4.0])]]) == "the mean"
    assert judge.passed_by([[expected([3.0, 5.0])], [expected([3.0, 5.0])]]) == "the first answer"
    assert judge.passed_by([[expected([3.0, 5.0])], [expected([3.0, 6.0])]]) == ""
    assert judge.passed_by([[expected([3.0])], [expected([4.0])]]) == ""


def test_roofline_by_hand():
    assert roofline.seconds(2, 8192) == pytest.approx(2 * 40e-9 + 81.92e-9)
    measured = roofline.measurement(1, 8192, 2, 16384, {})
    assert measured.speedup == pytest.approx(2.0) and measured.timer == "roofline"
    # at 16 x 64 both a second launch and a second pass cost at least a fifth of the whole
    assert roofline.seconds(2, 8192) > 1.2 * roofline.seconds(1, 8192) and roofline.seconds(
        1, 16384
    ) > 1.2 * roofline.seconds(1, 8192)


def test_cases_use_every_seed_and_scale():
    assert cases_of((0, 1, 2), (1.0, 3.0)) == [Case(0, 1.0), Case(1, 3.0), Case(2, 1.0)]
    assert cases_of((5,), (1.0, 3.0)) == [Case(5, 1.0), Case(5, 3.0)]
    assert len(cases_of((0, 1), (1.0, 2.0))) == 3 and len(set(cases_of((0, 1), (1.0, 2.0)))) == 3


def test_the_key_covers_the_rules_and_not_the_layout():
    task = Task("a = 1\n", "b = 2\n")
    same = dataclasses.replace(task, module="a = 1  \r\n", time=False, finish_reason="length")
    assert judgement_key(task) == judgement_key(same) and len(judgement_key(task)) == 64
    others = [
        dataclasses.replace(task, **change)
        for change in (
            {"candidate": "b = 3\n"},
            {"policy": "kernelbench"},
            {"seeds": (1,)},
            {"scales": (2.0,)},
            {"backend": "cuda"},
            {"module": "a = 2\n"},
        )
    ]
    assert len({judgement_key(t) for t in (task, *others)}) == 7


def test_every_reason_has_a_meaning():
    assert set(MEANING) == set(Reason)


def test_frames_are_checked():
    ours, theirs = socket.socketpair()
    wire.send(theirs, {"a": 1}, b"xyz")
    header, blob = wire.receive(ours, 100)
    assert header == {"a": 1} and bytes(blob) == b"xyz"
    wire.send(theirs, {"a": "y" * 200})
    with pytest.raises(wire.WireError, match="over the limit"):
        wire.receive(ours, 100)
    good = {"dtype": "float32", "shape": [2], "at": 0, "size": 8}
    assert wire.check_tensor(good, 8) is good
    for change in (
        {"dtype": "object"},
        {"shape": [3]},
        {"shape": [-2]},
        {"at": 4},
        {"at": -8},
        {"size": 4},
        {"shape": [True, 2]},
    ):
        with pytest.raises(wire.WireError):
            wire.check_tensor(good | change, 8)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6.0).reshape(2, 3).t(),
        torch.tensor(3),
        torch.empty(0, 4),
        torch.randn(3).bfloat16(),
        torch.tensor([True, False]),
        torch.arange(4).expand(2, 4),
        torch.arange(10)[::3],
    ],
)
def test_tensors_travel_with_their_strides(tensor):
    packer = wire.Packer()
    packer.add(torch.ones(3))
    back = wire.to_torch(packer.add(tensor), memoryview(packer.blob))
    assert back.dtype == tensor.dtype and torch.equal(back, tensor)
    assert 0 in tensor.stride() or back.stride() == tensor.stride()
