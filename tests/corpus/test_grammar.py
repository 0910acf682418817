import ast
import random

import pytest

from kernelzero.apis import VOCABULARY, api_set
from kernelzero.corpus import OPERATORS, generate, make_spec, module_source, reference_kernel
from kernelzero.corpus.grammar import draw_ops, legal
from kernelzero.corpus.kernels import variants


def test_every_kind_of_operator_is_there():
    kinds = {}
    for operator in OPERATORS.values():
        kinds.setdefault(operator.kind.value, []).append(operator.name)
    assert len(kinds["pointwise"]) >= 16
    assert set(kinds["binary"]) == {"add", "mul", "maximum"}
    assert set(kinds["reduction"]) == {"sum", "mean", "amax", "amin"}
    assert {"softmax", "log_softmax", "layer_norm", "rms_norm", "normalize"} == set(kinds["row"])
    assert kinds["affine"] == ["layer_norm_affine"] and set(kinds["product"]) == {"linear", "matmul"}


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=lambda o: o.name)
def test_an_operator_has_spellings_formulas_and_mistakes(operator):
    assert 0 < operator.difficulty <= 1
    assert len(operator.wrong) >= 2
    assert not set(operator.right) & set(operator.wrong)
    for spelling in operator.spellings:
        for api in spelling.apis:
            assert api in {entry.name for entry in VOCABULARY.values()}, api


def test_the_module_of_a_linear_with_gelu():
    spec = make_spec(("linear", "gelu"), 8, 32, 48, spellings={"gelu": 1})
    assert module_source(spec) == (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        "class Model(nn.Module):\n"
        "    def __init__(self, in_features, out_features):\n"
        "        super().__init__()\n"
        "        self.linear = nn.Linear(in_features, out_features)\n"
        "        self.gelu = nn.GELU()\n\n"
        "    def forward(self, x):\n        x = self.linear(x)\n        x = self.gelu(x)\n        return x\n\n\n"
        "def get_inputs():\n    return [torch.randn(8, 32)]\n\n\n"
        "def get_init_inputs():\n    return [32, 48]\n"
    )
    assert spec.apis == ("nn.GELU", "nn.Linear")


def test_second_inputs_have_the_shape_that_they_meet():
    source = module_source(make_spec(("relu", "matmul", "add"), 4, 24, 40))
    assert "return [torch.randn(4, 24), torch.randn(24, 40), torch.randn(4, 40)]" in source
    assert "def forward(self, x, w, z):" in source


def test_what_is_no_sentence():
    assert legal(("relu", "linear", "softmax"))
    assert not legal(("relu", "relu"))
    assert not legal(("softmax", "linear"))  # a row operator before a product
    assert not legal(("sum", "softmax"))  # nothing is left to normalise
    assert not legal(("add", "mul"))  # two second inputs
    with pytest.raises(ValueError, match="softmax -> linear is no chain"):
        make_spec(("softmax", "linear"), 4, 16, 16)


def test_drawn_chains_are_legal_and_of_every_length():
    rng = random.Random(0)
    chains = [draw_ops(rng) for _ in range(2000)]
    assert all(legal(chain) for chain in chains)
    assert {len(chain) for chain in chains} == {1, 2, 3}
    assert {name for chain in chains for name in chain} == set(OPERATORS)


def test_declared_apis_are_what_the_extraction_finds():
    for triple in generate(1500, seed=5):
        assert triple.apis == api_set(triple.module), triple.module


def test_variants_by_their_number_of_launches():
    spec = make_spec(("linear", "softmax", "scale"), 8, 24, 40)
    assert set(variants(spec)) == {"fused", "redundant", "launches", "partial", "tile"}
    launches = {v: reference_kernel(spec, v).count("@triton.jit") for v in variants(spec)}
    assert launches == {"fused": 1, "redundant": 1, "launches": 3, "partial": 2, "tile": 2}
    assert "tl.dot" in reference_kernel(spec, "tile")
    with pytest.raises(ValueError, match="no variant 'tile' of relu"):
        reference_kernel(make_spec(("relu",), 4, 16), "tile")


def test_an_answer_does_not_depend_on_the_sizes():
    small, large = (make_spec(("linear", "tanh", "mean"), *sizes) for sizes in ((4, 16, 24), (16, 64, 48)))
    assert reference_kernel(small) == reference_kernel(large)


def test_sources_are_python():
    for triple in generate(300, seed=9, mistakes=1.0):
        ast.parse(triple.module)
        ast.parse(triple.kernel)
