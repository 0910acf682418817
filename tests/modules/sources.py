"""Module sources for the tests of this folder: a template, and honest modules that no step may reject."""

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def indent(text, by=8):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def module(
    forward="return torch.relu(x)",
    init="",
    arguments="x",
    inputs="torch.randn(4, 8)",
    head=HEAD,
    top="",
    body="",
    tail="",
    init_arguments="",
    init_inputs="",
):
    """A module in the task format. body: further lines of the class; top, tail: lines before and after the rest."""
    return (
        f"{head}\n\n{top}class Model(nn.Module):\n{indent(body, 4)}"
        f"    def __init__(self{init_arguments}):\n        super().__init__()\n{indent(init)}\n"
        f"    def forward(self, {arguments}):\n{indent(forward)}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\n\ndef get_init_inputs():\n    return [{init_inputs}]\n{tail}"
    )


HONEST = {
    "linear": module("return torch.relu(self.l(x))", "self.l = nn.Linear(n, 6)", init_arguments=", n", init_inputs="8"),
    "layer_norm": module("return self.n(x)", "self.n = nn.LayerNorm(8)"),
    "softmax": module("return torch.softmax(x, dim=-1)", inputs="torch.randn(16, 64)"),
    "conv": module("return torch.tanh(self.c(x))", "self.c = nn.Conv2d(3, 4, 3, padding=1)", inputs="torch.randn(2, 3, 8, 8)"),
    "matmul_epilogue": module(
        "y = x @ w\nreturn F.gelu(y + self.b) * 0.5",
        "self.b = nn.Parameter(torch.randn(6))",
        "x, w",
        "torch.randn(4, 8), torch.randn(8, 6)",
    ),
    "buffers": module(
        "return x.masked_fill(self.m == 0, -1.0)",
        "self.register_buffer('m', torch.tril(torch.ones(8, 8)))",
        inputs="torch.randn(8, 8)",
    ),
    "batch_norm": module("return self.n(x)", "self.n = nn.BatchNorm1d(8)"),
    "normalise": module("return F.normalize(x, dim=-1)"),
    "sign_with_weight": module("return torch.sign(x) * self.w", "self.w = nn.Parameter(torch.randn(8))"),
    "argmax": module("return torch.argmax(x, dim=-1)"),
    "topk_pair": module("v, i = torch.topk(x, 3, dim=-1)\nreturn v, i"),
    "dictionary": module("return {'a': x.sum(dim=-1), 'b': torch.exp(x)}"),
    "embedding": module("return self.e(i) * 2.0", "self.e = nn.Embedding(16, 4)", "i", "torch.randint(0, 16, (32,))"),
    "loss": module("return F.mse_loss(x, y)", "", "x, y", "torch.randn(4, 8), torch.randn(4, 8)"),
    "fixed_mask": module("return torch.where(m, x, -x)", "", "x, m", "torch.randn(4, 8), torch.ones(4, 8, dtype=torch.bool).tril()"),
    "none_and_scalars": module(
        "y = x * s\nif m is not None:\n    y = y + m\nreturn y.roll(k, dims=-1)",
        "",
        "x, m, k, s",
        "torch.randn(4, 8), None, 2, 0.5",
    ),
    "transpose": module("return x.transpose(0, 1).contiguous()"),
    "large_softmax": module("return torch.softmax(x, dim=-1)", inputs="torch.randn(4, 4096)"),
    "dropout_of_eval": module("return F.dropout(self.d(x).sin(), 0.1, training=self.training)", "self.d = nn.Dropout(0.1)"),
    "in_place_on_its_own": module("y = x.clone()\ny.mul_(2.0)\ny += 1.0\nreturn torch.sin(y)"),
    "a_constant_and_a_method": module(
        "return self.scaled(x)",
        "import math\nself.s = 1 / math.sqrt(WIDTH)",
        top="WIDTH = 4 * 2\n\n\n",
        inputs="torch.randn(4, WIDTH)",
        body="def scaled(self, x):\n    return torch.erf(x) * self.s\n",
    ),
}
