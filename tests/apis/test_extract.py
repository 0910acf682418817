import pytest

from kernelzero.apis import api_set, extract

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


def module(forward, init="", head=HEAD, tail="", arguments="x"):
    """A module source with these lines in forward and __init__."""

    def indent(text):
        return "".join(f"        {line}\n" for line in text.splitlines())

    return (
        f"{head}\n\nclass Model(nn.Module):\n    def __init__(self, n=8):\n        super().__init__()\n{indent(init)}"
        f"\n    def forward(self, {arguments}):\n{indent(forward)}\n\n"
        f"def get_inputs():\n    return [torch.exp(torch.randn(4, 8))]\n"
        f"\n\ndef get_init_inputs():\n    return []\n{tail}"
    )


@pytest.mark.parametrize(
    "forward, expected",
    [
        ("return torch.relu(x)", ["torch.relu"]),
        ("return F.relu(x)", ["F.relu"]),
        ("return torch.nn.functional.relu(x)", ["F.relu"]),
        ("return nn.functional.gelu(x)", ["F.gelu"]),
        ("return x.relu()", ["torch.relu"]),
        ("return x.mean(dim=-1).exp_()", ["torch.exp", "torch.mean"]),
        ("return torch.Tensor.tanh(x)", ["torch.tanh"]),
        ("return x @ x.T", ["torch.matmul", "torch.transpose"]),
        (
            "return -x + 1 - x * 2 / 3 ** x",
            ["torch.add", "torch.div", "torch.mul", "torch.neg", "torch.pow", "torch.sub"],
        ),
        ("return x > 0", ["torch.gt"]),
        ("return torch.where(x <= 0, x, abs(x))", ["torch.abs", "torch.le", "torch.where"]),
        ("x += 1\nreturn x", ["torch.add"]),
        ("return torch.clip(x, 0, 1)", ["torch.clamp"]),
        ("y = torch.max(x, dim=1).values\nreturn y - x", ["torch.max", "torch.sub"]),
        ("f = torch.sigmoid\nreturn f(x)", ["torch.sigmoid"]),
        ("return torch.cat([torch.sin(x), x.cos()])", ["torch.cat", "torch.cos", "torch.sin"]),
        ("return [t.sum() for t in x.split(4)]", ["torch.split", "torch.sum"]),
        ("return {'a': (lambda t: torch.erf(t))(x)}", ["torch.erf"]),
        ("for _ in range(3):\n    x = x.sin()\nreturn x", ["torch.sin"]),
        ("if self.training:\n    return torch.sin(x)\nelse:\n    return torch.cos(x)", ["torch.cos", "torch.sin"]),
        ("with torch.no_grad():\n    y = torch.sin(x)\nreturn y", ["torch.sin"]),
    ],
)
def test_functions_methods_and_operators(forward, expected):
    assert list(api_set(module(forward))) == expected


@pytest.mark.parametrize(
    "head, forward, expected",
    [
        ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as fn\n", "return fn.silu(x)", ["F.silu"]),
        ("import torch\nfrom torch import nn, relu as r\n", "return r(x)", ["torch.relu"]),
        ("import torch as t\nfrom torch import nn\n", "return t.matmul(x, x)", ["torch.matmul"]),
        ("import torch\nimport torch.nn as nn\nfrom torch.nn.functional import gelu\n", "return gelu(x)", ["F.gelu"]),
        ("import torch\nfrom torch import nn\nfrom torch.nn import functional as G\n", "return G.mish(x)", ["F.mish"]),
        ("import torch\nimport torch.nn as nn\nH = torch.nn.functional\n", "return H.elu(x)", ["F.elu"]),
        ("import torch\nimport torch.nn as nn\nact = torch.tanh\n", "return act(x)", ["torch.tanh"]),
        ("import torch\nimport torch.nn as nn\nfrom torch import *\n", "return softmax(x, dim=-1)", ["torch.softmax"]),
        (
            "import torch\nimport torch.nn as nn\n",
            "import torch.nn.functional as late\nreturn late.selu(x)",
            ["F.selu"],
        ),
    ],
)
def test_import_aliases(head, forward, expected):
    assert list(api_set(module(forward, head=head))) == expected


def test_a_star_import_is_reported():
    found = extract(
        module(
            "return self.l(x)",
            "self.l = Linear(8, 8)",
            head="import torch\nimport torch.nn as nn\nfrom torch.nn import *\n",
        )
    )
    assert found.apis == ("nn.Linear",)
    assert found.stars == ("torch.nn",)


@pytest.mark.parametrize(
    "init, forward, expected",
    [
        ("self.l = nn.Linear(n, n)", "return self.l(x)", ["nn.Linear"]),
        ("self.l = torch.nn.Linear(n, n)", "return self.l(x) + self.l.bias", ["nn.Linear", "torch.add"]),
        ("self.net = nn.Sequential(nn.Linear(n, n), nn.ReLU())", "return self.net(x)", ["nn.Linear", "nn.ReLU"]),
        (
            "layers = []\nfor i in range(2):\n    layers.append(nn.Conv2d(1, 1, 1))\nself.net = nn.Sequential(*layers)",
            "return self.net(x)",
            ["nn.Conv2d"],
        ),
        ("self.ls = nn.ModuleList([nn.LayerNorm(n)])", "for l in self.ls:\n    x = l(x)\nreturn x", ["nn.LayerNorm"]),
        (
            "self.ls = nn.ModuleList()\nself.ls.append(nn.GELU())",
            "for l in self.ls:\n    x = l(x)\nreturn x",
            ["nn.GELU"],
        ),
        ("self.add_module('act', nn.SiLU())", "return self.act(x)", ["nn.SiLU"]),
        ("self.act = F.gelu", "return self.act(x)", ["F.gelu"]),
        ("self.a, self.b = nn.ReLU(), nn.Tanh()", "return self.a(x)", ["nn.ReLU", "nn.Tanh"]),
        ("self.w = nn.Parameter(torch.exp(torch.randn(n)))", "return x * self.w", ["torch.mul"]),
        (
            "self.register_buffer('mask', torch.tril(torch.ones(n, n)))",
            "return x.masked_fill(self.mask == 0, 0.0)",
            ["torch.eq", "torch.masked_fill"],
        ),
        ("self.l = nn.ReLU()", "for m in self.children():\n    x = m(x)\nreturn x", ["nn.ReLU"]),
    ],
)
def test_modules_built_in_init(init, forward, expected):
    assert list(api_set(module(forward, init))) == expected


@pytest.mark.parametrize(
    "init, forward, arguments, expected",
    [
        ("", "'''uses torch.sin'''\nname = 'torch.cos(x)'\nreturn torch.relu(x)", "x", ["torch.relu"]),
        ("self.k = n * 2 + 1", "d = x.shape[-1] * 2\nreturn x.reshape(-1, d // self.k - 1)", "x", ["torch.reshape"]),
        ("", "parts = 'a b'.split()\nreturn torch.relu(x)", "x", ["torch.relu"]),
        ("", "return F(torch.relu(x))", "x, F", ["torch.relu"]),
        ("", "return x.relu() * len(x)", "x, window: int = 3", ["torch.mul", "torch.relu"]),
        ("", "return torch.relu(x) if window > 3 - 1 else x", "x, window: int", ["torch.relu"]),
        (
            "import math\nself.s = math.sqrt(n)",
            "import math\nreturn torch.relu(x) if math.exp(1.0) > self.s else x",
            "x",
            ["torch.relu"],
        ),
        ("", "return torch.relu(x).to(torch.float32).contiguous()", "x", ["torch.relu"]),
    ],
)
def test_what_only_looks_like_an_api(init, forward, arguments, expected):
    assert list(api_set(module(forward, init, arguments=arguments))) == expected


def test_a_method_and_a_helper_named_like_an_api():
    source = module("return relu(self.tanh(x))", tail="\n\ndef unrelated(x):\n    return torch.cos(x)\n")
    source = source.replace("    def forward", "    def tanh(self, x):\n        return x.sin()\n\n    def forward")
    source = source.replace("class Model", "def relu(x):\n    return x.square()\n\n\nclass Model")
    assert api_set(source) == ("torch.sin", "torch.square")


def test_a_helper_hides_what_was_imported():
    head = HEAD + "from torch import relu\n\n\ndef relu(x):\n    return x.square()\n"
    assert api_set(module("return relu(x)", head=head)) == ("torch.square",)


def test_helper_classes_are_followed_only_when_used():
    helpers = (
        HEAD + "\n\nclass Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.l = nn.Linear(8, 8)\n    def forward(self, x):\n        return torch.relu(self.l(x))\n"
        "\n\nclass Other(nn.Module):\n    def forward(self, x):\n        return torch.sin(x)\n"
    )
    used = module(
        "return self.b(x)", "self.b = nn.Sequential(*[Block() for _ in range(2)])\nself.o = Other()", head=helpers
    )
    assert api_set(used) == ("nn.Linear", "torch.relu")


def test_an_inherited_forward_counts():
    helpers = HEAD + "\n\nclass Base(nn.Module):\n    def forward(self, x):\n        return torch.sin(self.act(x))\n"
    source = (
        helpers
        + "\n\nclass Model(Base):\n    def __init__(self):\n        super().__init__()\n        self.act = nn.ReLU()\n"
    )
    assert api_set(source) == ("nn.ReLU", "torch.sin")


def test_values_that_reach_no_result_are_dead():
    found = extract(
        module("y = torch.sin(x)\nz = torch.cos(y)\nx.tanh()\nreturn torch.relu(x)", "self.l = nn.Linear(n, n)")
    )
    assert found.apis == ("torch.relu",)
    assert found.dead == ("nn.Linear", "torch.cos", "torch.sin", "torch.tanh")


def test_in_place_statements_are_alive():
    assert api_set(module("y = torch.empty_like(x)\ny.copy_(x)\ny.mul_(2)\ny[0] = torch.sin(x[0])\nreturn y")) == (
        "torch.mul",
        "torch.sin",
    )


def test_unknown_torch_names_are_reported():
    found = extract(
        module(
            "return torch.fft.rfft(self.p(x)).to(torch.float32) + torch.zeros(3)", "self.p = nn.FractionalMaxPool2d(2)"
        )
    )
    assert found.unknown == ("nn.FractionalMaxPool2d", "torch.fft.rfft")
    assert found.apis == ("torch.add",)


def test_only_model_counts():
    assert api_set("import torch\ndef get_inputs():\n    return [torch.relu(torch.randn(3))]\n") == ()
    assert api_set(module("return x")) == ()


def test_a_syntax_error_is_raised():
    with pytest.raises(SyntaxError):
        api_set("class Model(:\n")
