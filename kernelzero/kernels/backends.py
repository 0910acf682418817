"""The two languages that an answer can be written in, as values: names, and a worked example for the one-shot prompt.

The example is an elementwise sum, complete and correct, in the form that the verifier takes: one source, the class
ModelNew with the task's constructor, its own kernel. Building and running belong to Keck.
"""

from dataclasses import dataclass

from kernelzero.errors import UserError

EXAMPLE_MODULE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return x + y


def get_inputs():
    return [torch.randn(128, 1000), torch.randn(128, 1000)]


def get_init_inputs():
    return []
"""

_TRITON_ANSWER = """import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        x = x.contiguous()
        y = y.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
        return out
"""

_CUDA_ANSWER = """import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
#include <torch/extension.h>

__global__ void add_kernel(const float* x, const float* y, float* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = x[i] + y[i];
    }
}

torch::Tensor add(torch::Tensor x, torch::Tensor y) {
    auto out = torch::empty_like(x);
    long n = x.numel();
    long blocks = (n + 255) / 256;
    add_kernel<<<blocks, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n);
    return out;
}
'''

cpp_source = "torch::Tensor add(torch::Tensor x, torch::Tensor y);"

extension = load_inline(name="add_extension", cpp_sources=cpp_source, cuda_sources=cuda_source, functions=["add"])


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x, y):
        return extension.add(x.contiguous(), y.contiguous())
"""


@dataclass(frozen=True)
class Backend:
    """name: as in settings and records. title: as in prose. fence: the language of the answer's block (both are Python
    files). how: one sentence that tells a model what an answer consists of. example: the answer to EXAMPLE_MODULE."""

    name: str
    title: str
    fence: str
    how: str
    example: str


BACKENDS = {
    "triton": Backend(
        "triton",
        "Triton",
        "python",
        "Write the computation as one or more `@triton.jit` kernels that `ModelNew.forward` launches.",
        _TRITON_ANSWER,
    ),
    "cuda": Backend(
        "cuda",
        "CUDA",
        "python",
        "Write the computation as CUDA C++ kernels in a string for `load_inline`, that `ModelNew.forward` calls.",
        _CUDA_ANSWER,
    ),
}


def backend_named(name: str) -> Backend:
    if name not in BACKENDS:
        raise UserError(f"unknown backend {name!r}: it must be one of {', '.join(sorted(BACKENDS))}")
    return BACKENDS[name]
