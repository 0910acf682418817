import numpy as np
import pytest

from kernelzero.apis import CoOccurrence, check_api_set
from kernelzero.apis import mix as mix_with_generator
from kernelzero.errors import UserError

CO = CoOccurrence.from_sets(
    [
        (a, b)
        for a in ("torch.exp", "torch.sin", "torch.cos", "torch.abs")
        for b in ("torch.sum", "torch.mean", "torch.amax")
    ]
)
FRONTIER = [
    (f"m{i}", ("torch.relu", name))
    for i, name in enumerate(["torch.softmax", "torch.tanh", "torch.sigmoid", "torch.erf", "F.gelu", "F.silu"])
]


def mix(n, frontier, distribution, share, seed, **settings):
    return mix_with_generator(np.random.default_rng(seed), n, frontier, distribution, share, **settings)


def sources(sets):
    return [item.source for item in sets]


def test_the_share_is_kept():
    sets = mix(8, FRONTIER, CO, 0.5, 0)
    assert sources(sets).count("frontier") == 4
    assert sources(sets).count("co_occurrence") == 4
    assert sources(sets) != sorted(sources(sets)), "the two kinds are mixed, not in blocks"
    by_module = {"m" + str(i): apis for i, (_, apis) in enumerate(FRONTIER)}
    for item in sets:
        if item.source == "frontier":
            assert item.apis == tuple(sorted(by_module[item.from_module_id]))
        else:
            assert item.from_module_id == ""


def test_too_few_frontier_sets_are_made_up_by_co_occurrence():
    sets = mix(10, FRONTIER[:2], CO, 0.8, 0)
    assert sources(sets).count("frontier") == 2
    assert len(sets) == 10


def test_share_zero_and_one_and_no_frontier():
    assert set(sources(mix(6, FRONTIER, CO, 0.0, 0))) == {"co_occurrence"}
    assert set(sources(mix(6, FRONTIER, CO, 1.0, 0))) == {"frontier"}
    assert set(sources(mix(6, [], CO, 1.0, 0))) == {"co_occurrence"}
    assert mix(0, FRONTIER, CO, 1.0, 0) == []


def test_equal_frontier_sets_count_once():
    double = [("a", ("torch.relu", "torch.tanh")), ("b", ("torch.tanh", "torch.relu"))]
    assert sources(mix(4, double, CO, 1.0, 0)).count("frontier") == 1


def test_one_seed_one_result():
    assert mix(8, FRONTIER, CO, 0.5, 3, mutate=0.5) == mix(8, FRONTIER, CO, 0.5, 3, mutate=0.5)
    assert mix(8, FRONTIER, CO, 0.5, 3) != mix(8, FRONTIER, CO, 0.5, 4)


def test_co_occurrence_sets_do_not_repeat_while_others_exist():
    sets = mix(10, [], CO, 0.0, 0)
    assert len({item.apis for item in sets}) == 10


def test_mutation_changes_one_api():
    kinds = set()
    given = {module_id: set(apis) for module_id, apis in FRONTIER}
    for seed in range(30):
        for item in mix(6, FRONTIER, CO, 1.0, seed, mutate=1.0):
            kinds.add(item.mutation)
            old, new = given[item.from_module_id], set(item.apis)
            assert (len(old - new), len(new - old)) == {"drop": (1, 0), "swap": (1, 1), "add": (0, 1)}[item.mutation]
    assert kinds == {"drop", "swap", "add"}


def test_mutation_respects_the_sizes():
    for seed in range(20):
        assert {i.mutation for i in mix(6, FRONTIER, CO, 1.0, seed, mutate=1.0, sizes=(2, 2))} == {"swap"}


@pytest.mark.parametrize(
    "apis, words",
    [
        ([], "empty"),
        ((), "empty"),
        (["torch.rleu"], "did you mean 'torch.relu'"),
        (["torch.relu", "numpy.sin"], "numpy.sin"),
        (["zzz"], "unknown API"),
    ],
)
def test_a_bad_api_set_is_one_sentence(apis, words):
    with pytest.raises(UserError, match=words) as caught:
        check_api_set(apis)
    assert "\n" not in str(caught.value)


def test_check_gives_canonical_names():
    assert check_api_set(["Tensor.mean", "torch.clip", "torch.mean"]) == ("torch.clamp", "torch.mean")
    assert check_api_set("torch.relu") == ("torch.relu",)


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((-1, [], CO, 0.5, 0), "-1"),
        ((4, [], CO, 1.5, 0), "share of frontier"),
        ((4, [("m", ())], CO, 0.5, 0), "empty"),
        ((4, [("m", ("torch.nope",))], CO, 0.5, 0), "torch.nope"),
        ((1, [], CoOccurrence(), 0.5, 0), "empty"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments, words):
    with pytest.raises(UserError, match=words):
        mix(*arguments)


def test_a_share_of_mutated_sets_above_one():
    with pytest.raises(UserError, match="mutated"):
        mix(4, [], CO, 0.5, 0, mutate=2.0)
