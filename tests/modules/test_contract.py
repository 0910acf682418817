import pytest
from module_sources import HONEST, module

from kernelzero.modules import Reason, Step, check_source
from kernelzero.modules.contract import check_contract, check_length, parse
from kernelzero.modules.hygiene import check_hygiene
from kernelzero.modules.reasons import Finding, step_of


def reasons(source):
    """Every reason that step 1 finds, contract and hygiene together."""
    tree = parse(source)
    if isinstance(tree, Finding):
        return {tree.reason}
    too_long = check_length(source, tree)
    contract = too_long or check_contract(tree)
    missing = {Reason.NO_MODEL, Reason.NO_GET_INPUTS, Reason.NO_GET_INIT_INPUTS, Reason.NO_FORWARD, Reason.TOO_LONG}
    return {f.reason for f in contract + ([] if {f.reason for f in contract} & missing else check_hygiene(tree))}


GOOD = module()
CASES = [
    (Reason.SYNTAX_ERROR, "class Model(:\n"),
    (Reason.SYNTAX_ERROR, GOOD + "return 3\n"),
    (Reason.SYNTAX_ERROR, "x = '\0'\n"),
    (Reason.SYNTAX_ERROR, module(f"return x + {'(' * 300}1{')' * 300}")),
    (Reason.TOO_LONG, GOOD + "# " + "x" * 20_000 + "\n"),
    (Reason.TOO_LONG, module("x = x + 1\n" * 900 + "return x")),
    (Reason.NO_MODEL, GOOD.replace("class Model(", "class Net(")),
    (Reason.NO_GET_INPUTS, GOOD.replace("def get_inputs", "def inputs")),
    (Reason.NO_GET_INIT_INPUTS, GOOD.replace("def get_init_inputs", "def init_inputs")),
    (Reason.NOT_A_MODULE, GOOD.replace("Model(nn.Module)", "Model")),
    (Reason.NOT_A_MODULE, GOOD.replace("Model(nn.Module)", "Model(torch.Tensor)")),
    (Reason.NO_FORWARD, GOOD.replace("def forward", "def compute")),
    (Reason.WRONG_SIGNATURE, GOOD.replace("def get_inputs()", "def get_inputs(n)")),
    (Reason.WRONG_SIGNATURE, module(arguments="x, y", forward="return x + y")),
    (Reason.WRONG_SIGNATURE, module(inputs="torch.randn(3), torch.randn(3)")),
    (Reason.WRONG_SIGNATURE, module(init_arguments=", n")),
    (Reason.WRONG_SIGNATURE, GOOD.replace("return [torch.randn(4, 8)]", "pass")),
    (Reason.WRONG_SIGNATURE, GOOD.replace("    def forward", "    @torch.no_grad()\n    def forward")),
    (Reason.DUPLICATE_DEFINITION, GOOD + "\n\ndef get_inputs():\n    return [torch.randn(2, 2)]\n"),
    (Reason.DUPLICATE_DEFINITION, module(body="def forward(self, x):\n    return torch.sin(x)\n")),
    (Reason.EXTRA_DEFINITION, GOOD + "\n\ndef helper(x):\n    return torch.sin(x)\n"),
    (Reason.EXTRA_DEFINITION, GOOD + "\n\nclass Other(nn.Module):\n    pass\n"),
    (Reason.EXTRA_STATEMENT, GOOD + "\nfor i in (1, 2):\n    pass\n"),
    (Reason.EXTRA_STATEMENT, GOOD + "\nmodel = Model()\n"),
    (Reason.EXTRA_STATEMENT, GOOD + "\nif True:\n    N = 3\n"),
    (Reason.FORBIDDEN_IMPORT, "import os\n" + GOOD),
    (Reason.FORBIDDEN_IMPORT, "import numpy as np\n" + GOOD),
    (Reason.FORBIDDEN_IMPORT, "from torch.utils import data\n" + GOOD),
    (Reason.FORBIDDEN_IMPORT, "from torch.nn.functional import *\n" + GOOD),
    (Reason.FORBIDDEN_IMPORT, module("import time\nreturn torch.relu(x)")),
    (Reason.INPUT_OUTPUT, module("print(x)\nreturn torch.relu(x)")),
    (Reason.INPUT_OUTPUT, module(init="self.w = torch.load('weights.pt')", forward="return x * self.w")),
    (Reason.INPUT_OUTPUT, module(init="self.n = len(open('file').read())", forward="return x * self.n")),
    (Reason.FORBIDDEN_CALL, module("return getattr(torch, 'relu')(x)")),
    (Reason.FORBIDDEN_CALL, module("return eval('torch.relu')(x)")),
    (Reason.FORBIDDEN_CALL, module("return torch.ops.aten.relu(x)")),
    (Reason.FORBIDDEN_CALL, module("return torch._C._nn.gelu(x)")),
    (Reason.FORBIDDEN_CALL, module(init="torch.manual_seed(0)")),
    (Reason.FORBIDDEN_CALL, module("return torch.compile(torch.relu)(x)")),
    (Reason.FORBIDDEN_CALL, module("return torch.utils.checkpoint.checkpoint(torch.relu, x)")),
    (Reason.FORBIDDEN_CALL, "from torch import load_library, _C, os\n" + GOOD),
    (Reason.FORBIDDEN_CALL, module("return x.cuda().relu()")),
    (Reason.FORBIDDEN_CALL, module("return torch.tensor(x.numpy())")),
    (Reason.DUNDER, module("return x.__add__(x)")),
    (Reason.DUNDER, module("return torch.relu(x) if __name__ else x")),
    (Reason.DUNDER, module(body="def __call__(self, x):\n    return x\n")),
    (Reason.GLOBAL_STATE, module("global N\nN = 3\nreturn torch.relu(x)", top="N = 2\n\n\n")),
    (Reason.GLOBAL_STATE, module(top="CACHE = [1, 2]\n\n\n")),
    (Reason.GLOBAL_STATE, module(body="calls = 0\n")),
    (Reason.GLOBAL_STATE, module("torch.pi = 3\nreturn torch.relu(x)")),
    (Reason.GLOBAL_STATE, module("return self.f(x)", body="def f(self, x, seen=[]):\n    return torch.relu(x)\n")),
    (Reason.STATE_IN_FORWARD, module("self.last = x\nreturn torch.relu(x)")),
    (Reason.STATE_IN_FORWARD, module("self.n.add_(1)\nreturn x * self.n", "self.register_buffer('n', torch.ones(1))")),
    (Reason.STATE_IN_FORWARD, module("self.seen.append(1)\nreturn torch.relu(x)", "self.seen = []")),
    (Reason.STATE_IN_FORWARD, module("self.w[0] = 1.0\nreturn x * self.w", "self.w = torch.ones(8)")),
    (
        Reason.STATE_IN_FORWARD,
        module("return self.f(x)", body="def f(self, x):\n    self.k = 1\n    return torch.relu(x)\n"),
    ),
    (Reason.RANDOM_IN_FORWARD, module("return x + torch.randn(4, 8)")),
    (Reason.RANDOM_IN_FORWARD, module("return x + torch.rand_like(x)")),
    (Reason.RANDOM_IN_FORWARD, module("return F.dropout(x, 0.5)")),
    (Reason.RANDOM_IN_FORWARD, module("return F.dropout(x, 0.5, training=True)")),
    (Reason.RANDOM_IN_FORWARD, module("return torch.empty_like(x).normal_() + x")),
    (Reason.RANDOM_IN_FORWARD, module("return F.scaled_dot_product_attention(x, x, x, dropout_p=0.1)")),
    (Reason.RANDOM_IN_FORWARD, module("return self.f(x)", body="def f(self, x):\n    return x * torch.rand(8)\n")),
    (Reason.MUTATES_INPUT, module("x += 1\nreturn torch.relu(x)")),
    (Reason.MUTATES_INPUT, module("x.mul_(2)\nreturn torch.relu(x)")),
    (Reason.MUTATES_INPUT, module("x[0] = 0.0\nreturn torch.relu(x)")),
    (Reason.UNUSED_INPUT, module("return torch.relu(x)", "", "x, y", "torch.randn(4, 8), torch.randn(4, 8)")),
    (
        Reason.UNUSED_INPUT,
        module("z = torch.sin(y)\nreturn torch.relu(x)", "", "x, y", "torch.randn(4, 8), torch.randn(4, 8)"),
    ),
]


@pytest.mark.parametrize("reason, source", CASES, ids=[f"{i}-{r.value}" for i, (r, _) in enumerate(CASES)])
def test_each_reason_and_no_other(reason, source):
    assert reasons(source) == {reason}
    assert check_source(source).reason is reason
    assert step_of(reason) is Step.AST


def test_every_reason_of_step_one_is_covered():
    assert {r for r, _ in CASES} | {Reason.NO_MODULE} == {r for r in Reason if step_of(r) is Step.AST}
    assert check_source(None).reason is Reason.NO_MODULE


@pytest.mark.parametrize("name", HONEST)
def test_honest_modules_pass(name):
    assert reasons(HONEST[name]) == set()


@pytest.mark.parametrize(
    "source",
    [
        "H, W = (4, 8)\n" + GOOD,
        GOOD.replace("torch.relu(x)", "torch.relu(x)  # try: eval('open')"),
        '"""Reads open(), os and __class__ in words only."""\n' + GOOD,
        module("'''global state'''\nreturn torch.relu(x).to(torch.float32)"),
        module("return torch.linalg.norm(x, dim=-1) + torch.finfo(torch.float32).eps * torch.pi"),
        module("return x * self.w", "self.w = nn.Parameter(torch.randn(8))\nnn.init.normal_(self.w)"),
        module("return self.act(x)", init_arguments=", n: int = 3", init="self.act = nn.GELU()"),
        module("return x * scale", arguments="x, scale=2.0"),
        "from __future__ import annotations\nfrom typing import Optional\nimport math\n" + GOOD,
        module("y = x\ny = y + 1\ny += 1\nx = torch.relu(y)\nx += 1\nreturn x"),
        module("outputs = []\nfor i in range(2):\n    outputs.append(x[i])\nreturn torch.stack(outputs)"),
        module(
            init="self._fill()",
            forward="return x * self.w",
            body="def _fill(self):\n    self.w = nn.Parameter(torch.rand(8))\n",
        ),
    ],
)
def test_what_only_looks_forbidden(source):
    assert reasons(source) == set()


def test_helpers_are_allowed_where_the_contract_need_not_be_exact():
    source = GOOD.replace("class Model", "class Block(nn.Module):\n    def forward(self, x):\n        return x\n\n\nclass Model")
    assert [f.reason for f in check_contract(parse(source))] == [Reason.EXTRA_DEFINITION]
    assert check_contract(parse(source), exact=False) == []
    inherited = source.replace("Model(nn.Module)", "Model(Block)").replace("    def forward(self, x):\n        return torch.relu(x)\n", "")
    assert check_contract(parse(inherited), exact=False) == []


def test_no_input_raises():
    for text in (
        "",
        "\0",
        "class Model",
        "(" * 5000,
        "\ud800",
        "class Model(nn.Module):\n  def forward(): pass\n",
        "def f(a, a): pass",
        "class Model(nn.Module):\n    def forward(self): return 1\ndef get_inputs(): return\ndef get_init_inputs(): return 1",
    ):
        assert isinstance(check_source(text), Finding), text
