"""The grammar of modules: which chains of operators are sentences, how one is drawn, and the module's source.

A `Spec` is a module as a value: one to three uses of operators and the sizes. Everything about a module follows from
it. Chains that mean nothing (a constant result, an operator without effect, overflow) are legal here; `twin.py`
throws them out.
"""

import random
from dataclasses import dataclass

from kernelzero.corpus.operators import OPERATORS, Kind, Operator, Spelling

ROWS = (4, 8, 12, 16)
COLUMNS = (16, 24, 32, 40, 48, 64)  # not only powers of two, so that masks matter
# how often a chain of so many operators is drawn; long ones are thrown out more often, so .46, .39 and .15 are left
LENGTHS = {1: 0.35, 2: 0.4, 3: 0.25}
KINDS = {  # how often a kind is drawn at a place of the chain; within a kind all operators are equally likely
    Kind.POINTWISE: 0.52,
    Kind.BINARY: 0.08,
    Kind.ROW: 0.12,
    Kind.AFFINE: 0.04,
    Kind.REDUCTION: 0.12,
    Kind.PRODUCT: 0.12,
}
_BY_KIND = {kind: [name for name, op in OPERATORS.items() if op.kind is kind] for kind in KINDS}


@dataclass(frozen=True)
class Use:
    """One operator in a module: its name, which of its spellings, its constants."""

    name: str
    spelling: int = 0
    constants: tuple[str, ...] = ()

    @property
    def operator(self) -> Operator:
        return OPERATORS[self.name]

    @property
    def written(self) -> Spelling:
        return self.operator.spellings[self.spelling]

    def fill(self, text: str) -> str:
        """The text with the constants of this use in the places of {a} and {b}."""
        for letter, constant in zip("ab", self.constants, strict=False):
            text = text.replace("{" + letter + "}", constant)
        return text


@dataclass(frozen=True)
class Spec:
    """A module: x is (rows, columns); a product makes it (rows, out), else out equals columns."""

    uses: tuple[Use, ...]
    rows: int
    columns: int
    out: int

    @property
    def ops(self) -> tuple[str, ...]:
        return tuple(use.name for use in self.uses)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(use.operator.kind for use in self.uses)

    @property
    def apis(self) -> tuple[str, ...]:
        """Canonical names, sorted: what `kernelzero.apis.api_set` finds in the source."""
        return tuple(sorted({api for use in self.uses for api in use.written.apis}))

    def use(self, kind: Kind) -> Use | None:
        return next((use for use in self.uses if use.operator.kind is kind), None)


def legal(ops: tuple[str, ...]) -> bool:
    """Whether the chain is a sentence: no operator twice, one of each kind but POINTWISE, only POINTWISE before a
    product and after a reduction."""
    kinds = [OPERATORS[name].kind for name in ops]
    if len(set(ops)) < len(ops) or any(kinds.count(kind) > 1 for kind in KINDS if kind is not Kind.POINTWISE):
        return False
    before = kinds[: kinds.index(Kind.PRODUCT)] if Kind.PRODUCT in kinds else []
    after = kinds[kinds.index(Kind.REDUCTION) + 1 :] if Kind.REDUCTION in kinds else []
    return all(kind is Kind.POINTWISE for kind in before + after)


def draw_ops(rng: random.Random) -> tuple[str, ...]:
    """A legal chain: its length by LENGTHS, its kinds by KINDS, again until it is legal."""
    while True:
        (length,) = rng.choices(list(LENGTHS), list(LENGTHS.values()))
        kinds = rng.choices(list(KINDS), list(KINDS.values()), k=length)
        ops = tuple(rng.choice(_BY_KIND[kind]) for kind in kinds)
        if legal(ops):
            return ops


def draw_spec(ops: tuple[str, ...], rng: random.Random) -> Spec:
    """Spellings, constants and sizes, each equally likely."""
    uses = []
    for name in ops:
        operator = OPERATORS[name]
        uses.append(Use(name, rng.randrange(len(operator.spellings)), rng.choice(operator.constants)))
    columns = rng.choice(COLUMNS)
    return Spec(tuple(uses), rng.choice(ROWS), columns, rng.choice(COLUMNS) if _has_product(ops) else columns)


def make_spec(
    ops: tuple[str, ...],
    rows: int,
    columns: int,
    out: int = 0,
    spellings: dict[str, int] | None = None,
    constants: dict[str, tuple[str, ...]] | None = None,
) -> Spec:
    """A spec by hand; the spellings' indices and the constants by operator, by default the first of each."""
    spellings, constants = spellings or {}, constants or {}
    if not legal(ops):
        raise ValueError(f"{' -> '.join(ops)} is no chain of the grammar")
    uses = tuple(
        Use(name, spellings.get(name, 0), constants.get(name, OPERATORS[name].constants[0])) for name in ops
    )
    return Spec(uses, rows, columns, out if _has_product(ops) else columns)


def init_lines(spec: Spec) -> tuple[str, list[str]]:
    """The arguments of the constructor as text ('' without any), and its lines after super().__init__()."""
    names = set(spec.ops)
    arguments = ""
    if "linear" in names:
        arguments = ", in_features, out_features"
    elif "layer_norm_affine" in names:
        arguments = ", features"
    lines = []
    for use in spec.uses:
        line = use.fill(use.written.init)
        if "linear" in names and use.operator.kind is Kind.AFFINE:
            line = line.replace("(features)", "(out_features)")
        if line:
            lines.append(line)
    return arguments, lines


def forward_arguments(spec: Spec) -> str:
    """'x', 'x, w', 'x, z' or 'x, w, z'."""
    return "x" + (", w" if "matmul" in spec.ops else "") + (", z" if Kind.BINARY in spec.kinds else "")


def module_source(spec: Spec) -> str:
    """The module in KernelBench's task format."""
    arguments, lines = init_lines(spec)
    inputs = [(spec.rows, spec.columns)]
    if "matmul" in spec.ops:
        inputs.append((spec.columns, spec.out))
    if Kind.BINARY in spec.kinds:
        inputs.append((spec.rows, spec.out))  # a product never follows
    sizes = [spec.columns, spec.out] if "linear" in spec.ops else [spec.out] if "layer_norm_affine" in spec.ops else []
    return "\n".join([
        "import torch",
        "import torch.nn as nn",
        "import torch.nn.functional as F",
        "",
        "",
        "class Model(nn.Module):",
        f"    def __init__(self{arguments}):",
        "        super().__init__()",
        *(f"        {line}" for line in lines),
        "",
        f"    def forward(self, {forward_arguments(spec)}):",
        *(f"        {use.fill(use.written.line)}" for use in spec.uses),
        "        return x",
        "",
        "",
        "def get_inputs():",
        "    return [" + ", ".join(f"torch.randn({rows}, {columns})" for rows, columns in inputs) + "]",
        "",
        "",
        "def get_init_inputs():",
        f"    return {sizes}",
        "",
    ])


def _has_product(ops: tuple[str, ...]) -> bool:
    return any(OPERATORS[name].kind is Kind.PRODUCT for name in ops)
