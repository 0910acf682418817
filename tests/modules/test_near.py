import pytest
from module_sources import HONEST, module

from kernelzero.modules import Decontamination, structure
from kernelzero.modules.archive import Archive
from kernelzero.modules.near import distance

TASK = module("x = torch.relu(x)\nreturn torch.softmax(x, dim=-1)")
SAME = {
    "another size": module("x = torch.relu(x)\nreturn torch.softmax(x, dim=-1)", inputs="torch.randn(64, 128)"),
    "other names": module("hidden = torch.relu(data)\nreturn torch.softmax(hidden, dim=-1)", arguments="data"),
    "one line": module("return torch.softmax(torch.relu(x), dim=-1)"),
    "another dimension": module("x = torch.relu(x)\nreturn torch.softmax(x, 1)"),
    "functional": module("x = F.relu(x)\nreturn F.softmax(x, dim=0)"),
    "methods": module("return x.relu().softmax(-1)"),
    "modules": module("return self.b(self.a(x))", "self.a = nn.ReLU()\nself.b = nn.Softmax(dim=-1)"),
    "a sequence": module("return self.net(x)", "self.net = nn.Sequential(nn.ReLU(), nn.Softmax(dim=1))"),
    "comments": module("# first\nx = torch.relu(x)\n\nreturn torch.softmax(x, dim=-1)  # last"),
    "another import": module("return T.softmax(T.relu(x), -1)", head="import torch as T\nimport torch.nn as nn\n"),
}
OTHER = {
    "one more": module("x = torch.relu(x)\nx = torch.softmax(x, dim=-1)\nreturn torch.exp(x)"),
    "one less": module("return torch.softmax(x, dim=-1)"),
    "another operator": module("x = torch.tanh(x)\nreturn torch.softmax(x, dim=-1)"),
    "another order": module("x = torch.softmax(x, dim=-1)\nreturn torch.relu(x)"),
    "a residual": module("return x + torch.softmax(torch.relu(x), dim=-1)"),
}


@pytest.mark.parametrize("name", SAME)
def test_retold_tasks_are_at_distance_zero(name):
    assert distance(structure(SAME[name]), structure(TASK)) == 0.0


@pytest.mark.parametrize("name", OTHER)
def test_other_compositions_are_far(name):
    assert distance(structure(OTHER[name]), structure(TASK)) > 0.3


def test_distance_by_hand():
    """^ softmax relu in0 $ has 3 triples, ^ exp softmax relu in0 $ has 4; they share the last two: 1 - 2/5."""
    assert distance(structure(TASK), structure(OTHER["one more"])) == pytest.approx(0.6)


def test_a_small_change_in_a_long_task_is_near():
    steps = ["sin", "cos", "exp", "tanh", "relu", "abs", "sigmoid", "erf"]
    lines = "\n".join(f"x = torch.{s}(x + 1.0)" for s in steps * 5)
    long = structure(module(f"{lines}\nreturn x"))
    changed = structure(module(f"{lines}\nreturn torch.square(x)"))
    assert 0.0 < distance(long, changed) <= 0.1


def test_parts_that_matter_are_kept():
    assert structure(module("return F.gelu(x)")) != structure(module("return F.gelu(x, approximate='tanh')"))
    assert structure(module("return x - 1")) != structure(module("return 1 - x"))
    assert structure(module("return x + 1")) == structure(module("return 1 + x"))
    weight = "self.w = nn.Parameter(torch.randn(8))"
    assert structure(module("return x * self.w", weight)) == structure(module("return self.w * x", weight))
    assert structure(module("return x * self.w", weight)) != structure(module("return x * 2.0"))


def test_loops_and_branches_have_a_structure():
    loop = module("for i in range(3):\n    x = torch.relu(x)\nreturn x")
    assert structure(loop) == structure(module("for k in range(7):\n    x = F.relu(x)\nreturn x"))
    assert structure(loop) != structure(module("for i in range(3):\n    x = torch.sin(x)\nreturn x"))
    branch = module("if x.shape[0] > 2:\n    y = x.sin()\nelse:\n    y = x.cos()\nreturn y")
    assert structure(branch) != structure(branch.replace("x.cos()", "x.tan()"))


def test_growth_is_bounded():
    doubling = module("\n".join(["x = x + x"] * 60) + "\nreturn x")
    assert len(structure(doubling)) < 5000


def test_nearest_and_too_near():
    found = Decontamination({"b_task": TASK, "a_task": HONEST["conv"], "c_task": OTHER["one less"]})
    nearest = found.nearest(SAME["functional"])
    assert (nearest.name, nearest.distance) == ("b_task", 0.0)
    assert found.too_near(SAME["methods"]).name == "b_task"
    assert found.too_near(OTHER["one more"]) is None
    assert found.nearest(OTHER["one more"]).name == "b_task"
    assert Decontamination({"b_task": TASK}, threshold=0.7).too_near(OTHER["one more"]).name == "b_task"
    assert Decontamination({}).nearest(TASK) is None


def test_a_single_operator_is_compared_with_its_sizes():
    task = module("return torch.relu(x)", inputs="torch.randn(4, 40)")
    same = module("return F.relu(data)", arguments="data", inputs="torch.randn(4, 40)")
    resized = module("return torch.relu(x)", inputs="torch.randn(16, 64)")
    found = Decontamination({"relu": task})
    assert found.nearest(same).distance == 0.0
    assert found.too_near(resized) is None
    assert Decontamination({"relu": task}, sized_below=0).too_near(resized).name == "relu"
    linear = module("return self.l(x)", "self.l = nn.Linear(n, 6)", init_arguments=", n", init_inputs="8")
    assert Decontamination({"linear": linear}).too_near(linear.replace("[8]", "[16]").replace("4, 8", "4, 16")) is None
    assert Decontamination({"linear": linear}).too_near(linear).distance == 0.0


def test_the_own_suite_is_near_itself_and_its_corpus_is_not():
    """All of mini is found; of the corpus only single operators that mini spells with several (silu, rms_norm)."""
    from kernelzero import corpus
    from kernelzero.bench import load_suite

    tasks = load_suite("mini")
    found = Decontamination({task.name: task.source for task in tasks})
    assert {found.nearest(task.source).distance for task in tasks} == {0.0}
    triples = corpus.generate(200, 0, mistakes=0.0)
    near = [t.ops for t in triples if found.too_near(t.module)]
    assert set(near) <= {("silu",), ("rms_norm",)}
    assert len(near) <= 6


def test_all_honest_modules_have_structures_of_their_own():
    seen = {structure(source, abstract=False) for source in HONEST.values()}
    assert len(seen) == len(HONEST)


def test_archive_finds_repeats():
    archive = Archive([TASK])
    first = archive.find(TASK)
    assert first
    for name in ("other names", "one line", "comments"):
        assert archive.find(SAME[name]) == first, name
    for name in ("another size", "functional", "modules", "another dimension"):
        assert archive.find(SAME[name]) is None, f"{name}: a module of its own"
    archive.add(SAME["one line"])
    assert archive.find(SAME["one line"]) == first, "the first keeps its name"
    assert len(archive) == 1
