"""How much memory and work a task needs, before anything of that size is allocated: some KernelBench tasks take 17 GB.

The tasks' code runs in a process of its own on fake tensors, which have a shape and no storage (`footprint_worker`).
What a task needs on a device is then arithmetic, stated in `Footprint`. Fake tensors cannot follow control flow that
reads values, nor NumPy: such a task has no footprint, and `fits` says so and does not guess.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from kernelzero.bench.suites import SuiteTask
from kernelzero.errors import UserError

TASK_TIMEOUT_S = 60.0

# Triton's interpreter on one core: about 1 ms for each tile operation of some 1,000 elements, and 0.5 s for a product
# of # 128 x 512 by 512 x 256 in tiles of 64 (16.8 million multiply-adds).
INTERPRETER_S_PER_ELEMENT = 1e-6
INTERPRETER_S_PER_FLOP = 1.5e-8


@dataclass(frozen=True)
class Footprint:
    """Bytes as the task's own dtypes have them. peak_bytes: most that forward holds at once beyond inputs and
    parameters, its output included. elements: read or written (the larger)
    by the operators of one forward, flops: of its products and convolutions.
    error: one sentence when the task could not be followed; then all numbers are 0."""

    input_bytes: int = 0
    parameter_bytes: int = 0
    output_bytes: int = 0
    peak_bytes: int = 0
    elements: int = 0
    flops: int = 0
    error: str = ""

    @property
    def task_bytes(self) -> int:
        """Inputs + parameters + output: the size of the task as it is usually quoted."""
        return self.input_bytes + self.parameter_bytes + self.output_bytes

    @property
    def verify_bytes(self) -> int:
        """Held while a candidate is verified: the float64 run of the reference (twice its inputs, parameters and
        peak), beside the inputs, parameters and output in their own dtype, the candidate's output, and as much for its
        scratch."""
        oracle = 2 * (self.input_bytes + self.parameter_bytes + self.peak_bytes)
        return oracle + self.task_bytes + 2 * self.output_bytes

    @property
    def interpreter_s(self) -> float:
        """Rough time of one replay of a kernel for this task in Triton's interpreter, on one core, right to a factor
        of a few. Recurrent layers come out far too cheap, since their products hide in one operator."""
        return INTERPRETER_S_PER_ELEMENT * self.elements + INTERPRETER_S_PER_FLOP * self.flops


@dataclass(frozen=True)
class Fit:
    """Whether a task fits; true in a condition. reason: one sentence when it does not."""

    ok: bool
    reason: str
    footprint: Footprint

    def __bool__(self) -> bool:
        return self.ok


def fits(
    task: SuiteTask, memory_bytes: int, device: str, max_seconds: float = 60.0, footprint: Footprint | None = None
) -> Fit:
    """Whether a candidate for the task can be verified with that much memory on 'cpu' or 'cuda'.

    On a CPU one interpreted replay must also stay under max_seconds. For many tasks take `footprints` first and hand
    each in: one process then serves all. Raises UserError for another device."""
    if device not in ("cpu", "cuda"):
        raise UserError(f"unknown device {device!r}: it must be cpu or cuda")
    found = footprint if footprint is not None else footprints([task])[0]
    if found.error:
        return Fit(False, f"{task.name}: its size is unknown: {found.error}", found)
    if found.verify_bytes > memory_bytes:
        need, have = found.verify_bytes / 2**30, memory_bytes / 2**30
        return Fit(False, f"{task.name} needs {need:.1f} GiB to be verified, and there are {have:.1f} GiB", found)
    if device == "cpu" and found.interpreter_s > max_seconds:
        seconds = f"about {found.interpreter_s:.0f} s a replay in the interpreter"
        return Fit(False, f"{task.name} takes {seconds}, over {max_seconds:.0f} s", found)
    return Fit(True, "", found)


def footprints(tasks: Sequence[SuiteTask]) -> list[Footprint]:
    """One footprint a task, in order, whatever the tasks do. A task that kills the process or never ends costs its own
    only."""
    found: dict[int, Footprint] = {}
    while len(found) < len(tasks):
        waiting = [index for index in range(len(tasks)) if index not in found]
        lines, failure = _run_worker([(index, tasks[index].source) for index in waiting])
        for line in lines:
            row = json.loads(line)
            index = row.pop("index")
            found[index] = Footprint(**row)
        left = [index for index in waiting if index not in found]
        if left:
            found[left[0]] = Footprint(error=failure)
    return [found[index] for index in range(len(tasks))]


def _run_worker(rows: list[tuple[int, str]]) -> tuple[list[str], str]:
    """Complete lines that the worker wrote, and one sentence on how it ended if it did not write all."""
    given = "".join(json.dumps({"index": index, "source": source}) + "\n" for index, source in rows)
    environment = {
        **os.environ,
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "kernelzero.bench.footprint_worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        out, err = process.communicate(given, timeout=60 + TASK_TIMEOUT_S * len(rows))
        last = next((line for line in reversed(err.splitlines()) if line.strip()), "no message")
        failure = f"the process that runs it on fake tensors ended with status {process.returncode} ({last[:200]})"
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        failure = f"it did not end within {TASK_TIMEOUT_S:.0f} s"
    lines = out.split("\n")[:-1]  # what follows the last line end was not finished
    return [line for line in lines if line.startswith('{"index"')], failure
