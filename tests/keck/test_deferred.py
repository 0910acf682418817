"""torch's compiler stays out of the warm start, and is there for a source that speaks of it."""

import subprocess
import sys

import pytest

COMPILED = """
@torch.compile
def helper(x):
    return x * 1.0

"""
LINES = [
    "import torch._dynamo\ntorch._dynamo.reset()",
    "import torch._inductor.config\ntorch._inductor.config.max_autotune = True",
    "torch._dynamo.allow_in_graph(len)",
    "decorated = torch.compiler.disable(lambda x: x)",
    "torch.compile(nn.Linear(2, 2), mode='max-autotune')",
]


@pytest.mark.parametrize("line", LINES)
def test_sources_that_speak_of_the_compiler_are_judged(judge, write, line):
    assert judge(write.SQUARE, write.pointwise(top=line)).correct


def test_a_compiled_function_is_what_it_is_in_eager(judge, write):
    source = write.pointwise(forward=write.LAUNCH.replace("return y", "return helper(y)"), top=COMPILED)
    assert judge(write.SQUARE, source).reason == "torch_operator"
    assert judge(write.SQUARE, source, policy="kernelbench").correct
    reference = write.SQUARE.replace("class Model(", "@torch.compile\ndef f(x):\n    return x * x + x\n\n\nclass Model(")
    reference = reference.replace("        return x * x + x", "        return f(x)")
    assert judge(reference, write.pointwise()).correct


def test_the_warm_start_does_not_import_it():
    code = ("import sys\nfrom kernelzero.keck.pool import warm\nwarm.exercise()\n"
            "assert not [m for m in sys.modules if m.startswith('torch._dynamo.') and m.split('.')[2] not in ('config',)], 'imported'\n"
            "assert not [m for m in sys.modules if m.startswith('torch._inductor')]\n"
            "from kernelzero.keck.pool.deferred import load_if_named\nload_if_named('torch._dynamo.reset()')\nsys.modules['torch._dynamo'].reset()")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={"CUDA_VISIBLE_DEVICES": "", "PATH": ""})
    assert done.returncode == 0, done.stderr
