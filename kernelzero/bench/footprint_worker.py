"""The process that runs tasks on fake tensors and writes their footprints; `footprint` starts it, nothing imports it.

A line in: {"index", "source"}; a line out: {"index", ...fields of Footprint}. Not a sandbox: suites are files that a
person chose. It has a limit on its memory and on the time of a task, so that a mistake in a task file does no harm.
"""

import json
import os
import resource
import signal
import sys
import weakref
from contextlib import nullcontext

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

MEMORY_LIMIT = 8 * 2**30


class Meter(TorchDispatchMode):
    """Counts elements that operators read or write, and follows which storages are alive. A view shares one and adds
    nothing."""

    def __init__(self, known: set[int]):
        super().__init__()
        self.known = known  # storages of inputs and parameters
        self.alive: dict[int, list[int]] = {}  # storage -> [tensors on it, bytes]
        self.now = self.peak = self.elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        results, given = tensors_in(out), tensors_in([args, kwargs])
        touched = {tensor.untyped_storage()._cdata for tensor in given}
        makes_new = any(tensor.untyped_storage()._cdata not in touched for tensor in results)
        if results and (makes_new or func._schema.is_mutable):  # a view moves nothing
            self.elements += max(sum(t.numel() for t in given), sum(t.numel() for t in results))
        for tensor in results:
            self._note(tensor)
        return out

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.known:
            return
        entry = self.alive.get(key)
        if entry is None:
            entry = self.alive[key] = [0, storage.nbytes()]
            self.now += entry[1]
            self.peak = max(self.peak, self.now)
        entry[0] += 1
        weakref.finalize(tensor, self._drop, key)

    def _drop(self, key: int) -> None:
        entry = self.alive[key]
        entry[0] -= 1
        if not entry[0]:
            self.now -= entry[1]
            del self.alive[key]


def tensors_in(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def bytes_of(tree) -> int:
    """Bytes of the distinct storages in a nest of tensors."""
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors_in(tree)}.values())


def measure(source: str) -> dict:
    """The fields of a Footprint of one task. Raises whatever the task raises."""
    try:
        return measure_fake(source, real_model=False)
    except DataDependentOutputException:
        return measure_fake(source, real_model=True)


def measure_fake(source: str, real_model: bool) -> dict:
    """real_model: the constructor reads values (`.item()`), so the model alone is built for real, within the memory
    limit, and its state is replaced by fake tensors; inputs and activations, which are the bulk, are fake in any
    case."""
    space = {"__name__": "task"}
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with nullcontext() if real_model else mode:
        exec(compile(source, "task.py", "exec"), space)
        model = space["Model"](*space["get_init_inputs"]()).eval()
    state = {name: tensor for name, tensor in [*model.named_parameters(), *model.named_buffers()]}
    if real_model:
        state = {name: mode.from_tensor(tensor) for name, tensor in state.items()}
    with mode, torch.no_grad():
        inputs = space["get_inputs"]()
        meter = Meter({tensor.untyped_storage()._cdata for tensor in tensors_in([inputs, state])})
        flops = FlopCounterMode(display=False)
        with flops, meter:
            output = torch.func.functional_call(model, state, tuple(inputs))
        return {
            "input_bytes": bytes_of(inputs),
            "parameter_bytes": bytes_of(state),
            "output_bytes": bytes_of(output),
            "peak_bytes": meter.peak,
            "elements": meter.elements,
            "flops": int(flops.get_total_flops()),
        }


def _too_slow(*_) -> None:
    raise TimeoutError("it did not end in time")


def main() -> None:
    from kernelzero.bench.footprint import TASK_TIMEOUT_S

    # a task may print; our lines go out by a descriptor that it does not know
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    signal.signal(signal.SIGALRM, _too_slow)
    torch.backends.mha.set_fastpath_enabled(False)  # a fused encoder layer hides its products from the counter
    for line in sys.stdin:
        row = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, TASK_TIMEOUT_S)
        try:
            fields = measure(row["source"])
        except Exception as error:  # a task may raise anything; it is reported as the task's
            fields = {
                "error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"[:300]
            }
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        out.write(json.dumps({"index": row["index"], **fields}) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
