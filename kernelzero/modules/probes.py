"""Does a module's output depend on each of its inputs? Asked by running it again with one input of another seed.

The probe is the module's own source with its get_inputs wrapped: the weights and all other inputs are those of the
seed, one input is drawn anew. Needed where the first run does not tell: several inputs, inputs that are not
floating point, and outputs that a scale does not change (sign, argmax).
"""

from kernelzero.keck.reference.runs import ModuleJob, ModuleRun
from kernelzero.modules.reasons import Finding, Reason
from kernelzero.modules.stable import same_outputs, scale_matters, tensors

_WRAPPER = """

import torch as _kz_torch
_kz_get_inputs = get_inputs


def get_inputs():
    inputs = list(_kz_get_inputs())
    _kz_torch.manual_seed(_kz_torch.initial_seed() + 7919)
    inputs[{index}] = list(_kz_get_inputs())[{index}]
    return inputs
"""


def probed_inputs(run: ModuleRun) -> list[int]:
    """Positions in get_inputs whose influence the run leaves open; [] when it has shown that the only input matters."""
    given = [position for position, value in enumerate(run.cases[0].inputs) if tensors(value)]
    return [] if len(given) == 1 and scale_matters(run) else given


def probe(source: str, run: ModuleRun, index: int) -> ModuleJob:
    """The job that draws input `index` anew, at the first seed and scale of the run."""
    first = run.cases[0]
    return ModuleJob(source + _WRAPPER.format(index=index), seeds=(first.seed,), scales=(first.scale,))


def check_probe(run: ModuleRun, probed: ModuleRun, index: int) -> Finding | None:
    """The finding that input `index` has no influence, or None: also where the new input is the old one (a fixed
    mask)."""
    if not probed.ok or not probed.cases:
        return None
    first, other = run.cases[0], probed.cases[0]
    before, after = tensors(first.inputs[index]), tensors(other.inputs[index])
    changed = len(before) != len(after) or any(
        a.shape != b.shape or not a.equal(b) for a, b in zip(before, after, strict=True)
    )
    if changed and same_outputs(first, other):
        return Finding(Reason.INPUT_INDEPENDENT, f"the output does not depend on input {index} of get_inputs")
    return None
