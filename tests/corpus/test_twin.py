import numpy as np
import pytest
import torch
import torch.nn.functional as F

from kernelzero.corpus import OPERATORS, make_spec
from kernelzero.corpus.kernels import Part, right_parts
from kernelzero.corpus.twin import _inputs, evaluate, sensible, visible

REFERENCE = {
    "gelu": F.gelu, "mish": F.mish, "softplus": F.softplus, "hardswish": F.hardswish, "tanh": torch.tanh, "elu": F.elu,
    "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, (24,)), "normalize": lambda x: F.normalize(x, dim=-1),
    "mean": lambda x: x.mean(-1, keepdim=True), "amin": lambda x: x.amin(-1, keepdim=True),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_the_right_lines_agree_with_torch(name):
    x = torch.from_numpy(_inputs(0, 1.0, 24, "float64")[0][:, :24].copy())
    ours = evaluate(right_parts(make_spec((name,), 8, 24)), 24)
    assert np.abs(ours - REFERENCE[name](x).numpy()).max() < 1e-6


def uses(*ops, **constants):
    return make_spec(ops, 8, 24, 24, constants={k: (v,) for k, v in constants.items()}).uses


def test_chains_without_sense():
    assert sensible(uses("relu")) and sensible(uses("linear", "softmax", "amax"))
    assert not sensible(uses("softmax", "sum"))  # always 1
    assert not sensible(uses("layer_norm", "mean"))  # always 0
    assert not sensible(uses("relu", "abs"))  # abs has no effect
    assert not sensible(uses("square", "exp"))  # overflows
    assert not sensible(uses("sum", "relu"))  # half of the rows are 0
    assert not sensible(uses("log_softmax", "mish"))  # float32 cannot hold it


def planted(ops, wrong, padded=True, **constants):
    chain = uses(*ops, **constants)
    parts = [Part(use, use.fill(use.operator.right[0])) for use in chain]
    parts[0] = Part(chain[0], chain[0].fill(wrong))
    return visible(tuple(parts), padded)


def test_a_mistake_without_effect_is_not_seen():
    assert planted(("leaky_relu",), "x = tl.where(x > 0.0, x, 0.01 * x)", leaky_relu="0.2")
    assert not planted(("leaky_relu",), "x = tl.where(x > 0.0, x, 0.01 * x)", leaky_relu="0.01")
    unmasked = "x = tl.exp(x - tl.max(x, axis=0))\nx = x / tl.sum(x, axis=0)"
    assert planted(("softmax",), unmasked, padded=True)
    assert not planted(("softmax",), unmasked, padded=False)  # no lane beyond the row's end
    assert not planted(("scale", "normalize"), "x = x * 3.0", scale="2.0")  # the norm takes it away


def test_every_operator_has_a_mistake_that_shows_alone():
    for name in OPERATORS:
        use = make_spec((name,), 8, 24, 24).uses[0]
        seen = [body for body in use.operator.wrong if visible((Part(use, use.fill(body)),), True)]
        assert len(seen) >= 1, name
