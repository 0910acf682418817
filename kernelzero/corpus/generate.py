"""Draws triples: a module, its API set, and an answer that is right, or wrong by a mistake planted on purpose.

Mistakes are planted so that the Coder has something to unlearn (docs/method.md; what is left to learn without them was not
measured here): each operator of a module goes wrong with probability `mistakes` x its difficulty, and the frame
around the lines (masks, grid, the output's shape) with probability `mistakes` x FRAME_DIFFICULTY. A mistake is only
planted where `twin.py` sees its effect, so `correct` is what a verifier says, up to the filter's three sampled
inputs.
"""

import random
from dataclasses import dataclass

from kernelzero.corpus import twin
from kernelzero.corpus.grammar import Spec, draw_ops, draw_spec, module_source
from kernelzero.corpus.held_out import HELD_OUT_SHAPES, is_held_out
from kernelzero.corpus.kernels import Part, kernel_source, variants

# weights among the variants that a module has
VARIANTS = {"fused": 0.5, "redundant": 0.15, "launches": 0.2, "partial": 0.15, "tile": 0.4}
USUAL = 0.8  # share of operators written by the first of their right lines, where there are several
FRAME_DIFFICULTY = 0.15

# (text of a right frame, what replaces its last occurrence, a text that must occur too for the mistake to show)
FRAME_MISTAKES = (
    ("mask = cols < n\n", "mask = cols < n - 1\n", ""),
    ("mask = offs < n\n", "mask = offs < n - 1\n", ""),
    ("mask = (rows < m) & (cols < n)\n", "mask = (rows < m) & (cols < n - 1)\n", ""),
    ("[(m,)]", "[(m - 1,)]", ""),
    ("y = torch.empty(m, 1, device=x.device)", "y = torch.empty(m, device=x.device)", "(y_ptr + tl.program_id(0), x)"),
    ("y = torch.empty(m, device=x.device)", "y = torch.empty(m, 1, device=x.device)", "(y_ptr + tl.program_id(0), x)"),
)


@dataclass(frozen=True)
class Triple:
    """apis: sorted canonical names; module, kernel: sources; correct: no mistake was planted; variant: the cost variant
    (`kernels.py`); ops: the operators in order."""

    apis: tuple[str, ...]
    module: str
    kernel: str
    correct: bool
    variant: str
    ops: tuple[str, ...]


def generate(n: int, seed: int, mistakes: float = 0.3) -> list[Triple]:
    """n triples, the same for the same arguments; mistakes in [0, 1]. Duplicates occur, as single operators are few."""
    if not 0.0 <= mistakes <= 1.0:
        raise ValueError(f"mistakes must lie in [0, 1], not {mistakes}")
    rng = random.Random(f"corpus {seed}")
    return [_triple(rng, mistakes) for _ in range(n)]


def _triple(rng: random.Random, mistakes: float) -> Triple:
    spec = _spec(rng)
    names = variants(spec)
    (variant,) = rng.choices(names, [VARIANTS[name] for name in names])
    parts = _parts(spec, rng, mistakes)
    kernel = kernel_source(spec, parts[0], variant)
    correct = parts[1]
    if rng.random() < mistakes * FRAME_DIFFICULTY:
        broken = break_frame(kernel, rng)
        correct, kernel = correct and broken == kernel, broken
    return Triple(spec.apis, module_source(spec), kernel, correct, variant, spec.ops)


def _spec(rng: random.Random) -> Spec:
    """A sensible module that is not held out."""
    while True:
        ops = draw_ops(rng)
        if is_held_out(ops):
            continue
        spec = draw_spec(ops, rng)
        if (spec.rows, spec.columns) not in HELD_OUT_SHAPES and twin.sensible(spec.uses):
            return spec


def _parts(spec: Spec, rng: random.Random, mistakes: float) -> tuple[tuple[Part, ...], bool]:
    """The lines of every operator, and whether all of them are right."""
    parts = []
    for use in spec.uses:
        right = use.operator.right
        usual = len(right) == 1 or rng.random() < USUAL
        parts.append(Part(use, use.fill(right[0] if usual else rng.choice(right[1:]))))
    correct = True
    padded = spec.out & (spec.out - 1) != 0
    for i, use in enumerate(spec.uses):
        if rng.random() >= mistakes * use.operator.difficulty:
            continue
        wrong = [use.fill(body) for body in use.operator.wrong]
        rng.shuffle(wrong)
        for body in wrong:
            planted = (*parts[:i], Part(use, body), *parts[i + 1 :])
            if twin.visible(planted, padded):
                parts, correct = list(planted), False
                break
    return tuple(parts), correct


def break_frame(kernel: str, rng: random.Random) -> str:
    """The answer with one mistake in the frame of its last launch; unchanged when none would show."""
    kernels, _, rest = kernel.rpartition("@triton.jit")
    reduces = "(y_ptr + tl.program_id(0), x)" in rest
    choices = [
        (old, new) for old, new, needs in FRAME_MISTAKES
        # a reduction may not need the lane that a short mask leaves out
        if old in rest and needs in rest and not (reduces and old.startswith("mask"))
    ]
    if not choices:
        return kernel
    old, new = rng.choice(choices)
    at = rest.rindex(old)
    return kernels + "@triton.jit" + rest[:at] + new + rest[at + len(old) :]
