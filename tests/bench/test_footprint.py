"""Footprints against numbers worked by hand; nothing of the stated size is ever allocated."""

import os
import resource

import pytest

from kernelzero.bench.footprint import Footprint, fits, footprints
from kernelzero.bench.suites import SuiteTask, load_kernelbench
from kernelzero.errors import UserError

GIB = 2**30
TASK = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
{init}

    def forward(self, x):
{forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def task(forward: str, inputs: str = "torch.randn(16, 64)", init: str = "pass", name: str = "t") -> SuiteTask:
    body = "\n".join(f"        {line}" for line in forward.split("\n"))
    return SuiteTask(name, TASK.format(init="        " + init, forward=body, inputs=inputs), "test", 1, 1)


TASKS = {
    "huge": task("return torch.relu(x)", "torch.rand(1 << 16, 1 << 17)"),  # 2**33 floats: 32 GiB in, 32 GiB out
    "linear": task("return self.l(x)", init="self.l = nn.Linear(64, 32)"),
    "chain": task("y = torch.exp(x)\ny = torch.exp(y)\nreturn y.sum(dim=1)"),
    "view": task("return x.t()[:2]"),
    "reads": task("return x * 2 if x.sum() > 0 else x"),
    "reads_init": task("return x * self.s", init="self.s = float(torch.linspace(0, 1, 3)[1].item())"),
    "dies": task("import os\nos._exit(7)"),
    "raises": task("raise ValueError('no such luck')"),
    "prints": task("print('{\"index\": 0}')\nreturn x + 1"),
}


@pytest.fixture(scope="module")
def found() -> dict[str, Footprint]:
    return dict(zip(TASKS, footprints(list(TASKS.values())), strict=True))


def test_64_gib_are_measured_without_being_allocated(found):
    assert (found["huge"].input_bytes, found["huge"].output_bytes) == (32 * GIB, 32 * GIB)
    assert found["huge"].task_bytes == 64 * GIB and found["huge"].elements == 2**33
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 4 * GIB / 1024  # kilobytes


def test_parameters_output_and_flops_by_hand(found):
    linear = found["linear"]
    assert linear.parameter_bytes == (64 * 32 + 32) * 4
    assert linear.output_bytes == 16 * 32 * 4
    assert linear.flops == 2 * 16 * 64 * 32


def test_the_peak_counts_what_lives_at_once_and_views_are_free(found):
    assert found["chain"].peak_bytes == 2 * 16 * 64 * 4  # the argument of the second exp and its result
    assert found["chain"].elements == 3 * 16 * 64
    assert (found["view"].peak_bytes, found["view"].elements) == (0, 0)


def test_a_constructor_may_read_values_but_forward_may_not(found):
    assert found["reads_init"].error == "" and found["reads_init"].output_bytes == 16 * 64 * 4
    assert "DataDependent" in found["reads"].error


def test_a_task_that_ends_the_process_or_raises_costs_its_own_footprint_only(found):
    assert "status 7" in found["dies"].error
    assert "no such luck" in found["raises"].error
    assert found["prints"].output_bytes == 16 * 64 * 4


def test_what_fits(found):
    assert not fits(TASKS["huge"], 80 * GIB, "cuda", footprint=found["huge"])
    assert "needs" in fits(TASKS["huge"], 80 * GIB, "cuda", footprint=found["huge"]).reason
    assert fits(TASKS["chain"], GIB, "cpu", footprint=found["chain"])
    slow = fits(TASKS["huge"], 2**50, "cpu", footprint=found["huge"])
    assert not slow and "in the interpreter" in slow.reason
    assert fits(TASKS["huge"], 2**50, "cuda", footprint=found["huge"])  # the time limit is the interpreter's
    unknown = fits(TASKS["reads"], 2**50, "cuda", footprint=found["reads"])
    assert not unknown and "size is unknown" in unknown.reason
    with pytest.raises(UserError, match="unknown device 'tpu'"):
        fits(TASKS["chain"], GIB, "tpu", footprint=found["chain"])


def test_bytes_of_a_verification_by_hand():
    one = Footprint(input_bytes=10, parameter_bytes=5, output_bytes=4, peak_bytes=8)
    assert one.verify_bytes == 2 * (10 + 5 + 8) + (10 + 5 + 4) + 2 * 4


@pytest.mark.skipif("KERNELBENCH_PATH" not in os.environ, reason="set KERNELBENCH_PATH to a KernelBench checkout")
def test_real_tasks():
    level = {task.problem_id: task for task in load_kernelbench(os.environ["KERNELBENCH_PATH"], (1,))}
    chosen = [level[number] for number in (1, 12, 19, 23, 40, 47, 51, 67, 88, 90, 96, 100)]
    sizes = footprints(chosen)
    assert not any(size.error for size in sizes)
    assert sizes[0].task_bytes == 3 * 4096 * 4096 * 4
    assert any(fits(one, 24 * GIB, "cuda", footprint=size) for one, size in zip(chosen, sizes, strict=True))
