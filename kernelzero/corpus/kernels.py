"""Writes the answer to a module: Triton kernels out of the operators' lines, and the class that launches them.

Four frames hold the lines: `flat` (pointwise chains over all elements), `row` (a program a row), `product` (a program
a row, the matrix product as a sum of products) and `tile` (tl.dot on 16 rows). All frames name the value `x`, its
mask `mask` and the output's offsets `offs`, so the same lines fit in each. Sizes come from the arguments, so an
answer does not depend on the module's shapes. Correct variants differ in cost:

  fused      one launch, every input loaded once (a product re-reads w for each row)
  redundant  fused, but x is loaded twice
  launches   one launch an operator, with a buffer between (one operator: a copy goes before it)
  partial    three operators in two launches
  tile       a product by tl.dot, its pointwise epilogue in the same kernel, a row operator after it in another
"""

from dataclasses import dataclass

from kernelzero.corpus.grammar import Spec, Use, forward_arguments, init_lines
from kernelzero.corpus.operators import Kind

_ROWWISE = (Kind.ROW, Kind.AFFINE, Kind.REDUCTION)
_LOAD = "x = tl.load(x_ptr + offs, mask=mask, other=0.0)"
_STORE = "tl.store(y_ptr + offs, x, mask=mask)"
_AFFINE = "x = x * tl.load(g_ptr + cols, mask=mask, other=0.0) + tl.load(h_ptr + cols, mask=mask, other=0.0)"


@dataclass(frozen=True)
class Part:
    """One use and the kernel lines that stand for it, right or wrong (of a product: '' or what is wrong with it)."""

    use: Use
    body: str

    @property
    def kind(self) -> Kind:
        return self.use.operator.kind


def variants(spec: Spec) -> tuple[str, ...]:
    """The variants that exist for a module."""
    names = ["fused", "redundant", "launches"]
    if len(spec.uses) == 3:
        names.append("partial")
    if Kind.PRODUCT in spec.kinds:
        names.append("tile")
    return tuple(names)


def reference_kernel(spec: Spec, variant: str = "fused") -> str:
    """A correct answer: the usual lines of every operator, in the cost variant asked for."""
    return kernel_source(spec, right_parts(spec), variant)


def right_parts(spec: Spec) -> tuple[Part, ...]:
    return tuple(Part(use, use.fill(use.operator.right[0])) for use in spec.uses)


def kernel_source(spec: Spec, parts: tuple[Part, ...], variant: str) -> str:
    """The whole answer: imports, a kernel a segment, class ModelNew."""
    if variant not in variants(spec):
        raise ValueError(f"no variant {variant!r} of {' -> '.join(spec.ops)}")
    segments = _segments(parts, variant)
    kernels, forward = [], []
    for i, segment in enumerate(segments):
        name = "kernel" if len(segments) == 1 else f"kernel{i + 1}"
        kernel, lines = _segment(segment, name, twice=variant == "redundant", tile=variant == "tile")
        kernels.append(kernel)
        forward += (["x = y"] if i else []) + lines
    return "\n".join([
        "import torch",
        "import torch.nn as nn",
        "import triton",
        "import triton.language as tl",
        "",
        "",
        *(line for kernel in kernels for line in [*kernel, "", ""]),
        "class ModelNew(nn.Module):",
        *_constructor(spec),
        f"    def forward(self, {forward_arguments(spec)}):",
        *(f"        {line}" for line in forward),
        "        return y",
        "",
    ])


def _constructor(spec: Spec) -> list[str]:
    """Lines of __init__ for the parameters, none without parameters: the activations of the module hold none."""
    arguments, _ = init_lines(spec)
    if not arguments:
        return []
    with_parameters = Spec(
        tuple(use for use in spec.uses if use.written.features), spec.rows, spec.columns, spec.out
    )
    lines = init_lines(with_parameters)[1]
    return [
        f"    def __init__(self{arguments}):",
        "        super().__init__()",
        *(f"        {line}" for line in lines),
        "",
    ]


def _segments(parts: tuple[Part, ...], variant: str) -> list[tuple[Part, ...]]:
    """The uses of each launch; an empty segment is a copy."""
    if variant == "launches":
        return [(part,) for part in parts] if len(parts) > 1 else [(), parts]
    if variant == "partial":
        # a reduction's tail is cheap, so the cut goes before the last operator; a product keeps its epilogue
        cut = 1 if parts[0].kind in _ROWWISE else 2
        return [parts[:cut], parts[cut:]]
    if variant == "tile":
        cut = next((i for i, part in enumerate(parts) if part.kind in _ROWWISE), len(parts))
        return [segment for segment in (parts[:cut], parts[cut:]) if segment]
    return [parts]


def _segment(parts: tuple[Part, ...], name: str, twice: bool, tile: bool) -> tuple[list[str], list[str]]:
    """The kernel of one launch and the lines of `forward` that allocate y and launch it."""
    kinds = [part.kind for part in parts]
    pointers = ["x_ptr"]
    arguments = ["x"]
    for part in parts:
        new = {
            Kind.BINARY: (["z_ptr"], ["z"]),
            Kind.AFFINE: (["g_ptr", "h_ptr"], ["self.norm.weight", "self.norm.bias"]),
        }.get(part.kind, ([], []))
        if part.use.name == "linear":
            bias = part.body != "no_bias"
            new = (["w_ptr", "b_ptr"][: 1 + bias], ["self.linear.weight", "self.linear.bias"][: 1 + bias])
        elif part.use.name == "matmul":
            new = (["w_ptr"], ["w"])
        pointers += new[0]
        arguments += new[1]
    sizes, body, prepare, grid, launch = _frame(kinds, tile)(parts, twice)
    signature = ", ".join([*pointers, "y_ptr", *sizes])
    kernel = ["@triton.jit", f"def {name}({signature}):", *(f"    {line}" for line in body)]
    return kernel, [*prepare, f"{name}[({grid},)]({', '.join([*arguments, 'y'])}, {launch})"]


def _frame(kinds: list[Kind], tile: bool):
    if Kind.PRODUCT in kinds:
        return _tile if tile else _product
    return _row if any(kind in _ROWWISE for kind in kinds) else _flat


def _flat(parts: tuple[Part, ...], twice: bool):
    body = [
        "offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "mask = offs < n",
        *[_LOAD] * (1 + twice),
        *_lines(parts),
        _STORE,
    ]
    prepare = ["y = torch.empty_like(x)", "n = x.numel()"]
    return ["n", "BLOCK: tl.constexpr"], body, prepare, "triton.cdiv(n, 256)", "n, BLOCK=256"


def _row(parts: tuple[Part, ...], twice: bool):
    body = [
        "cols = tl.arange(0, BLOCK)",
        "mask = cols < n",
        "offs = tl.program_id(0) * n + cols",
        *[_LOAD] * (1 + twice),
        *_lines(parts),
        _store(parts),
    ]
    prepare = ["m, n = x.shape", _allocate(parts, "torch.empty_like(x)")]
    return ["n", "BLOCK: tl.constexpr"], body, prepare, "m", "n, BLOCK=triton.next_power_of_2(n)"


def _product(parts: tuple[Part, ...], twice: bool):
    at = [part.kind for part in parts].index(Kind.PRODUCT)
    wrong = parts[at].body
    by_rows = (parts[at].use.name == "linear") != (wrong == "transposed")
    place = "cols[:, None] * k + ks[None, :]" if by_rows else "ks[None, :] * n + cols[:, None]"
    last = "k - 1" if wrong == "short_k" else "k"
    load = f"x = tl.load(x_ptr + tl.program_id(0) * k + ks, mask=ks < {last}, other=0.0)"
    body = [
        "cols = tl.arange(0, BLOCK)",
        "mask = cols < n",
        "offs = tl.program_id(0) * n + cols",
        "ks = tl.arange(0, BLOCK_K)",
        *[load] * (1 + twice),
        *_lines(parts[:at]),
        f"w = tl.load(w_ptr + {place}, mask=(cols[:, None] < n) & (ks[None, :] < k), other=0.0)",
        "x = tl.sum(w * x[None, :], axis=1)",
        *_bias(parts[at], "x = x + tl.load(b_ptr + cols, mask=mask, other=0.0)"),
        *_lines(parts[at + 1 :]),
        _store(parts),
    ]
    launch = "n, k, BLOCK=triton.next_power_of_2(n), BLOCK_K=triton.next_power_of_2(k)"
    return ["n", "k", "BLOCK: tl.constexpr", "BLOCK_K: tl.constexpr"], body, _prepare_product(parts, at), "m", launch


def _tile(parts: tuple[Part, ...], twice: bool):
    at = [part.kind for part in parts].index(Kind.PRODUCT)
    wrong = parts[at].body
    by_rows = (parts[at].use.name == "linear") != (wrong == "transposed")
    place = "cols * k + ks[:, None]" if by_rows else "ks[:, None] * n + cols"
    last = "k - 1" if wrong == "short_k" else "k"
    body = [
        "rows = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None]",
        "cols = tl.arange(0, BLOCK)[None, :]",
        "mask = (rows < m) & (cols < n)",
        "offs = rows * n + cols",
        "ks = tl.arange(0, BLOCK_K)",
        f"x = tl.load(x_ptr + rows * k + ks[None, :], mask=(rows < m) & (ks[None, :] < {last}), other=0.0)",
        *_lines(parts[:at]),
        f"w = tl.load(w_ptr + {place}, mask=(cols < n) & (ks[:, None] < k), other=0.0)",
        'x = tl.dot(x, w, input_precision="ieee")',
        *_bias(parts[at], "x = x + tl.load(b_ptr + cols, mask=cols < n, other=0.0)"),
        *_lines(parts[at + 1 :]),
        _STORE,
    ]
    sizes = ["m", "n", "k", "BLOCK: tl.constexpr", "BLOCK_K: tl.constexpr"]
    launch = "m, n, k, BLOCK=triton.next_power_of_2(n), BLOCK_K=triton.next_power_of_2(k)"
    return sizes, body, _prepare_product(parts, at), "triton.cdiv(m, 16)", launch


def _prepare_product(parts: tuple[Part, ...], at: int) -> list[str]:
    size = "n = self.linear.out_features" if parts[at].use.name == "linear" else "n = w.shape[1]"
    return ["m, k = x.shape", size, _allocate(parts, "torch.empty(m, n, device=x.device)")]


def _bias(part: Part, line: str) -> list[str]:
    return [line] if part.use.name == "linear" and part.body != "no_bias" else []


def _lines(parts: tuple[Part, ...]) -> list[str]:
    lines = []
    for part in parts:
        lines += part.body.split("\n") + ([_AFFINE] if part.kind is Kind.AFFINE else [])
    return lines


def _reduction(parts: tuple[Part, ...]) -> Part | None:
    return next((part for part in parts if part.kind is Kind.REDUCTION), None)


def _store(parts: tuple[Part, ...]) -> str:
    return "tl.store(y_ptr + tl.program_id(0), x)" if _reduction(parts) else _STORE


def _allocate(parts: tuple[Part, ...], otherwise: str) -> str:
    reduction = _reduction(parts)
    if reduction is None:
        return f"y = {otherwise}"
    return f"y = torch.empty(m, {'1, ' if reduction.use.constants[0] else ''}device=x.device)"
