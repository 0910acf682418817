import pytest

from kernelzero.apis import VOCABULARY, canonical
from kernelzero.apis.vocabulary import EXAMPLE_INPUTS


@pytest.fixture(scope="module")
def environment():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    torch.manual_seed(0)
    tensors = {k: torch.randint(0, 4, s) if k == "index" else torch.randn(s) for k, s in EXAMPLE_INPUTS.items()}
    return {"torch": torch, "nn": nn, "F": F, **tensors}


def test_it_is_large_enough_and_has_every_kind():
    kinds = [api.kind for api in VOCABULARY.values()]
    assert len(kinds) >= 120
    assert min(kinds.count(kind) for kind in ("module", "functional", "operator")) >= 40


@pytest.mark.parametrize("name", VOCABULARY)
def test_every_api_resolves_and_its_example_runs(name, environment):
    import torch

    api = VOCABULARY[name]
    target = eval(name, environment)  # raises when torch has no such name
    assert callable(target)
    if api.kind == "module":
        assert issubclass(target, torch.nn.Module)
    assert name in api.example
    result = eval(api.example, environment)
    assert isinstance(result, torch.Tensor)
    assert result.numel() > 0
    if result.is_floating_point():
        assert torch.isfinite(result).all()


def test_every_alias_resolves_and_names_one_api(environment):
    seen = set(VOCABULARY)
    for api in VOCABULARY.values():
        for alias in api.aliases:
            assert alias not in seen, f"{alias} stands twice"
            seen.add(alias)
            if alias.startswith(("torch.", "F.", "nn.", "Tensor.")):
                eval(
                    alias.replace("Tensor.", "torch.Tensor.", 1) if alias.startswith("Tensor.") else alias, environment
                )
            assert canonical(alias) == api.name


def test_methods_are_the_functions_they_are_filed_under(environment):
    """Each one-argument tensor method that is an alias gives what the canonical function gives."""
    import torch

    positive = environment["x"].abs() + 1.0
    compared = 0
    for api in VOCABULARY.values():
        for alias in api.aliases:
            if api.kind == "operator" and alias.startswith("Tensor.") and api.example == f"{api.name}(x)":
                ours, theirs = eval(api.name, environment)(positive), getattr(positive, alias.removeprefix("Tensor."))()
                assert torch.equal(ours, theirs), alias
                compared += 1
    assert compared >= 15


@pytest.mark.parametrize(
    "spelling, name",
    [
        ("torch.nn.functional.gelu", "F.gelu"),
        ("torch.nn.Linear", "nn.Linear"),
        ("torch.nn.modules.linear.Linear", "nn.Linear"),
        ("nn.functional.silu", "F.silu"),
        ("torch.Tensor.mean", "torch.mean"),
        ("Tensor.add_", "torch.add"),
        ("torch.clip", "torch.clamp"),
        ("@", "torch.matmul"),
        ("torch.relu_", "torch.relu"),
        ("torch.relu", "torch.relu"),
        ("F.relu", "F.relu"),
        ("nn.ReLU", "nn.ReLU"),
        ("torch.no_such", None),
        ("", None),
        ("__", None),
    ],
)
def test_canonical(spelling, name):
    assert canonical(spelling) == name


def test_rules_are_short_enough_for_a_prompt():
    for api in VOCABULARY.values():
        assert api.shapes
        assert len(api.shapes) + len(api.arguments) + len(api.example) < 200
