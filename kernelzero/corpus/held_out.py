"""What the corpus never holds, so that generalisation can be measured: compositions of operators, and input sizes.

A chain is held out when one of HELD_OUT occurs in it as neighbours, so a held-out pair is in no longer chain either.
The fused tasks of `bench/mini` are among HELD_OUT; the rest is spare, for further tasks. The single-operator tasks of
`mini` use HELD_OUT_SHAPES: their operators are known to the corpus, their exact modules are not.
"""

HELD_OUT_SHAPES = frozenset({(4, 40), (8, 48), (12, 24), (16, 32)})  # (rows, columns) of x

HELD_OUT = frozenset({
    # the fused tasks of mini
    ("linear", "gelu"), ("linear", "leaky_relu"), ("linear", "softmax"), ("matmul", "silu"), ("matmul", "relu"),
    ("gelu", "sum"), ("silu", "mean"), ("abs", "amax"), ("square", "mean"), ("softmax", "scale"),
    ("layer_norm", "gelu"), ("rms_norm", "silu"), ("tanh", "add"), ("add", "relu"), ("mul", "sigmoid"),
    ("relu", "square"), ("shift", "hardswish"), ("clamp", "normalize"), ("elu", "softmax"),
    ("linear", "tanh", "scale"), ("matmul", "add", "sigmoid"), ("add", "layer_norm", "relu"),
    ("scale", "softplus", "mean"), ("leaky_relu", "mul", "amax"),
    # spare
    ("linear", "hardswish"), ("matmul", "elu"), ("mish", "mean"), ("softplus", "sum"), ("relu6", "log_softmax"),
    ("layer_norm", "silu"), ("softsign", "maximum"), ("hardtanh", "rms_norm"), ("mul", "gelu"), ("tanh", "amin"),
    ("linear", "sigmoid", "mul"), ("relu", "add", "softmax"), ("square", "sum", "sqrt_abs"),
    ("silu", "layer_norm", "scale"),
})


def is_held_out(ops: tuple[str, ...]) -> bool:
    """Whether the chain holds a reserved composition."""
    return any(tuple(ops[i : i + n]) in HELD_OUT for n in (2, 3) for i in range(len(ops) - n + 1))
