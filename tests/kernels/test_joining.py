"""CUDA answers that a model spread over blocks: joined where the source is there, refused by name where not."""

import ast

import pytest

from kernelzero.kernels.answers import extract_answer
from kernelzero.kernels.screen import screen

DEVICE = """__global__ void twice(const float* x, float* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) { return x; }
"""
HOST = """import torch
import torch.nn as nn
from torch.utils.cpp_extension import load, load_inline

SOURCE = PLACE
DECLARED = "torch::Tensor run(torch::Tensor x);"
extension = load_inline(name="e", cpp_sources=DECLARED, cuda_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.run(x)
"""


def completion(place: str, *native: str) -> str:
    return "".join(native) + "```python\n" + HOST.replace("PLACE", place) + "```\n"


def source_of(code: str) -> str:
    """The string that SOURCE is bound to, as Python reads it."""
    for node in ast.parse(code).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "SOURCE":
            return ast.literal_eval(node.value)
    raise AssertionError("no SOURCE")


@pytest.mark.parametrize(
    "place",
    [
        'open("kernel.cu").read()',
        'Path("src/kernel.cu").read_text()',
        '"<the code above>"',
        '"""\n// see above\n"""',
        '"..."',
    ],
)
@pytest.mark.parametrize(
    "native", ["**kernel.cu**\n```cuda\n" + DEVICE + "```\n", "```cpp kernel.cu\n" + DEVICE + "```\n"]
)
def test_the_other_block_takes_the_place_of_the_reference_to_it(place, native):
    found = extract_answer(completion(place, native), "cuda")
    assert (found.reason, found.repaired) == ("", ("joined_cuda",))
    assert source_of(found.source).strip() == DEVICE.strip()
    assert screen(found.source, "cuda") is None


def test_the_named_block_wins_and_the_last_draft_before_the_answer():
    named = "**a.cu**\n```cuda\nint a;\n```\n", "**b.cu**\n```cuda\nint b;\n```\n"
    assert source_of(extract_answer(completion('open("a.cu").read()', *named), "cuda").source).strip() == "int a;"
    drafts = "```cuda\nint a;\n```\n", "Better:\n```cuda\nint b;\n```\n"
    assert source_of(extract_answer(completion('"<code above>"', *drafts), "cuda").source).strip() == "int b;"


def test_native_code_with_triple_quotes_and_backslashes_survives():
    odd = "const char* s = \"'''\\n\";\n__global__ void f() {}\n"
    found = extract_answer(completion('open("k.cu").read()', "```cuda\n" + odd + "```\n"), "cuda")
    assert source_of(found.source).strip() == odd.strip()


def test_what_is_not_there_is_named():
    missing = extract_answer(completion('open("kernel.cu").read()'), "cuda")
    assert missing.reason == "incomplete_answer" and "kernel.cu" in missing.detail and missing.source is not None
    other = extract_answer(completion('open("a.cu").read()', "**b.cu**\n```cuda\nint b;\n```\n"), "cuda")
    assert other.reason == "incomplete_answer" and "a.cu" in other.detail
    empty = extract_answer(completion('"<the CUDA code above>"'), "cuda")
    assert empty.reason == "incomplete_answer" and "placeholder" in empty.detail
    files = completion('load(name="e", sources=["k.cu", "k.cpp"])', "```cuda\n" + DEVICE + "```\n")
    refused = extract_answer(files, "cuda")
    assert refused.reason == "incomplete_answer" and "k.cu, k.cpp" in refused.detail


def test_a_self_contained_answer_is_left_alone():
    whole = completion("r'''\n" + DEVICE + "'''", "```cuda\nint draft;\n```\n")
    found = extract_answer(whole, "cuda")
    assert (found.reason, found.repaired) == ("", ()) and "int draft" not in found.source
