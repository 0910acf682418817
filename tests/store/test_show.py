"""The story of a module or a kernel by the beginning of its id."""

import io

import pytest
from rich.console import Console

from kernelzero.errors import UserError
from kernelzero.report import print_description
from kernelzero.store.show import KernelStory, ModuleStory, describe


def test_a_module(filled):
    story = describe(filled, "RELU")
    assert isinstance(story, ModuleStory)
    assert (story.module_id, story.origin, story.apis, story.source) == ("relu0000", "proposer", ("torch.relu",), "class Model: relu")
    assert len(story.proposed) == 1
    assert {name: story.proposed[0][name] for name in ("run_id", "round", "given_apis", "k", "n", "reward", "valid")} == {
        "run_id": "run-a", "round": 1, "given_apis": ["torch.relu"], "k": 2, "n": 4, "reward": 1.0, "valid": True}
    assert [(row["stage"], row["k"], row["n"]) for row in story.tries] == [("proposer", 2, 4), ("coder", 1, 2)]
    assert story.failures == [{"reached": "ran", "reason": "wrong values", "kernels": 1, "example": "k1000000"}]
    assert [(row["kernel_id"], row["speedup"]) for row in story.fastest] == [("k0000000", 2.0)]


def test_a_module_by_its_name(filled):
    assert describe(filled, "mini/add").module_id == "mini0000"


def test_a_module_that_was_never_solved(filled):
    story = describe(filled, "soft")
    assert story.fastest == [] and {row["reason"] for row in story.failures} == {"wrong values", "no kernel"}


def test_a_kernel(filled):
    story = describe(filled, "k0")
    assert isinstance(story, KernelStory)
    assert (story.backend, story.source) == ("triton", "class ModelNew: 0")
    assert [(row["module_id"], row["correct"]) for row in story.verdicts] == [("relu0000", True), ("mini0000", True), ("soft0000", False)]
    assert story.verdicts[1]["module_name"] == "mini/add"
    assert {row["role"] for row in story.sampled} == {"reward", "train", "evaluate"}
    assert next(row for row in story.sampled if row["role"] == "train" and row["row"] == 0)["advantage"] == 0.75


def test_none_or_several(filled):
    with pytest.raises(UserError, match="'k' fits more than one: kernel k0000000, kernel k1000000"):
        describe(filled, "k")
    for nothing in ("ffff", "", "  ", "%"):
        with pytest.raises(UserError, match="no module or kernel"):
            describe(filled, nothing)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("wanted", ["k1", "relu"])
def test_it_is_readable_in_a_terminal(filled, width, wanted):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_description(console, describe(filled, wanted))
    lines = console.file.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    words = " ".join(" ".join(lines).split())
    for whole in ("relu0000", "wrong values", "run-a", "proposer"):  # no word is broken
        assert whole in words
