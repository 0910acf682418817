"""Runs answers in Triton's interpreter against their modules; a process of its own, as the interpreter is a mode of
import.

Reads a JSON list of [module, kernel] on stdin, writes a JSON list of the largest errors over three inputs, each in
units of the result's spread ('shape' for another shape). The tests' own yardstick, apart from the verifier: no
float64, no isolation.
"""

import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch

torch.set_num_threads(1)
# fresh memory holds NaN, so that an element that is never written shows
torch.use_deterministic_algorithms(True)
torch.utils.deterministic.fill_uninitialized_memory = True


def load(source: str, folder: Path, name: str):
    """The source as a module; triton reads kernels from the file."""
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@torch.no_grad()
def error(module_source: str, kernel_source: str, folder: Path, name: str) -> float | str:
    task, answer = load(module_source, folder, name), load(kernel_source, folder, name + "_new")
    worst = 0.0
    for seed, scale in ((0, 1.0), (1, 1.0), (2, 3.0)):
        torch.manual_seed(seed)
        model = task.Model(*task.get_init_inputs())
        new = answer.ModelNew(*task.get_init_inputs())
        new.load_state_dict(model.state_dict())
        inputs = [value * scale for value in task.get_inputs()]
        result, expected = new(*inputs), model(*inputs)
        if result.shape != expected.shape:
            return "shape"
        gap = ((result - expected).abs().max() / expected.std()).item()
        worst = max(worst, gap if gap == gap else float("inf"))
    return worst


def main() -> None:
    pairs = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        errors = [error(*pair, Path(folder), f"task{i}") for i, pair in enumerate(pairs)]
    json.dump(errors, sys.stdout)


if __name__ == "__main__":
    main()
