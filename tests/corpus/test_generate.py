import random

import pytest

from kernelzero.corpus import generate, is_held_out, make_spec, reference_kernel
from kernelzero.corpus.generate import break_frame
from kernelzero.corpus.held_out import HELD_OUT, HELD_OUT_SHAPES


def test_the_same_seed_gives_the_same_triples_and_another_does_not():
    assert generate(50, seed=1) == generate(50, seed=1)
    assert generate(50, seed=1) != generate(50, seed=2)
    assert generate(50, seed=1)[:20] == generate(20, seed=1)


def test_the_rate_of_mistakes():
    shares = [sum(t.correct for t in generate(2000, seed=0, mistakes=m)) / 2000 for m in (0.0, 0.3, 1.0)]
    assert shares[0] == 1.0
    assert 0.6 < shares[1] < 0.8  # stated in docs: about 0.69
    assert shares[2] < 0.35
    with pytest.raises(ValueError, match="mistakes must lie"):
        generate(1, seed=0, mistakes=1.5)


def test_mistakes_are_varied():
    wrong = {t.kernel for t in generate(2000, seed=3) if not t.correct and t.ops == ("gelu",)}
    assert len(wrong) >= 4


def test_every_kind_of_module_has_answers_of_different_cost():
    seen = {}
    for triple in generate(4000, seed=0, mistakes=0.0):
        seen.setdefault(len(triple.ops), set()).add(triple.variant)
    assert seen[1] == seen[2] == {"fused", "redundant", "launches", "tile"}
    assert seen[3] == {"fused", "redundant", "launches", "partial", "tile"}


def test_held_out_chains_also_inside_longer_ones():
    assert is_held_out(("linear", "gelu"))
    assert is_held_out(("linear", "gelu", "sum")) and is_held_out(("abs", "linear", "gelu"))
    assert not is_held_out(("linear", "tanh")) and is_held_out(("linear", "tanh", "scale"))
    assert not is_held_out(("gelu",)) and not is_held_out(())


def test_nothing_held_out_is_generated():
    for triple in generate(4000, seed=7):
        assert not is_held_out(triple.ops)
        assert not any(f"return [torch.randn({r}, {c})" in triple.module for r, c in HELD_OUT_SHAPES)
    assert all(len(chain) in (2, 3) for chain in HELD_OUT)


def test_a_broken_frame_differs_in_the_last_launch_alone():
    answer = reference_kernel(make_spec(("relu", "softmax"), 8, 24), "launches")
    broken = {break_frame(answer, random.Random(i)) for i in range(20)}
    assert len(broken) >= 2 and answer not in broken
    for kernel in broken:
        assert kernel.split("@triton.jit")[:2] == answer.split("@triton.jit")[:2]
