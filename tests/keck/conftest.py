import textwrap

import pytest

from kernelzero.keck import Limits, Task, Verifier

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
TRITON = HEAD + "import triton\nimport triton.language as tl\n\n\n"


def module(
    forward: str,
    inputs: str = "torch.randn(12, 40)",
    args: str = "x",
    init: str = "pass",
    takes: str = "",
    values: str = "",
) -> str:
    """A reference in the task format around the body of its forward."""
    body = textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)
    made = textwrap.indent(textwrap.dedent(init).strip(), " " * 8)
    return (
        f"{HEAD}\n\nclass Model(nn.Module):\n    def __init__(self{takes}):\n        super().__init__()\n{made}\n\n"
        f"    def forward(self, {args}):\n{body}\n\n\ndef get_inputs():\n    return [{inputs}]\n\n\n"
        f"def get_init_inputs():\n    return [{values}]\n"
    )


def candidate(kernel: str, forward: str, args: str = "x", init: str = "pass", takes: str = "", top: str = "") -> str:
    """A candidate around its kernels and the body of its forward."""
    body = textwrap.indent(textwrap.dedent(forward).strip(), " " * 8)
    made = textwrap.indent(textwrap.dedent(init).strip(), " " * 8)
    return (
        f"{TRITON}{textwrap.dedent(top)}\n\n{textwrap.dedent(kernel)}\n\nclass ModelNew(nn.Module):\n"
        f"    def __init__(self{takes}):\n        super().__init__()\n{made}\n\n"
        f"    def forward(self, {args}):\n{body}\n"
    )


# An elementwise kernel with a hole for the arithmetic: x is loaded, y is stored.
POINTWISE = """
@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask, other=0.0)
    {body}
    tl.store(y_ptr + i, y, mask=mask)
"""
LAUNCH = """
y = torch.empty_like(x)
kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
return y
"""
SQUARE = module("return x * x + x")


def pointwise(body: str = "y = x * x + x", forward: str = LAUNCH, **more) -> str:
    return candidate(POINTWISE.format(body=body), forward, **more)


@pytest.fixture(scope="session")
def verifier():
    """Real processes, two at once, with short limits; one for all tests of this folder."""
    with Verifier(workers=2, limits=Limits(seconds=4.0, memory_mb=1024)) as made:
        yield made


@pytest.fixture
def judge(verifier):
    """The judgement of one candidate; fails the test when it was not judged."""

    def judged(reference: str, source: str, **rules):
        verdict = verifier.verify([Task(reference, source, **rules)])[0]
        assert verdict.judgement is not None, verdict.not_judged
        return verdict.judgement

    return judged


@pytest.fixture
def write():
    """The builders above, for tests: importlib mode has no package to import them from."""
    import types

    return types.SimpleNamespace(
        module=module, candidate=candidate, pointwise=pointwise, SQUARE=SQUARE, POINTWISE=POINTWISE, LAUNCH=LAUNCH
    )
