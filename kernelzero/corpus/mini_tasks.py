"""The suite `mini` as specs of the grammar: 24 single operators at held-out sizes, 24 held-out compositions.

The suite itself is the plain files in kernelzero/bench/mini; `python -m kernelzero.corpus.mini_tasks FOLDER` writes
them again, and a test holds the two together. The specs are here because every task must have a correct kernel by the
grammar.
"""

import sys
from pathlib import Path

from kernelzero.corpus.grammar import Spec, make_spec, module_source

_KEEPDIM = (", keepdim=True",)

SINGLE: tuple[Spec, ...] = (
    make_spec(("relu",), 4, 40, spellings={"relu": 2}),
    make_spec(("gelu",), 8, 48),
    make_spec(("silu",), 12, 24, spellings={"silu": 2}),
    make_spec(("sigmoid",), 16, 32),
    make_spec(("tanh",), 4, 40),
    make_spec(("leaky_relu",), 8, 48, constants={"leaky_relu": ("0.2",)}),
    make_spec(("softplus",), 12, 24, spellings={"softplus": 1}),
    make_spec(("elu",), 16, 32),
    make_spec(("hardswish",), 4, 40, spellings={"hardswish": 1}),
    make_spec(("hardsigmoid",), 8, 48),
    make_spec(("mish",), 12, 24),
    make_spec(("clamp",), 16, 32, constants={"clamp": ("-0.5", "0.5")}),
    make_spec(("maximum",), 4, 40),
    make_spec(("mul",), 8, 48),
    make_spec(("softmax",), 12, 24),
    make_spec(("log_softmax",), 4, 40, spellings={"log_softmax": 1}),
    make_spec(("layer_norm",), 8, 48),
    make_spec(("rms_norm",), 12, 24),
    make_spec(("normalize",), 16, 32),
    make_spec(("sum",), 8, 48),
    make_spec(("mean",), 12, 24, constants={"mean": _KEEPDIM}),
    make_spec(("amax",), 16, 32, spellings={"amax": 1}),
    make_spec(("linear",), 8, 48, 40),
    make_spec(("matmul",), 12, 24, 32, spellings={"matmul": 1}),
)

FUSED: tuple[Spec, ...] = (
    make_spec(("linear", "gelu"), 8, 32, 48, spellings={"gelu": 1}),
    make_spec(("linear", "leaky_relu"), 12, 24, 40, constants={"leaky_relu": ("0.1",)}),
    make_spec(("linear", "softmax"), 4, 40, 24),
    make_spec(("matmul", "silu"), 16, 32, 24),
    make_spec(("matmul", "relu"), 8, 48, 32, spellings={"matmul": 1}),
    make_spec(("gelu", "sum"), 8, 48),
    make_spec(("silu", "mean"), 12, 24, spellings={"silu": 1}),
    make_spec(("abs", "amax"), 16, 32, constants={"amax": _KEEPDIM}),
    make_spec(("square", "mean"), 8, 40),
    make_spec(("softmax", "scale"), 16, 48, constants={"scale": ("3.0",)}),
    make_spec(("layer_norm", "gelu"), 8, 24),
    make_spec(("rms_norm", "silu"), 12, 40, spellings={"rms_norm": 1}),
    make_spec(("tanh", "add"), 4, 48, spellings={"tanh": 1}),
    make_spec(("add", "relu"), 12, 32),
    make_spec(("mul", "sigmoid"), 8, 40, spellings={"sigmoid": 1}),
    make_spec(("relu", "square"), 16, 24, spellings={"square": 1}),
    make_spec(("shift", "hardswish"), 8, 64, constants={"shift": ("1.0",)}),
    make_spec(("clamp", "normalize"), 12, 48, constants={"clamp": ("-1.0", "2.0")}),
    make_spec(("elu", "softmax"), 4, 24, spellings={"softmax": 2}),
    make_spec(("linear", "tanh", "scale"), 8, 24, 32, constants={"scale": ("2.0",)}),
    make_spec(("matmul", "add", "sigmoid"), 12, 40, 24),
    make_spec(("add", "layer_norm", "relu"), 8, 40),
    make_spec(("scale", "softplus", "mean"), 16, 40, constants={"scale": ("0.5",)}),
    make_spec(("leaky_relu", "mul", "amax"), 12, 24),
)


def files() -> dict[str, tuple[Spec, str]]:
    """Path in the suite's folder -> spec and source."""
    named = {}
    for level, specs in ((1, SINGLE), (2, FUSED)):
        for i, spec in enumerate(specs, start=1):
            named[f"level{level}/{i:02d}_{'_'.join(spec.ops)}.py"] = (spec, module_source(spec))
    return named


def write(folder: Path) -> None:
    for name, (_, source) in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
