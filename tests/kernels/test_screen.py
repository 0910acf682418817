"""What the screen refuses, with which reason, and the honest kernels that words alone would have refused."""

import pytest

from kernelzero.keck.judge.reasons import Reason
from kernelzero.kernels import answers
from kernelzero.kernels import screen as screen_function
from kernelzero.kernels.backends import BACKENDS, EXAMPLE_MODULE
from kernelzero.kernels.screen import init_input_count, screen

HEAD = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n\n\n"
JIT = "@triton.jit\ndef k(x, BLOCK: tl.constexpr):\n    pass\n\n\n"
CLASS = "class ModelNew(nn.Module):\n    def __init__(self, width, slope):\n        super().__init__()\n\n"
FORWARD = "    def forward(self, x):\n        return x\n"
GOOD = HEAD + JIT + CLASS + FORWARD
TASK = """import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width, slope):
        super().__init__()


def get_inputs():
    return []


def get_init_inputs():
    return [200, 1.5]
"""


def reason(source: str, backend: str = "triton", module: str | None = TASK) -> str:
    found = screen(source, backend, "strict", module)
    return found[0] if found else ""


def test_the_honest_answer_passes():
    assert reason(GOOD) == "" and screen_function is screen
    for backend in BACKENDS.values():
        assert reason(backend.example, backend.name, EXAMPLE_MODULE) == ""


@pytest.mark.parametrize(
    "source",
    [
        '"""try: the plain version; except: pass. eval(exec), torch.matmul is not used."""\n' + GOOD,
        GOOD.replace("def k(", "def e("),
        HEAD + "try:\n    import helion\nexcept Exception:\n    helion = None\n\n\n" + JIT + CLASS + FORWARD,
        GOOD.replace("@triton.jit", "@triton.autotune([triton.Config({'BLOCK': 64})], key=[])\n@triton.jit"),
        GOOD.replace("@triton.jit", "@triton.heuristics({})\n@triton.jit(do_not_specialize=['x'])"),
        GOOD.replace("import triton\n", "from triton import jit as compiled\n").replace("@triton.jit", "@compiled"),
        GOOD.replace("import triton\n", "import triton as t\n").replace("@triton.jit", "@t.jit"),
        GOOD.replace("@triton.jit\n", "") + "\n\nkernel = triton.jit(k)\n",
        HEAD + "class Base(nn.Module):\n" + FORWARD + "\n\n" + JIT + CLASS.replace("nn.Module", "Base"),
        HEAD + "class Model(nn.Module):\n" + FORWARD + "\n\n" + JIT + CLASS.replace("nn.Module", "Model"),
        HEAD + JIT + CLASS.replace("nn.Module", "nn.Linear"),
        "from layers import Model\n" + HEAD + JIT + CLASS.replace("nn.Module", "Model"),
        HEAD + JIT + CLASS + "    forward = torch.relu\n",
        GOOD.replace("slope):", "slope, *, block=256, **unused):"),
        GOOD.replace("width, slope):", "*arguments):"),
        GOOD.replace("slope):", "slope=1.0, block=256):"),
    ],
)
def test_no_false_alarm(source):
    assert reason(source) == ""


@pytest.mark.parametrize(
    ("source", "expected", "words"),
    [
        (GOOD.replace("return x", "return x x"), "syntax_error", "line 17"),
        (GOOD + "\0", "syntax_error", "null"),
        (GOOD.replace("return x", "return \u201cx"), "syntax_error", "U+201C"),
        (GOOD.replace("ModelNew", "Model"), "named_model", "nothing is renamed"),
        (HEAD + JIT, "no_model_new", "no class ModelNew"),
        (GOOD.replace("(nn.Module)", ""), "no_model_new", "inherit"),
        (GOOD.replace("(nn.Module)", "(object)"), "no_model_new", "inherit"),
        (GOOD.replace("nn.Module", "Model"), "model_not_defined", "not defined in the answer"),
        (HEAD + JIT + CLASS, "screened_out", "forward"),
        (HEAD + CLASS + FORWARD, "no_kernel", "@triton.jit"),
        (HEAD + '"""@triton.jit"""\n\n\n' + CLASS + FORWARD, "no_kernel", "@triton.jit"),
        (BACKENDS["cuda"].example, "no_kernel", "but CUDA"),
        (GOOD.replace("slope):", "slope, block_size, num_warps):"), "constructor_arguments", "block_size, num_warps"),
        (GOOD.replace("slope):", "slope, *, tile):"), "constructor_arguments", "tile"),
        (GOOD.replace("width, slope):", "width):"), "constructor_arguments", "takes 1 arguments and the task passes 2"),
    ],
)
def test_each_refusal_has_its_reason_and_says_what_is_wrong(source, expected, words):
    found = screen(source, "triton", "strict", TASK)
    assert found is not None
    assert found[0] == expected and words in found[1]


def test_a_triton_answer_is_no_cuda_answer():
    assert screen(GOOD, "cuda") == ("no_kernel", "the answer holds no CUDA source, but Triton, and CUDA was asked for")


def test_swapped_arguments_are_left_to_the_verifier():
    assert reason(GOOD.replace("width, slope", "slope, width")) == ""


def test_the_constructor_is_compared_only_where_the_count_is_certain():
    assert init_input_count(TASK) == 2
    assert init_input_count(TASK.replace("[200, 1.5]", "[*range(3)]")) is None
    assert init_input_count(TASK.replace("return [200, 1.5]", "return make()")) is None
    greedy = GOOD.replace("slope):", "slope, more):")
    assert reason(greedy, module=None) == ""
    assert reason(greedy, module=TASK.replace("return [200, 1.5]", "return make()")) == ""


def test_reasons_are_words_of_the_verifiers_list():
    used = {answers.NO_ANSWER, answers.CUT_OFF, "syntax_error", "no_model_new", "screened_out", "constructor_arguments",
            answers.INCOMPLETE_ANSWER, "named_model", "model_not_defined", "no_kernel"}
    assert used <= set(Reason)
