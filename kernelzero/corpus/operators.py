"""The operators of the corpus: how a module spells each, which lines of Triton compute it, and plausible wrong lines.

A line of kernel text works on the value `x`: a block of a row (or of a flat tensor, or of a tile) under `mask`, with
`offs` the offsets of the output. Lanes outside the mask may hold anything, so an operator that combines lanes masks
them itself: that is what makes the lines compose. After a reduction `x` is one number a row. No wrong line here is
promised to be wrong everywhere (a leaky slope of 0.01 is right when the module says 0.01): `twin.py` decides that
where it is planted.

Not covered: dtypes other than float32, operators over other dimensions than the last, convolutions, pooling.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    POINTWISE = "pointwise"  # one input element, one output element
    BINARY = "binary"  # a second input `z` of the same shape
    ROW = "row"  # a row in, a row out: softmax, norms
    AFFINE = "affine"  # ROW with parameters (nn.LayerNorm)
    REDUCTION = "reduction"  # a row in, a number out
    PRODUCT = "product"  # matrix product: nn.Linear, or a second input `w`


@dataclass(frozen=True)
class Spelling:
    """One way to write the operator in a module: the line of `forward`, its canonical API, the line of `__init__`."""

    line: str
    apis: tuple[str, ...]
    init: str = ""
    features: bool = False  # the line of __init__ takes sizes, so the constructor has arguments


@dataclass(frozen=True)
class Operator:
    """`difficulty` in (0, 1] times the rate of mistakes is the probability that an answer gets the operator wrong.

    right, wrong: lines of kernel text, '\\n' between lines; `{a}` and `{b}` stand for the constants of an instance.
    The first entry of `right` is the usual one. constants: the choices of a module, () when it has none.
    """

    name: str
    kind: Kind
    difficulty: float
    spellings: tuple[Spelling, ...]
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    constants: tuple[tuple[str, ...], ...] = ((),)


def _call(line: str, *apis: str) -> Spelling:
    return Spelling(f"x = {line}", apis)


def _layer(attribute: str, construct: str, features: bool = False) -> Spelling:
    api = construct.partition("(")[0]
    return Spelling(f"x = self.{attribute}(x)", (api,), f"self.{attribute} = {construct}", features)


def _pointwise(name, difficulty, spellings, right, wrong, constants=((),)) -> Operator:
    right = (right,) if isinstance(right, str) else right
    return Operator(name, Kind.POINTWISE, difficulty, tuple(spellings), tuple(right), tuple(wrong), tuple(constants))


_POINTWISE = [
    _pointwise(
        "relu", 0.3,
        [_call("torch.relu(x)", "torch.relu"), _call("F.relu(x)", "F.relu"), _layer("relu", "nn.ReLU()")],
        ("x = tl.maximum(x, 0.0)", "x = tl.where(x > 0.0, x, 0.0)"),
        ["x = tl.minimum(x, 0.0)", "x = tl.where(x > 0.0, x, 0.01 * x)", "x = tl.maximum(x, 1.0)"],
    ),
    _pointwise(
        "gelu", 1.0,
        [_call("F.gelu(x)", "F.gelu"), _layer("gelu", "nn.GELU()")],
        "x = 0.5 * x * (1.0 + tl.erf(x * 0.70710678))",
        ["x = x * tl.sigmoid(1.702 * x)", "x = 0.5 * x * (1.0 + tl.erf(x))", "x = x * tl.sigmoid(x)",
         "x = x * tl.sigmoid(1.5957691 * (x + 0.044715 * x * x * x))", "x = 0.5 * x * (1.0 + tl.erf(x * 0.79788456))"],
    ),
    _pointwise(
        "silu", 0.6,
        [_call("F.silu(x)", "F.silu"), _layer("silu", "nn.SiLU()"),
         _call("x * torch.sigmoid(x)", "torch.mul", "torch.sigmoid")],
        ("x = x * tl.sigmoid(x)", "x = x / (1.0 + tl.exp(-x))"),
        ["x = x * tl.sigmoid(1.702 * x)", "x = tl.sigmoid(x)", "x = x / (1.0 + tl.exp(x))", "x = x + tl.sigmoid(x)"],
    ),
    _pointwise(
        "sigmoid", 0.4,
        [_call("torch.sigmoid(x)", "torch.sigmoid"), _layer("sigmoid", "nn.Sigmoid()")],
        ("x = tl.sigmoid(x)", "x = 1.0 / (1.0 + tl.exp(-x))"),
        ["x = 1.0 / (1.0 + tl.exp(x))", "x = x * tl.sigmoid(x)", "x = tl.exp(x) / (1.0 + x)"],
    ),
    _pointwise(
        "tanh", 0.8,
        [_call("torch.tanh(x)", "torch.tanh"), _layer("tanh", "nn.Tanh()")],
        "x = 2.0 * tl.sigmoid(2.0 * x) - 1.0",
        ["x = 2.0 * tl.sigmoid(x) - 1.0", "x = tl.sigmoid(2.0 * x)", "x = tl.sigmoid(2.0 * x) - 1.0",
         "x = x / (1.0 + tl.abs(x))"],
    ),
    _pointwise(
        "exp", 0.2,
        [_call("torch.exp(x)", "torch.exp")],
        "x = tl.exp(x)",
        ["x = tl.exp(-x)", "x = tl.exp2(x)"],
    ),
    _pointwise(
        "abs", 0.3,
        [_call("torch.abs(x)", "torch.abs"), _call("x.abs()", "torch.abs")],
        ("x = tl.abs(x)", "x = tl.maximum(x, -x)"),
        ["x = -x", "x = tl.maximum(x, 0.0)"],
    ),
    _pointwise(
        "square", 0.3,
        [_call("torch.square(x)", "torch.square"), _call("x * x", "torch.mul")],
        "x = x * x",
        ["x = x + x", "x = x * tl.abs(x)"],
    ),
    _pointwise(
        "clamp", 0.6,
        [_call("torch.clamp(x, {a}, {b})", "torch.clamp"), _call("x.clamp({a}, {b})", "torch.clamp")],
        "x = tl.minimum(tl.maximum(x, {a}), {b})",
        ["x = tl.maximum(tl.minimum(x, {a}), {b})", "x = tl.maximum(x, {a})", "x = tl.minimum(x, {b})"],
        [("0.0", "1.0"), ("-0.5", "0.5"), ("-1.0", "2.0")],
    ),
    _pointwise(
        "leaky_relu", 0.6,
        [_call("F.leaky_relu(x, {a})", "F.leaky_relu"), _layer("leaky_relu", "nn.LeakyReLU({a})")],
        ("x = tl.where(x > 0.0, x, {a} * x)", "x = tl.maximum(x, {a} * x)"),
        ["x = tl.where(x > 0.0, x, 0.01 * x)", "x = tl.minimum(x, {a} * x)", "x = tl.where(x > 0.0, x, 0.0)",
         "x = tl.where(x > 0.0, x, -{a} * x)"],
        [("0.01",), ("0.1",), ("0.2",)],
    ),
    _pointwise(
        "softplus", 0.8,
        [_call("F.softplus(x)", "F.softplus"), _layer("softplus", "nn.Softplus()")],
        "x = tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(x)))",
        ["x = tl.where(x > 1.0, x, tl.log(1.0 + tl.exp(x)))", "x = tl.log(tl.exp(x) + 2.0)",
         "x = tl.log(1.0 + tl.exp(-x))"],
    ),
    _pointwise(
        "elu", 0.7,
        [_call("F.elu(x)", "F.elu"), _layer("elu", "nn.ELU()")],
        "x = tl.where(x > 0.0, x, tl.exp(x) - 1.0)",
        ["x = tl.where(x > 0.0, x, tl.exp(x))", "x = tl.where(x > 0.0, x, 1.6733 * (tl.exp(x) - 1.0))",
         "x = tl.where(x > 0.0, x, 1.0 - tl.exp(x))"],
    ),
    _pointwise(
        "hardtanh", 0.5,
        [_call("F.hardtanh(x)", "F.hardtanh"), _layer("hardtanh", "nn.Hardtanh()")],
        "x = tl.minimum(tl.maximum(x, -1.0), 1.0)",
        ["x = tl.minimum(tl.maximum(x, 0.0), 1.0)", "x = tl.maximum(tl.minimum(x, -1.0), 1.0)",
         "x = tl.maximum(x, -1.0)"],
    ),
    _pointwise(
        "hardswish", 0.9,
        [_call("F.hardswish(x)", "F.hardswish"), _layer("hardswish", "nn.Hardswish()")],
        "x = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0",
        ["x = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0", "x = x * tl.minimum(tl.maximum(x, 0.0), 6.0) / 6.0",
         "x = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0)",
         "x = x * tl.minimum(tl.maximum(x + 1.0, 0.0), 2.0) / 2.0"],
    ),
    _pointwise(
        "hardsigmoid", 0.9,
        [_call("F.hardsigmoid(x)", "F.hardsigmoid"), _layer("hardsigmoid", "nn.Hardsigmoid()")],
        "x = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0",
        ["x = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0", "x = tl.minimum(tl.maximum(x, 0.0), 6.0) / 6.0",
         "x = tl.minimum(tl.maximum(0.2 * x + 0.5, 0.0), 1.0)"],
    ),
    _pointwise(
        "relu6", 0.5,
        [_call("F.relu6(x)", "F.relu6"), _layer("relu6", "nn.ReLU6()")],
        "x = tl.minimum(tl.maximum(x, 0.0), 6.0)",
        ["x = tl.minimum(tl.maximum(x, 0.0), 6.0) / 6.0", "x = tl.minimum(x, 6.0)",
         "x = tl.minimum(tl.maximum(x, 0.0), 1.0)"],
    ),
    _pointwise(
        "softsign", 0.6,
        [_call("F.softsign(x)", "F.softsign"), _layer("softsign", "nn.Softsign()")],
        "x = x / (1.0 + tl.abs(x))",
        ["x = x / (1.0 + x * x)", "x = tl.abs(x) / (1.0 + tl.abs(x))", "x = x / (2.0 + tl.abs(x))"],
    ),
    _pointwise(
        "mish", 1.0,
        [_call("F.mish(x)", "F.mish"), _layer("mish", "nn.Mish()")],
        "x = x * (2.0 * tl.sigmoid(2.0 * tl.log(1.0 + tl.exp(x))) - 1.0)",
        ["x = x * tl.sigmoid(x)", "x = x * tl.sigmoid(tl.log(1.0 + tl.exp(x)))",
         "x = x * (2.0 * tl.sigmoid(tl.log(1.0 + tl.exp(x))) - 1.0)"],
    ),
    _pointwise(
        "scale", 0.3,
        [_call("x * {a}", "torch.mul"), _call("torch.mul(x, {a})", "torch.mul")],
        "x = x * {a}",
        ["x = x + {a}", "x = x / {a}"],
        [("0.5",), ("2.0",), ("3.0",)],
    ),
    _pointwise(
        "shift", 0.3,
        [_call("x + {a}", "torch.add"), _call("torch.add(x, {a})", "torch.add")],
        "x = x + {a}",
        ["x = x - {a}", "x = x * {a}"],
        [("0.5",), ("1.0",), ("2.0",)],
    ),
    _pointwise(
        "sqrt_abs", 0.5,
        [_call("torch.sqrt(torch.abs(x))", "torch.abs", "torch.sqrt"),
         _call("x.abs().sqrt()", "torch.abs", "torch.sqrt")],
        "x = tl.sqrt(tl.abs(x))",
        ["x = tl.sqrt(tl.maximum(x, 0.0))", "x = tl.abs(x)", "x = tl.sqrt(x * x)"],
    ),
]

_Z = "tl.load(z_ptr + offs, mask=mask, other=0.0)"
_BINARY = [
    Operator(
        "add", Kind.BINARY, 0.3,
        (_call("x + z", "torch.add"), _call("torch.add(x, z)", "torch.add")),
        (f"x = x + {_Z}",), (f"x = x - {_Z}", f"x = {_Z}"),
    ),
    Operator(
        "mul", Kind.BINARY, 0.3,
        (_call("x * z", "torch.mul"), _call("torch.mul(x, z)", "torch.mul")),
        (f"x = x * {_Z}",), (f"x = x + {_Z}", f"x = x * {_Z} * {_Z}"),
    ),
    Operator(
        "maximum", Kind.BINARY, 0.5,
        (_call("torch.maximum(x, z)", "torch.maximum"),),
        (f"x = tl.maximum(x, {_Z})",), (f"x = tl.minimum(x, {_Z})", f"x = tl.maximum(x, tl.abs({_Z}))"),
    ),
]

_ZEROED = "x = tl.where(mask, x, 0.0)"
_LOWEST = 'x = tl.where(mask, x, -float("inf"))'
_CENTRED = "x = tl.where(mask, x - tl.sum(tl.where(mask, x, 0.0), axis=0) / n, 0.0)"
_VARIANCE = "x = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + 1e-5)"
_LAYER_NORM_WRONG = (
    _VARIANCE,
    f"{_CENTRED}\nx = x / (tl.sum(x * x, axis=0) / n + 1e-5)",
    f"{_CENTRED}\nx = x * tl.rsqrt(tl.sum(x * x, axis=0) + 1e-5)",
    f"{_CENTRED}\nx = x * tl.rsqrt(tl.sum(x * x, axis=0) / (n - 1) + 1e-5)",
    f"x = x - tl.sum(tl.where(mask, x, 0.0), axis=0) / n\n{_VARIANCE}",
)
_ROW = [
    Operator(
        "softmax", Kind.ROW, 0.6,
        (_call("torch.softmax(x, dim=-1)", "torch.softmax"), _call("F.softmax(x, dim=-1)", "F.softmax"),
         _layer("softmax", "nn.Softmax(dim=-1)")),
        (f"{_LOWEST}\nx = tl.exp(x - tl.max(x, axis=0))\nx = x / tl.sum(x, axis=0)",),
        ("x = tl.exp(x - tl.max(x, axis=0))\nx = x / tl.sum(x, axis=0)",
         f"{_LOWEST}\nx = tl.exp(x - tl.max(x, axis=0))\nx = x / n",
         f"{_LOWEST}\nx = tl.exp(x - tl.max(x, axis=0))",
         f"{_ZEROED}\nx = x / tl.sum(x, axis=0)"),
    ),
    Operator(
        "log_softmax", Kind.ROW, 0.8,
        (_call("torch.log_softmax(x, dim=-1)", "torch.log_softmax"), _call("F.log_softmax(x, dim=-1)", "F.log_softmax"),
         _layer("log_softmax", "nn.LogSoftmax(dim=-1)")),
        (f"{_LOWEST}\nx = x - tl.max(x, axis=0)\nx = x - tl.log(tl.sum(tl.exp(x), axis=0))",),
        (f"{_LOWEST}\nx = x - tl.max(x, axis=0)\nx = x - tl.sum(tl.exp(x), axis=0)",
         f"{_LOWEST}\nx = x - tl.max(x, axis=0)\nx = tl.exp(x) / tl.sum(tl.exp(x), axis=0)",
         f"{_LOWEST}\nx = x - tl.max(x, axis=0)\nx = x - tl.log(tl.sum(x, axis=0))",
         "x = x - tl.max(x, axis=0)\nx = x - tl.log(tl.sum(tl.exp(x), axis=0))"),
    ),
    Operator(
        "layer_norm", Kind.ROW, 0.8,
        (_call("F.layer_norm(x, (x.shape[-1],))", "F.layer_norm"),),
        (f"{_CENTRED}\n{_VARIANCE}",), _LAYER_NORM_WRONG,
    ),
    Operator(
        "rms_norm", Kind.ROW, 0.7,
        (_call("x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-6)",
               "torch.add", "torch.mean", "torch.mul", "torch.rsqrt"),
         _call("F.rms_norm(x, (x.shape[-1],), eps=1e-6)", "F.rms_norm")),
        (f"{_ZEROED}\nx = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + 1e-6)",),
        (f"{_ZEROED}\nx = x * tl.rsqrt(tl.sum(x * x, axis=0) + 1e-6)",
         f"{_ZEROED}\nx = x * tl.sqrt(tl.sum(x * x, axis=0) / n + 1e-6)",
         f"{_CENTRED}\nx = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + 1e-6)",
         "x = x * tl.rsqrt(tl.sum(x * x, axis=0) / n + 1e-6)"),
    ),
    Operator(
        "normalize", Kind.ROW, 0.6,
        (_call("F.normalize(x, dim=-1)", "F.normalize"),),
        (f"{_ZEROED}\nx = x / tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), 1e-12)",),
        (f"{_ZEROED}\nx = x / tl.sum(x * x, axis=0)", f"{_ZEROED}\nx = x / tl.sqrt(tl.sum(x * x, axis=0) / n)",
         f"{_ZEROED}\nx = x / tl.sum(tl.abs(x), axis=0)"),
    ),
    Operator(
        "layer_norm_affine", Kind.AFFINE, 0.9,
        (_layer("norm", "nn.LayerNorm(features)", features=True),),
        (f"{_CENTRED}\n{_VARIANCE}",), _LAYER_NORM_WRONG,
    ),
]


def _reduction(name, difficulty, torch_name, right, wrong, method=None) -> Operator:
    api = f"torch.{torch_name}"
    spellings = [_call(f"torch.{torch_name}(x, dim=-1{{a}})", api), _call(f"x.{torch_name}(dim=-1{{a}})", api)]
    if method:
        spellings.append(_call(f"{method}(x, dim=-1{{a}}).values", method))
    return Operator(
        name, Kind.REDUCTION, difficulty, tuple(spellings), (right,), tuple(wrong), (("",), (", keepdim=True",))
    )


_SUM = "tl.sum(tl.where(mask, x, 0.0), axis=0)"
_HIGH = 'tl.max(tl.where(mask, x, -float("inf")), axis=0)'
_LOW = 'tl.min(tl.where(mask, x, float("inf")), axis=0)'
_REDUCTION = [
    _reduction("sum", 0.4, "sum", f"x = {_SUM}", [f"x = {_SUM} / n", "x = tl.sum(x, axis=0)", f"x = {_HIGH}"]),
    _reduction("mean", 0.6, "mean", f"x = {_SUM} / n",
               [f"x = {_SUM}", f"x = {_SUM} / BLOCK", f"x = {_SUM} / (n - 1)", "x = tl.sum(x, axis=0) / n"]),
    _reduction("amax", 0.6, "amax", f"x = {_HIGH}",
               [f"x = {_LOW}", "x = tl.max(tl.where(mask, tl.abs(x), 0.0), axis=0)", "x = tl.max(x, axis=0)"],
               "torch.max"),
    _reduction("amin", 0.7, "amin", f"x = {_LOW}",
               [f"x = {_HIGH}", "x = tl.min(tl.where(mask, tl.abs(x), 0.0), axis=0)", "x = tl.min(x, axis=0)"],
               "torch.min"),
]

# the lines of a product are the kernel writer's: `right` names the layout of w, `wrong` the ways to get it wrong
_PRODUCT = [
    Operator(
        "linear", Kind.PRODUCT, 0.8, (_layer("linear", "nn.Linear(in_features, out_features)", features=True),),
        ("",), ("no_bias", "transposed", "short_k"),
    ),
    Operator(
        "matmul", Kind.PRODUCT, 0.7,
        (_call("torch.matmul(x, w)", "torch.matmul"), _call("x @ w", "torch.matmul"),
         _call("torch.mm(x, w)", "torch.mm")),
        ("",), ("transposed", "short_k"),
    ),
]

OPERATORS: dict[str, Operator] = {
    operator.name: operator for operator in _POINTWISE + _BINARY + _ROW + _REDUCTION + _PRODUCT
}
